"""A search for many words at once, in the time of one pass over the octets.

Octets are read as 32-bit integers, each once. A word of seven octets or more contains one of them wherever it lies, which is one of four
quads of the word; a table of bits tells the few integers that may be such a quad. A word of six octets may have three octets of one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from stompcap.columns import I64, U32, U64, Octets
from stompcap.kernel import callee, inline, kernel
from stompcap.stomp.octets import readonly
from stompcap.stomp.secret_forms import LEAST, forms

CLUES = (b"CONNECT", b"accept-version", b"passcode", b"PASSCODE", b"Passcode")
QUAD = 4
FACTOR = 0x9E3779B1
FULL = 0xFFFFFFFF
SHORT = 0xFFFFFF
LEAST_BITS, MOST_BITS = 15, 24
ROOM = 1024
RARITY = np.full(256, 4, np.int64)
RARITY[list(b"etaoinsrhdlu -/.:,0123456789")] = 1
RARITY[list(b"cmfpgwybvkACDEIMNOQRST_=")] = 2
RARITY[list(b"xjqz")] = 3


class Needles(NamedTuple):
    """The words, back to back, and the table of their quads."""

    octets: Octets
    at: I64
    """Where each word begins, and where the last one ends."""
    edges: I64
    """Per word: bits BEFORE and BEHIND of `secret_forms`."""
    bits: U64
    short: bool
    """Whether there are words of six octets."""
    shift: int
    first: I64
    """By hash: the first entry of a quad, or -1."""
    following: I64
    """By entry (QUAD * word + quad): the next one with the same hash, or -1."""
    offset: I64
    """By entry: where in the word the quad is."""


@inline
def _hash(value: int, shift: int) -> int:
    """A hash of 32 bits, in so many of them as `shift` leaves."""
    return ((value * FACTOR) & FULL) >> shift


@callee
def _rarest(octets: Octets, begin: int, size: int, quad: int) -> int:
    """Of the offsets that differ from `quad` by a multiple of four, that of the octets which are rarest in text."""
    best, most = quad, -1
    for offset in range(quad, size - QUAD + 1, QUAD):
        weight = 0
        for k in range(QUAD):
            weight += RARITY[octets[begin + offset + k]]
        if weight > most:
            best, most = offset, weight
    return best


@kernel
def _enter(
    octets: Octets, at: I64, shift: int, bits: U64, first: I64, following: I64, offset: I64
) -> None:
    """Enter four quads of each word."""
    for word in range(at.size - 1):
        size = at[word + 1] - at[word]
        for quad in range(QUAD):
            begin = _rarest(octets, at[word], size, quad)
            offset[QUAD * word + quad] = begin
            value = 0
            for k in range(min(QUAD, size - begin)):
                value |= int(octets[at[word] + begin + k]) << 8 * k
            slot = _hash(value, shift)
            bits[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
            following[QUAD * word + quad] = first[slot]
            first[slot] = QUAD * word + quad


@lru_cache(maxsize=8)
def needles(secrets: frozenset[bytes]) -> Needles:
    """All forms of these secrets; before them CLUES, which lead to secrets that frames quoted in bodies give."""
    words = dict.fromkeys(CLUES, 0)
    for secret in secrets:
        for octets, _, edges in forms(secret):
            words.setdefault(octets, edges)
    return packed(words)


def packed(words: dict[bytes, int]) -> Needles:
    """Words of at least LEAST octets, with their edges."""
    at = np.cumsum([0, *map(len, words)]).astype(np.int64)
    size = min(max(LEAST_BITS, (512 * len(words)).bit_length()), MOST_BITS)
    bits = np.zeros(1 << (size - 6), np.uint64)
    first, following = np.full(1 << size, -1, np.int64), np.empty(QUAD * len(words), np.int64)
    octets, offset = readonly(np.frombuffer(b"".join(words), np.uint8)), np.zeros(QUAD * len(words), np.int64)
    _enter(octets, at, 32 - size, bits, first, following, offset)
    short = bool((np.diff(at) == LEAST).any())
    return Needles(octets, at, np.array(list(words.values()), np.int64), bits, short, 32 - size, first, following, offset)


@callee
def _with_hash(octets: Octets, at: int, slot: int, needles: Needles, found: I64, count: int) -> int:
    """Write the words that have a quad of this hash at `at`; the new number of those found."""
    entry = needles.first[slot]
    while entry >= 0 and count < found.shape[0]:
        word = entry // QUAD
        begin = at - needles.offset[entry]
        size = needles.at[word + 1] - needles.at[word]
        if begin >= 0 and begin + size <= octets.size:
            same = True
            for k in range(size):
                if octets[begin + k] != needles.octets[needles.at[word] + k]:
                    same = False
                    break
            if same:
                found[count, 0], found[count, 1], found[count, 2] = begin, begin + size, word
                count += 1
        entry = needles.following[entry]
    return count


@kernel
def _search(octets: Octets, integers: U32, start: int, needles: Needles, found: I64) -> tuple[int, int]:
    """Write where words are, from the integer `start` on: (how many, the integer to go on with)."""
    count = 0
    bits, shift, short = needles.bits, needles.shift, needles.short
    for i in range(start, integers.size):
        value = int(integers[i])
        slot = _hash(value, shift)
        if bits[slot >> 6] >> np.uint64(slot & 63) & np.uint64(1):
            count = _with_hash(octets, 4 * i, slot, needles, found, count)
        if short:
            slot = _hash(value & SHORT, shift)
            if bits[slot >> 6] >> np.uint64(slot & 63) & np.uint64(1):
                count = _with_hash(octets, 4 * i, slot, needles, found, count)
        if count == found.shape[0]:
            return 0 if i == start else count, i
    return count, integers.size


def search(octets: Octets, words: Needles) -> I64:
    """Where words are in the octets: rows of begin, end and number of the word, in the order of the octets."""
    if octets.ctypes.data % QUAD or not octets.flags.c_contiguous:
        octets = octets.copy()
    octets = readonly(octets)
    integers = octets[: octets.size // QUAD * QUAD].view(np.uint32)
    at, room, parts = 0, ROOM, []
    while at < integers.size:
        found = np.empty((room, 3), np.int64)
        count, reached = _search(octets, integers, at, words, found)
        room = room if reached > at else 2 * room
        parts.append(found[:count])  # what is found at the integer to go on with is found again
        at = reached
    return np.unique(np.concatenate([np.empty((0, 3), np.int64), *parts]), axis=0)
