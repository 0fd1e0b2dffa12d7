"""Ways in which TCP may bring the same octets: each takes segments to segments. Times are kept: of parts and copies too."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from tests.mangler.taken_apart import ACK, FIN, RST, SYN, Segment

Segments = list[Segment]
Change = Callable[[Sequence[Segment]], Segments]
SPAN_NS = 200_000  # between a packet and the copy that a second port of a switch brings
SHORT_NS = 1_000_000  # packets captured closer than this are those a network may swap


def as_they_are(packets: Sequence[Segment]) -> Segments:
    """Nothing changed."""
    return list(packets)


def smaller(octets: int) -> Change:
    """A smaller maximum segment size."""

    def cut(packets: Sequence[Segment]) -> Segments:
        return [
            one.cut(begin, min(begin + octets, len(one.payload))) for one in packets for begin in range(0, max(len(one.payload), 1), octets)
        ]

    return cut


def copied_at_once(packets: Sequence[Segment]) -> Segments:
    """Every packet twice, at the same time."""
    return [one for one in packets for _ in range(2)]


def copied_by_span(packets: Sequence[Segment]) -> Segments:
    """Every packet again a little later, one hop further, as a switch mirrors two of its ports into one capture."""
    copies = [replace(one, ts_ns=one.ts_ns + SPAN_NS, ttl=one.ttl - 1) for one in packets]
    return sorted([*packets, *copies], key=lambda one: one.ts_ns)


def sent_again(packets: Sequence[Segment]) -> Segments:
    """Every seventh segment with octets again, 50 ms later, from the sequence number on that it had."""
    again = [replace(one, ts_ns=one.ts_ns + 50_000_000, ip_id=(one.ip_id + 1) % 65536) for one in packets if one.payload][::7]
    return sorted([*packets, *again], key=lambda one: one.ts_ns)


def kept_alive(packets: Sequence[Segment]) -> Segments:
    """Behind every fifth acknowledgement of all there is a keep-alive of its peer: an octet of rubbish that is long acknowledged."""
    out: Segments = []
    sent: dict[object, int] = {}
    closing: set[object] = set()
    for i, one in enumerate(packets):
        out.append(one)
        sent[one.way] = (one.seq + len(one.payload) + bool(one.flags & (SYN | FIN))) % 2**32
        peer = (one.dst, one.dport, one.src, one.sport)
        closing |= {one.flow} if one.flags & (FIN | RST) else set()
        if i % 5 == 0 and sent.get(peer) == one.ack and one.flags == ACK and not one.payload and one.flow not in closing:
            back = replace(one, src=one.dst, dst=one.src, sport=one.dport, dport=one.sport)
            out.append(replace(back, seq=(one.ack - 1) % 2**32, ack=sent[one.way], payload=b"\xff", options=b""))
    return out


def in_pairs(packets: Sequence[Segment]) -> Segments:
    """Of two segments with octets that follow each other closely in one direction, the first one at the time of the second."""
    out = list(packets)
    for i in pairs(out):
        out[i] = replace(out[i], ts_ns=out[i + 1].ts_ns)
    return out


def reordered(packets: Sequence[Segment]) -> Segments:
    """Such pairs in the other order."""
    out = in_pairs(packets)
    for i in pairs(out):
        out[i], out[i + 1] = out[i + 1], out[i]
    return out


def pairs(packets: Sequence[Segment]) -> list[int]:
    """Where two segments begin that a network may swap; no segment is in two pairs."""
    found: list[int] = []
    for i, (one, two) in enumerate(pairwise(packets)):
        near = one.way == two.way and one.payload and two.payload and two.ts_ns - one.ts_ns < SHORT_NS
        if near and not (one.flags | two.flags) & (FIN | RST) and i - 1 not in found:
            found.append(i)
    return found


def one_flow_after_the_other(packets: Sequence[Segment]) -> Segments:
    """All packets of a flow, then all of the next; each keeps its time."""
    flows: dict[object, Segments] = {}
    for one in packets:
        flows.setdefault(one.flow, []).append(one)
    return [one for flow in flows.values() for one in flow]


def cut_and_reordered(packets: Sequence[Segment]) -> Segments:
    """Every packet in parts of 100 octets that arrive in any order (all at one time)."""
    dice, out = random.Random(7), []
    for one in packets:
        parts = smaller(100)([one])
        if not one.flags & (SYN | FIN | RST):
            dice.shuffle(parts)
        out += parts
    return out


def overlapping(packets: Sequence[Segment]) -> Segments:
    """Parts of 64 octets that begin 16 octets before the end of the part before."""
    out: Segments = []
    for one in packets:
        size = len(one.payload)
        out += [one.cut(max(0, begin - 16), min(begin + 64, size)) for begin in range(0, max(size, 1), 64)]
    return out


def shifted(numbers: Callable[[Segment], int]) -> Change:
    """Other sequence numbers: `numbers` gives the first of a side, from the segment that it first sent."""

    def shift(packets: Sequence[Segment]) -> Segments:
        moved: dict[object, int] = {}
        for one in packets:
            moved.setdefault(one.way, numbers(one) - one.seq)
        return [
            replace(
                one,
                seq=(one.seq + moved[one.way]) % 2**32,
                ack=(one.ack + moved.get((one.dst, one.dport, one.src, one.sport), 0)) % 2**32 if one.flags & ACK else one.ack,
            )
            for one in packets
        ]

    return shift


wrapping = shifted(lambda one: 2**32 - 20 - one.sport % 300)
wrapping_at_the_handshake = shifted(lambda _: 2**32 - 1)
half_way = shifted(lambda _: 2**31 - 50)


def without_handshake(packets: Sequence[Segment]) -> Segments:
    """The capture began behind every handshake."""
    return [one for one in packets if not one.flags & SYN]


def one_way(packets: Sequence[Segment]) -> Segments:
    """Acknowledgements without octets were not captured."""
    return [one for one in packets if one.payload or one.flags & (SYN | FIN | RST)]


def address_6(address: bytes) -> bytes:
    """An IPv6 address for an IPv4 one."""
    return bytes.fromhex("fd00 0000 0000 0000 0000 0000") + address


def over_ipv6(packets: Sequence[Segment]) -> Segments:
    """The same between IPv6 addresses, in the same order."""
    return [replace(one, src=address_6(one.src), dst=address_6(one.dst)) for one in packets]
