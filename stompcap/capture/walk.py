"""Kernels that walk record and block headers: where each packet is, how long it is, when it was captured.

A walk fills at most one batch and returns why it stopped; it reads nothing behind a packet's header.
pcap: draft-ietf-opsawg-pcap, section 4 and 5; pcapng: draft-ietf-opsawg-pcapng, section 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.capture.chains import (
    BROKEN,
    ENHANCED_BLOCK,
    INTERFACE_BLOCK,
    MAX_BLOCK_OCTETS,
    MAX_PACKET_OCTETS,
    OBSOLETE_BLOCK,
    OPEN,
    SECRETS_BLOCK,
    SECTION_BLOCK,
    SIMPLE_BLOCK,
    Layout,
    block_octets,
    pcap_chain,
    plausible,
)
from stompcap.capture.integers import Int, u16, u32
from stompcap.columns import I32, I64, Octets
from stompcap.kernel import inline, kernel
from stompcap.units import LAST_S

FULL, END, TRUNCATED, DAMAGED, SECTION, INTERFACE, DOUBTFUL = 0, 1, 2, 3, 4, 5, 6


class Room(NamedTuple):
    """Columns for a batch, a row per packet: where its octets are, how many were captured and sent, its time, its link type."""

    position: I64
    captured: I64
    original: I64
    ts_ns: I64
    links: I32


@kernel
def walk_pcap(
    octets: Octets, at: Int, stop: Int, layout: Layout, link: Int, seconds: Int, trusting: bool, final: bool, room: Room
) -> tuple[Int, Int, Int, Int]:
    """Fill the room from the record at `at` on: (records, next offset, why it stopped, seconds of the last record).

    No record that begins at or behind `stop` is taken. A header that is not plausible (too long a packet, far from the record
    before in time, ...) is DOUBTFUL, unless plausible ones follow or `trusting` is set.
    """
    end, tick_ns = len(octets), 1_000_000_000 // layout.ticks
    big, head = layout.big, layout.head
    position, captured, original, ts_ns, links = room
    for count in range(len(position)):
        if at >= stop:
            return count, at, FULL, seconds
        if at == end:
            return count, at, END, seconds
        if at + head > end:
            return count, at, TRUNCATED, seconds
        octets_here = u32(octets, at + 8, big)
        nothing = octets_here == 0 and u32(octets, at, big) | u32(octets, at + 4, big) | u32(octets, at + 12, big) == 0  # never written
        if octets_here > MAX_PACKET_OCTETS or nothing:
            return count, at, DAMAGED, seconds
        if not trusting and not plausible(octets, at, layout, seconds):
            state = BROKEN
            if at + head + octets_here <= end:
                state = pcap_chain(octets, at + head + octets_here, layout, -1, final)
            elif not final:
                state = OPEN
            if state == OPEN:
                return count, at, TRUNCATED, seconds
            if state == BROKEN:
                return count, at, DOUBTFUL, seconds
        if at + head + octets_here > end:
            return count, at, TRUNCATED, seconds
        seconds = u32(octets, at, big)
        ts_ns[count] = seconds * 1_000_000_000 + u32(octets, at + 4, big) * tick_ns
        position[count] = at + head
        captured[count] = octets_here
        original[count] = u32(octets, at + 12, big)
        links[count] = link
        at += head + octets_here
    return len(position), at, FULL, seconds


@kernel
def nanoseconds(ticks: Int, resolution: Int, offset_s: Int) -> Int:
    """A 64-bit pcapng time: `resolution` as if_tsresol (high bit: a power of two), `offset_s` as if_tsoffset.

    Negative for a time before the epoch or LAST_S seconds or more after it.
    """
    power = resolution & 0x7F
    about_s = float(np.uint64(ticks)) / (2.0 if resolution & 0x80 else 10.0) ** power + offset_s
    if about_s <= -1 or about_s >= LAST_S:
        return -1
    if resolution & 0x80:
        seconds = np.int64(np.uint64(ticks) >> np.uint64(power)) if power < 64 else np.int64(0)
        fraction = ticks - (seconds << power) if power < 64 else np.int64(ticks)
        if power <= 30:
            return (seconds + offset_s) * 1_000_000_000 + (fraction * 1_000_000_000 >> power)
        # 10^9 is 5^9 * 2^9; the products of both halves with 5^9 fit in 64 bits
        high = (np.uint64(fraction) >> np.uint64(32)) * np.uint64(5**9)
        low = (np.uint64(fraction) & np.uint64(0xFFFFFFFF)) * np.uint64(5**9)
        if power < 41:
            part = ((high << np.uint64(32)) + low) >> np.uint64(power - 9)
        else:
            part = (high + (low >> np.uint64(32))) >> np.uint64(min(power - 41, 63))
        return (seconds + offset_s) * 1_000_000_000 + np.int64(part)
    for _ in range(power, 9):
        ticks *= 10
    if power > 9:  # a count of such units since the epoch needs all 64 bits
        rest = np.uint64(ticks)
        for _ in range(9, power):
            rest //= np.uint64(10)
        ticks = np.int64(rest)
    return offset_s * 1_000_000_000 + ticks


@inline
def packet_block(octets: Octets, at: Int, length: Int, big: bool, interfaces: I64) -> tuple[Int, Int, Int, Int, Int]:
    """The packet block of so many octets at `at`: (octets before the packet, captured, original, time, interface); (0, ...) if invalid."""
    kind = u32(octets, at, big)
    head = 12 if kind == SIMPLE_BLOCK else 28
    if length < head + 4:
        return 0, 0, 0, 0, 0
    interface = 0
    if kind == ENHANCED_BLOCK:
        interface = u32(octets, at + 8, big)
    elif kind == OBSOLETE_BLOCK:
        interface = u16(octets, at + 8, big)
    if interface >= len(interfaces):
        return 0, 0, 0, 0, 0
    if kind == SIMPLE_BLOCK:
        original, snaplen, ts_ns = u32(octets, at + 8, big), interfaces[interface, 1], 0
        captured = min(original, length - 16)
        if snaplen > 0:
            captured = min(captured, snaplen)
    else:
        captured, original = u32(octets, at + 20, big), u32(octets, at + 24, big)
        if captured > length - head - 4:
            return 0, 0, 0, 0, 0
        ticks = u32(octets, at + 12, big) << 32 | u32(octets, at + 16, big)
        ts_ns = nanoseconds(ticks, interfaces[interface, 2], interfaces[interface, 3])
    return head, captured, original, ts_ns, interface


@kernel
def walk_pcapng(octets: Octets, at: Int, stop: Int, big: bool, interfaces: I64, room: Room, seen: I64) -> tuple[Int, Int, Int]:
    """Fill the room from the block at `at` on: (records, next offset, why it stopped).

    No block that begins at or behind `stop` is taken. `interfaces`: a row per interface of the section: link type,
    snaplen, if_tsresol, if_tsoffset. Section and interface blocks are left to the caller. A simple packet block has no
    time: 0. Invalid packet blocks are passed over; `seen` gets their number, and where the first is, and the same for packets
    with an impossible time, which get 0, and the number of blocks with secrets.
    """
    position, captured, original, ts_ns, links = room
    end, count = len(octets), 0
    while count < len(position) and at < stop:
        if at == end:
            return count, at, END
        if at + 12 > end:
            return count, at, TRUNCATED
        kind = u32(octets, at, big)
        if kind == SECTION_BLOCK:
            return count, at, SECTION
        stated = u32(octets, at + 4, big)
        length = block_octets(stated)
        if stated < 12 or length > MAX_BLOCK_OCTETS:
            return count, at, DAMAGED
        if at + length > end:
            return count, at, TRUNCATED
        if u32(octets, at + length - 4, big) != stated:
            return count, at, DAMAGED
        if kind == INTERFACE_BLOCK:
            return count, at, INTERFACE
        if kind in (ENHANCED_BLOCK, OBSOLETE_BLOCK, SIMPLE_BLOCK):
            head, captured[count], original[count], time, interface = packet_block(octets, at, length, big, interfaces)
            if head:
                if time < 0:
                    time = 0
                    seen[3] = seen[3] if seen[2] else at
                    seen[2] += 1
                position[count], ts_ns[count], links[count] = at + head, time, interfaces[interface, 0]
                count += 1
            else:
                seen[1] = seen[1] if seen[0] else at
                seen[0] += 1
        elif kind == SECRETS_BLOCK:
            seen[4] += 1
        at += length
    return count, at, FULL
