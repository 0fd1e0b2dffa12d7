"""Rotated captures, a run for each: what the tables say does not depend on where the captures were cut."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP

from stompcap.assembly.resume.open_flows import FEW_PACKETS
from stompcap.options import Options
from stompcap.tcp.finality import BLOCK
from tests.capture.packaging import Frame, pcap
from tests.e2e.cutting import cut
from tests.e2e.runs import Lake
from tests.e2e.truth import DATA
from tests.examples import every, one_in, slow_behind
from tests.tcp.wire import ETHER, START_NS

CAPTURES = sorted(path.name for path in DATA.glob("*.pcap"))
SECOND = 10**9
HOUR = 3600 * SECOND
HELLO = b"CONNECT\naccept-version:1.2\nhost:h\nlogin:me\npasscode:sesame-open\nheart-beat:1000,1000\n\n\0"
WELCOME = b"CONNECTED\nversion:1.2\nheart-beat:1000,1000\n\n\0"
SAYS = {
    "stomp": ([HELLO, b"SUBSCRIBE\nid:0\ndestination:/q\nack:client\n\n\0", b"SEND\ndestination:/q\nreceipt:1\n\nbody\0", b"\n",
               b"ACK\nid:1\n\n\0"],
              [WELCOME, b"MESSAGE\nsubscription:0\nack:1\nmessage-id:1\ndestination:/q\n\nhi\0", b"RECEIPT\nreceipt-id:1\n\n\0", b"\n"]),
    "http": ([b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"], [b"HTTP/1.1 200 OK\r\n\r\n", b"more of it"]),
    "other": ([b"\xff\xfd\x18", b"\n"], [b"login: ", b"\0\0"]),
}  # fmt: skip
PAUSES = (SECOND // 100, SECOND // 100, SECOND // 100, 5 * SECOND, 200 * SECOND, 300 * SECOND, HOUR, 30 * HOUR)
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(("open", "say", "answer", "say", "answer", "split", "again", "lost", "late", "close", "reset", "knock")),
        st.integers(0, 9),
        st.sampled_from(PAUSES),
    ),
    min_size=2, max_size=40,
)  # fmt: skip


class Peers:
    """A client and a server; what they say is put on the wire in order, lost, late or again."""

    def __init__(self, number: int) -> None:
        self.kind, port = (("stomp", 61613), ("stomp", 61616), ("http", 7000), ("other", 61613))[number]
        self.ports = 40000 + number, port
        self.isn = [1000 * (number + 1), 5000 * (number + 1)]
        self.sent = [0, 0]
        self.last: tuple[int, int, bytes] | None = None

    def packet(self, side: int, offset: int, payload: bytes = b"", flags: str = "A") -> bytes:
        ports = self.ports if side == 0 else self.ports[::-1]
        ends = ("10.0.0.9", "10.0.0.1")[:: 1 if side == 0 else -1]
        seq, ack = self.isn[side] + 1 + offset, self.isn[1 - side] + 1 + self.sent[1 - side]
        tcp = TCP(sport=ports[0], dport=ports[1], seq=seq % 2**32, ack=0 if flags == "S" else ack % 2**32, flags=flags, window=1000)
        return bytes(ETHER / IP(src=ends[0], dst=ends[1]) / tcp / payload)

    def does(self, what: str, number: int) -> list[bytes]:
        """The packets of an event that the capture has."""
        if what == "open":
            self.isn = [(isn + 10_000_000) % 2**32 for isn in self.isn]
            self.sent = [0, 0]
            return [self.packet(0, -1, flags="S"), self.packet(1, -1, flags="SA"), self.packet(0, 0)]
        if what == "knock":
            return [self.packet(0, -1, flags="S")]
        if what in ("close", "reset"):
            return [self.packet(number % 2, self.sent[number % 2], flags="FA" if what == "close" else "R")]
        if what == "again" and self.last:
            side, offset, octets = self.last
            return [self.packet(side, offset, octets if number < 7 else bytes(octet ^ 1 for octet in octets))]
        side = 1 if what == "answer" else 0 if what == "say" else number % 2
        choice = SAYS[self.kind][side]
        octets, offset = choice[number % len(choice)], self.sent[side]
        self.sent[side] += len(octets)
        self.last = side, offset, octets
        half = len(octets) // 2
        packets = [self.packet(side, offset, octets)]
        if what in ("split", "late") and half:
            packets = [self.packet(side, offset, octets[:half]), self.packet(side, offset + half, octets[half:])]
        return [] if what == "lost" else packets[::-1] if what == "late" else packets


def wire(events: list[tuple[int, str, int, int]]) -> list[Frame]:
    peers, found, now = [Peers(number) for number in range(4)], [], START_NS
    for number, what, choice, pause in events:
        now += pause
        for octets in peers[number].does(what, choice):
            found.append(Frame(octets, now))
            now += SECOND // 1000
    return found


def without_spurious(events: list[tuple[int, str, int, int]]) -> list[tuple[int, str, int, int]]:
    """Events in which no octets, and no SYN, come after an acknowledgement of them if the capture has not had them since the flow began.

    One run has them before it, and runs by states cannot.
    """
    captured, begun, found = set[int](), set[int](), list[tuple[int, str, int, int]]()
    for number, what, choice, pause in events:
        captured = captured if pause < HOUR else set()
        if what in ("open", "lost"):
            captured.discard(number)
        elif what in ("say", "answer", "split", "late"):
            captured.add(number)
        if number in captured if what == "again" else what != "knock" or number not in begun:
            found.append((number, what, choice, pause))
        begun.add(number)
    return found


def rows_of(
    folder: Path, frames: list[Frame], cuts: list[int], options: Options, block: int = BLOCK, most: int = FEW_PACKETS
) -> dict[str, list[str]]:
    """The rows of a lake that has these frames in as many captures and runs."""
    lake = Lake(options, block=block, most=most)
    for number, (begin, end) in enumerate(pairwise([0, *cuts, len(frames)])):
        lake.run([str(pcap(folder / f"{number}.pcap", frames[begin:end], nano=True))])
    return lake.rows()


@given(
    events=EVENTS, cuts=st.lists(st.floats(0, 1), min_size=1, max_size=6), overlap=st.sampled_from(("first", "last")),
    block=st.sampled_from((4, 9, BLOCK)), most=st.sampled_from((0, 5, FEW_PACKETS)),
)  # fmt: skip
@one_in(4)
def test_connections_that_begin_end_and_idle_anywhere(
    events: list[tuple[int, str, int, int]], cuts: list[float], overlap: str, block: int, most: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    frames, options = wire(events if most == FEW_PACKETS else without_spurious(events)), Options(overlap=overlap)
    folder = tmp_path_factory.mktemp("wire")
    where = sorted({int(cut * len(frames)) for cut in cuts} - {0, len(frames)})
    assert rows_of(folder, frames, where, options, block, most) == rows_of(folder, frames, [], options, block)


def recorded(
    capture: str, folder: Path, bounds: list[float], *, kept: bool = True, block: int = BLOCK, most: int = FEW_PACKETS
) -> dict[str, list[str]]:
    """The rows of a lake that has a recorded capture cut at some shares of its packets, a run for each part."""
    lake = Lake(kept=kept, block=block, most=most)
    for path in cut(DATA / capture, folder, bounds):
        lake.run([path])
    return lake.rows()


@pytest.mark.parametrize("kept", slow_behind(1, [True, False]), ids=["captures stay", "captures go"])
@pytest.mark.parametrize(("capture", "block"), [
    ("rabbitmq_dialogue.pcap", BLOCK), pytest.param("activemq_heartbeats.pcap", 12, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_recorded_capture_in_four_runs(capture: str, block: int, kept: bool, tmp_path: Path) -> None:
    assert recorded(capture, tmp_path, [0.2, 0.5, 0.99], kept=kept, block=block) == recorded(capture, tmp_path, [], block=block)


@pytest.mark.slow
@pytest.mark.parametrize("capture", every(7, CAPTURES))
@given(bounds=st.lists(st.floats(0, 1), min_size=1, max_size=8), kept=st.booleans(), most=st.sampled_from((0, 20, FEW_PACKETS)))
@one_in(8)
def test_recorded_captures_cut_anywhere(
    capture: str, tmp_path_factory: pytest.TempPathFactory, bounds: list[float], kept: bool, most: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    kept |= "midstream" in capture  # where its capture is gone, what showed no STOMP is a gap: the test below
    assert recorded(capture, folder, bounds, kept=kept, most=most) == recorded(capture, folder, [])


def test_octets_that_showed_no_stomp_are_a_gap_where_their_capture_is_gone(tmp_path: Path) -> None:
    """On an unusual port, caught mid-stream: nothing of another protocol is kept, and nothing is made up for it."""
    peers = Peers(0)
    peers.ports = 40000, 7000
    frames = [Frame(peers.packet(0, 0, b"login root\n"), START_NS)]
    frames.append(Frame(peers.packet(0, 11, b"\0" + HELLO), START_NS + SECOND))
    for kept, gaps in ((True, 0), (False, 11)):
        lake = Lake(kept=kept)
        for number, frame in enumerate(frames):
            lake.run([str(pcap(tmp_path / f"{kept}{number}.pcap", [frame], nano=True))])
        [row] = lake.table("streams").to_pylist()
        assert (row["protocol"], row["gap_octets_c2s"], row["truncated_octets_c2s"]) == ("stomp", gaps, gaps)


def test_what_is_kept_of_a_connection_has_no_passcode(tmp_path: Path) -> None:
    peers, lake = Peers(0), Lake()
    frames = [Frame(octets, START_NS + n) for n, octets in enumerate([*peers.does("open", 0), peers.packet(0, 0, HELLO)])]
    lake.run([str(pcap(tmp_path / "a.pcap", frames, nano=True))])
    state = pa.concat_tables(lake.open["stream_state"])
    assert state.num_rows == 4
    assert state.column("payload").null_count == 4
    (raw,) = pa.concat_tables(lake.open["raw_frames"]).column("raw").to_pylist()
    assert b"sesame" not in raw
    assert b"login:me" in raw
