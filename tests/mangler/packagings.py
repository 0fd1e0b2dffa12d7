"""Every packaging by name, and for each what its tables may say otherwise than those of the capture it was made of, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.mangler import encapsulations, files, segmentations
from tests.mangler.compare import Excused, both_ways
from tests.mangler.encapsulations import Encapsulation
from tests.mangler.files import Write
from tests.mangler.segmentations import Change
from tests.mangler.taken_apart import Segment, segments

PLAIN_SEGMENTS, PLAIN_FRAMES, PLAIN_FILE = segmentations.as_they_are, encapsulations.ANY_IP["ethernet"], files.NANO["pcap, nanoseconds"]


@dataclass(frozen=True)
class Packaging:
    """How to package: segments changed, put into frames, written.

    `micro`, `ipv6` and `before` change the original too: times of whole microseconds, other addresses, any other change.
    """

    change: Change = PLAIN_SEGMENTS
    encapsulation: Encapsulation = PLAIN_FRAMES
    write: Write = PLAIN_FILE
    micro: bool = False
    ipv6: bool = False
    before: Change = PLAIN_SEGMENTS
    excused: Excused = field(default_factory=dict, hash=False)

    def files(self, path: Path, folder: Path) -> list[Path]:
        """The packets of a recorded capture in this packaging."""
        packets = self.change(source(path, self.micro, self.ipv6))
        return self.write(folder, [frame for one in packets for frame in self.encapsulation.frames(one)], self.encapsulation.link)

    def original(self) -> Packaging:
        """The plainest packaging with the same addresses and times: what this one is compared with."""
        return Packaging(self.before, micro=self.micro, ipv6=self.ipv6)


def source(path: Path, micro: bool, ipv6: bool) -> Sequence[Segment]:
    """The segments of a capture, with times of whole microseconds or IPv6 addresses where these are asked for."""
    packets = segments(path)
    if micro:
        packets = tuple(replace(one, ts_ns=one.ts_ns // 1000 * 1000) for one in packets)
    return segmentations.over_ipv6(packets) if ipv6 else packets


# what TCP's counters count
PARTS = both_ways("segments")  # how many segments brought the octets
AGAIN = both_ways("segments", "retransmitted_octets")  # and copies of them
LATE = both_ways("out_of_order_segments")
# places in wire order count the segments, or parts of them, that brought octets
CUT = {"raw_frames": ("first_wire_order", "wire_order"), "streams": both_ways("close_order")}
CLOCKS = ("clock_difference_min_us", "clock_difference_max_us")  # every acknowledgement is evidence of these
# which packet acknowledges what
ACKNOWLEDGED = {"raw_frames": ("acked_ns",), "frames": ("acked_ns",), "deliveries": ("network_us", "consumer_us")}
ROUND_TRIPS = ("rtt_client_us", "rtt_server_us")
# a stream is named after the endpoints, and the time and number of its SYN
RENAMED = {"*": ("stream_id",)}
COPIES = both_ways("duplicate_segments")  # packets captured more than once, which no other counter knows
# what was sent again counts as such, and may be the last packet; the letter T tells of octets that came again
LAST = ("last_ns", "last_ts")
RESENT = {"streams": (*AGAIN, "history", *LAST), "sessions": LAST, "stalls": (), "heartbeat_violations": ("excused",)}
# no SYN: no proof of where it began, so the session's beginning is not known to be whole, and what rests on that can't be judged
BEHEADED = {
    **RENAMED,
    "streams": ("first_ns", "first_ts", "syn_seen", "synack_seen", "history", *CLOCKS, *ROUND_TRIPS),
    "sessions": ("opened_ns", "opened_ts", "complete_start", "outcome", "heartbeat_c2s_ms", "heartbeat_s2c_ms"),
    "frames": ("syntax",),
    "raw_frames": ("syntax",),
    "compliance": (),
    "compliance_findings": (),
}
# a stream without SYN is named after the first packet captured, and begins with it
MIDSTREAM = {**RENAMED, "streams": ("first_ns", "first_ts"), "sessions": ("opened_ns", "opened_ts"), "compliance": ("opened_ts",)}



def cut(*counters: str) -> Excused:
    """Octets in other segments: what counts these, and these columns of table streams."""
    return CUT | {"streams": (*CUT["streams"], *counters, *CLOCKS, "acks_against_time")}


SEGMENTATIONS: Mapping[str, Packaging] = {
    "segments of 536 octets": Packaging(segmentations.smaller(536), excused=cut(*PARTS)),
    "segments of 7 octets": Packaging(segmentations.smaller(7), excused=cut(*PARTS)),
    "every packet twice at once": Packaging(segmentations.copied_at_once, excused={"streams": COPIES}),
    "every packet mirrored twice": Packaging(segmentations.copied_by_span, excused={"streams": (*COPIES, *LAST), "sessions": LAST}),
    "sent again": Packaging(segmentations.sent_again, excused=RESENT),
    "keep-alives": Packaging(segmentations.kept_alive),
    "reordered": Packaging(segmentations.reordered, before=segmentations.in_pairs, excused={"streams": (*LATE, *CLOCKS)}),
    "one connection after the other": Packaging(segmentations.one_flow_after_the_other),
    "cut and reordered": Packaging(segmentations.cut_and_reordered, excused=ACKNOWLEDGED | cut(*PARTS, *LATE) | {
        "raw_frames": (*CUT["raw_frames"], *ACKNOWLEDGED["raw_frames"]),
    }),
    "overlapping segments": Packaging(segmentations.overlapping, excused=cut(*AGAIN, *LATE, "history")),
    "sequence numbers that wrap": Packaging(segmentations.wrapping, excused=RENAMED),
    "sequence numbers that wrap behind the SYN": Packaging(segmentations.wrapping_at_the_handshake, excused=RENAMED),
    "sequence numbers that change sign": Packaging(segmentations.half_way, excused=RENAMED),
    "no handshake": Packaging(segmentations.without_handshake, excused=BEHEADED),
    "no bare acknowledgements": Packaging(
        segmentations.one_way, excused={"streams": ("history", *LAST, *CLOCKS, *ROUND_TRIPS), "sessions": LAST, **ACKNOWLEDGED}
    ),
    "IPv6 for IPv4": Packaging(
        segmentations.over_ipv6,
        excused={**RENAMED, "streams": ("client_ip", "server_ip", "community_id"), "sessions": ("client_ip", "server_ip")},
    ),
}
ENCAPSULATIONS: Mapping[str, Packaging] = {
    **{name: Packaging(encapsulation=one) for name, one in {**encapsulations.ANY_IP, **encapsulations.ONLY_IPV4}.items()},
    **{
        f"IPv6, {name}": Packaging(encapsulation=one, ipv6=True)
        for name, one in {**encapsulations.ANY_IP, **encapsulations.ONLY_IPV6}.items()
    },
}
FILES: Mapping[str, Packaging] = {
    **{name: Packaging(write=write) for name, write in files.NANO.items()},
    **{name: Packaging(write=write, micro=True) for name, write in files.MICRO.items()},
    "given twice": Packaging(write=files.given_twice(PLAIN_FILE), excused={"streams": (*AGAIN, *LATE, *COPIES, "history")}),
}
ALL = {**SEGMENTATIONS, **ENCAPSULATIONS, **FILES}


def excuses(*packagings: Excused) -> Excused:
    """What any of them excuses; a table left out by one is left out."""
    every: dict[str, tuple[str, ...]] = {}
    for excused in packagings:
        for table, columns in excused.items():
            left_out = not columns or every.get(table) == ()
            every[table] = () if left_out else (*every.get(table, ()), *columns)
    return every


def together(change: Packaging, frames: Packaging, written: Packaging) -> Packaging:
    """A segmentation, an encapsulation and a way of writing in one."""
    excused = excuses(change.excused, frames.excused, written.excused)
    return Packaging(change.change, frames.encapsulation, written.write, written.micro, frames.ipv6, change.before, excused)


def in_turn(each: Iterable[str], others: Iterable[str], share: int = 8) -> list[tuple[str, str]]:
    """Pairs of one with every eighth of the others (or another `share` of them), beginning elsewhere each time: all come, and meet many."""
    return [(one, other) for place, one in enumerate(each) for turn, other in enumerate(others) if (place + turn) % share == 0]
