"""A search for many words at once, in the time of one pass over the octets.

Octets are read as 32-bit integers, each once. A word of seven octets or more contains one of them wherever it lies, which is one of four
quads of the word; a table of bits tells the few integers that may be such a quad. A word of six octets may have three octets of one.
Bits are a Bloom filter of two hashes: a look at the table of quads, which is large, is what takes long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from stompcap.columns import I64, U32, U64, Octets
from stompcap.kernel import callee, inline, kernel
from stompcap.stomp.octets import readonly
from stompcap.stomp.secret_forms import LEAST, forms

CLUES = (b"CONNECT", b"accept-version", b"passcode", b"PASSCODE", b"Passcode")
QUAD = 4
FACTOR, SECOND_FACTOR = 0x9E3779B1, 0x85EBCA77
FULL = 0xFFFFFFFF
SHORT = 0xFFFFFF
LEAST_BITS, MOST_BITS = 12, 24
KEPT = 2
"""Tables that are kept: secrets become more, window by window."""
ROOM = 1024
MOST_SHARING = 6
"""Words that share a quad are counted up to so many bits of their number: long secrets that begin alike would take long to enter."""

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


@inline
def _may_be(value: int, slot: int, shift: int, bits: U64) -> bool:
    """Whether an integer of this hash may be a quad."""
    if not bits[slot >> 6] >> np.uint64(slot & 63) & np.uint64(1):
        return False
    second = ((value * SECOND_FACTOR) & FULL) >> shift
    return bool(bits[second >> 6] >> np.uint64(second & 63) & np.uint64(1))


@inline
def _quad(octets: Octets, begin: int, size: int) -> int:
    """The octets from `begin` on as an integer, four where there are so many."""
    value = 0
    for k in range(min(QUAD, size)):
        value |= int(octets[begin + k]) << 8 * k
    return value


@callee
def _rarest(octets: Octets, begin: int, size: int, quad: int, shift: int, first: I64, following: I64) -> int:
    """Of the offsets that differ from `quad` by a multiple of four, that of the octets which will cost least.

    What is rare in text is met seldom, and what few words have, as they may all begin alike, has few of them to be compared then. Weights
    are powers of two.
    """
    best, most = quad, -QUAD * MOST_SHARING
    for offset in range(quad, size - QUAD + 1, QUAD):
        weight = 0
        for k in range(QUAD):
            weight += RARITY[octets[begin + offset + k]]
        entry, sharing = first[_hash(_quad(octets, begin + offset, QUAD), shift)], 0
        while entry >= 0 and sharing >> MOST_SHARING == 0:
            sharing += 1
            entry = following[entry]
        while sharing:
            weight -= 1
            sharing >>= 1
        if weight > most:
            best, most = offset, weight
    return best


@kernel
def _enter(octets: Octets, at: I64, start: int, shift: int, bits: U64, first: I64, following: I64, offset: I64) -> None:
    """Enter four quads of each word from number `start` on."""
    for word in range(start, at.size - 1):
        size = at[word + 1] - at[word]
        for quad in range(QUAD):
            begin = _rarest(octets, at[word], size, quad, shift, first, following)
            offset[QUAD * word + quad] = begin
            value = _quad(octets, at[word] + begin, size - begin)
            slot, second = _hash(value, shift), ((value * SECOND_FACTOR) & FULL) >> shift
            bits[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
            bits[second >> 6] |= np.uint64(1) << np.uint64(second & 63)
            following[QUAD * word + quad] = first[slot]
            first[slot] = QUAD * word + quad


class _Table:
    """All forms of some secrets, behind CLUES, which lead to secrets that frames quoted in bodies give; more may come."""

    def __init__(self) -> None:
        self.secrets: frozenset[bytes] = frozenset()
        self._words = dict.fromkeys(CLUES, 0)
        self.needles = packed(self._words)

    def take(self, secrets: frozenset[bytes]) -> None:
        """Take in more secrets."""
        before = len(self._words)
        for secret in secrets - self.secrets:
            for octets, _, edges in forms(secret):
                self._words.setdefault(octets, edges)
        self.secrets |= secrets
        if len(self._words) > before:
            self.needles = packed(self._words, self.needles)


_tables: list[_Table] = []


@contextmanager
def needles(secrets: frozenset[bytes]) -> Iterator[Needles]:
    """All forms of these secrets, and CLUES. The table of the most of them that one had before is taken over, and grows."""
    known = sorted((table for table in list(_tables) if table.secrets <= secrets), key=lambda one: len(one.secrets))
    try:
        _tables.remove(table := known[-1])
    except (IndexError, ValueError):  # there is none, or another thread took it
        table = _Table()
    try:
        table.take(secrets)
        yield table.needles
    finally:
        _tables.append(table)
        del _tables[:-KEPT]


def packed(words: dict[bytes, int], before: Needles | None = None) -> Needles:
    """Words of at least LEAST octets, with their edges; `before` are the first of them, whose table is used if it is large enough."""
    size = min(max(LEAST_BITS, (32 * len(words)).bit_length()), MOST_BITS)
    if before is None or before.shift != 32 - size:
        before = _nothing(size)
    start = before.at.size - 1
    more = list(words)[start:]
    at = np.append(before.at, before.at[-1] + np.cumsum([*map(len, more)], dtype=np.int64))
    octets = readonly(np.append(before.octets, np.frombuffer(b"".join(more), np.uint8)))
    edges = np.append(before.edges, np.array([words[word] for word in more], np.int64))
    following = np.append(before.following, np.full(QUAD * len(more), -1, np.int64))
    offset = np.append(before.offset, np.zeros(QUAD * len(more), np.int64))
    _enter(octets, at, start, 32 - size, before.bits, before.first, following, offset)
    short = before.short or any(len(word) == LEAST for word in more)
    return Needles(octets, at, edges, before.bits, short, 32 - size, before.first, following, offset)


def _nothing(size: int) -> Needles:
    """No words, and a table for as many as have hashes of so many bits."""
    none = np.zeros(0, np.int64)
    bits, first = np.zeros(1 << (size - 6), np.uint64), np.full(1 << size, -1, np.int64)
    return Needles(readonly(np.zeros(0, np.uint8)), np.zeros(1, np.int64), none, bits, False, 32 - size, first, none, none)


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
        if _may_be(value, slot, shift, bits):
            count = _with_hash(octets, 4 * i, slot, needles, found, count)
        if short:
            slot = _hash(value & SHORT, shift)
            if _may_be(value & SHORT, slot, shift, bits):
                count = _with_hash(octets, 4 * i, slot, needles, found, count)
        if count == found.shape[0]:
            return 0 if i == start else count, i
    return count, integers.size


def search(octets: Octets, words: Needles) -> I64:
    """Where words are in the octets: rows of begin, end and number of the word, in the order of the octets."""
    length = octets.size
    if words.short and length % QUAD == QUAD - 1:
        octets = np.append(octets, np.uint8(0))  # a word of six octets may end with these three
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
    every = np.concatenate([np.empty((0, 3), np.int64), *parts])
    return np.unique(every[every[:, 1] <= length], axis=0)
