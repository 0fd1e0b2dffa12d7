"""Kernels that find where records continue behind damage: a chain of valid headers does not occur by chance.

A position is accepted where at least CHAIN plausible headers follow one another from it, or as many as the file has left.
"""

from __future__ import annotations

from typing import NamedTuple

from stompcap.capture.integers import Int, u32
from stompcap.columns import Octets
from stompcap.kernel import callee, inline, kernel

CHAIN = 4
MAX_PACKET_OCTETS = 1 << 24  # no link delivers more in one record; a larger length is damage
MAX_BLOCK_OCTETS = 1 << 26  # of a pcapng block, also one of names or secrets
USUAL_PACKET_OCTETS = 1 << 18  # most octets of a record, unless the snapshot length is larger
DAY_S = 86400  # records further apart in time are doubtful

BROKEN, HOLDS, OPEN = 0, 1, 2  # OPEN: undecided, as more octets must be decompressed first

SECTION_BLOCK, INTERFACE_BLOCK, OBSOLETE_BLOCK, SIMPLE_BLOCK, ENHANCED_BLOCK, SECRETS_BLOCK = 0x0A0D0D0A, 1, 2, 3, 6, 10


class Layout(NamedTuple):
    """The layout of a pcap file's records: byte order, octets of a header, ticks per second, octets of the longest packet."""

    big: bool
    head: Int
    ticks: Int
    longest: Int


@inline
def plausible(octets: Octets, at: Int, layout: Layout, seconds: Int) -> bool:
    """Whether a pcap record header at `at` is one that a writer would make; `seconds` of the record before, -1 for none."""
    big = layout.big
    length, original = u32(octets, at + 8, big), u32(octets, at + 12, big)
    near = seconds < 0 or abs(u32(octets, at, big) - seconds) <= DAY_S
    return bool(near and u32(octets, at + 4, big) < layout.ticks and length <= layout.longest and length <= original <= MAX_PACKET_OCTETS)


@callee
def pcap_chain(octets: Octets, at: Int, layout: Layout, seconds: Int, final: bool) -> Int:
    """Whether plausible records begin at `at`; `final`: the file ends behind these octets."""
    end, big, head = len(octets), layout.big, layout.head
    for count in range(CHAIN):
        if at == end:
            return HOLDS if final else OPEN
        if at + head <= end:
            if not plausible(octets, at, layout, seconds) or u32(octets, at + 8, big) == 0:
                return BROKEN
            seconds = u32(octets, at, big)
            at += head + u32(octets, at + 8, big)
        if at + head > end and at != end:
            if not final:
                return OPEN
            return HOLDS if count >= 2 else BROKEN  # the last record is cut off
    return HOLDS


@kernel
def find_pcap(octets: Octets, at: Int, stop: Int, layout: Layout, seconds: Int, final: bool) -> tuple[Int, Int]:
    """The first position in [at, stop) where records continue: (HOLDS, position), (OPEN, first undecided one) or (BROKEN, stop)."""
    while at < stop:
        if at + layout.head > len(octets):
            return (BROKEN, stop) if final else (OPEN, at)
        if plausible(octets, at, layout, seconds):
            state = pcap_chain(octets, at, layout, seconds, final)
            if state != BROKEN:
                return state, at
        at += 1
    return (BROKEN, stop) if final else (OPEN, at)


@kernel
def leads_to(octets: Octets, at: Int, position: Int, layout: Layout) -> bool:
    """Whether the records from `at` on, by their lengths alone, end where the one at `position` begins."""
    while at < position and at + layout.head <= len(octets):
        at += layout.head + u32(octets, at + 8, layout.big)
    return bool(at == position)


@inline
def known_block(kind: Int) -> bool:
    """Whether the pcapng specification defines such a block."""
    return bool(1 <= kind <= 6 or kind == 10 or kind == SECTION_BLOCK or kind == 0xBAD or kind == 0x40000BAD)


@inline
def block_octets(length: Int) -> Int:
    """The octets of a pcapng block with this length field: a multiple of four, though some writers omit the padding in it."""
    return (length + 3) & ~3


@callee
def pcapng_chain(octets: Octets, at: Int, big: bool, final: bool) -> Int:
    """Whether blocks whose two length fields agree begin at `at`."""
    end = len(octets)
    for count in range(CHAIN):
        if at == end:
            return HOLDS if final else OPEN
        if at + 12 <= end:
            if u32(octets, at, big) == SECTION_BLOCK:  # it has its own byte order
                big = octets[at + 8] == 0x1A
            stated = u32(octets, at + 4, big)
            length = block_octets(stated)
            if stated < 12 or length > MAX_BLOCK_OCTETS or not (count or known_block(u32(octets, at, big))):
                return BROKEN
            if at + length <= end and u32(octets, at + length - 4, big) != stated:
                return BROKEN
            at += length
        if at + 12 > end and at != end:
            if not final:
                return OPEN
            return HOLDS if count >= 2 else BROKEN
    return HOLDS


@kernel
def find_pcapng(octets: Octets, at: Int, big: bool, final: bool) -> tuple[Int, Int]:
    """The first position from `at` on where blocks continue, as `find_pcap`."""
    while at + 12 <= len(octets):
        if known_block(u32(octets, at, big)):
            state = pcapng_chain(octets, at, big, final)
            if state != BROKEN:
                return state, at
        at += 1
    return (BROKEN, at) if final else (OPEN, at)
