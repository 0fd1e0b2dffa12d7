"""Hashes of what frames carry, by which a MESSAGE is found again among SENDs: keyed, 63 bits, in the manner of XXH3.

A body without a key could be guessed from its hash, so the key (128 bits) belongs to the lake (`stompcap.lake.hash_key`). Eight words of 64
bits are taken at a time, each into a sum of its own by a multiplication of its halves, which the compiler does side by side; what is left,
and short texts, word by word. Order of octets in memory does not count: words are put together from octets.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from stompcap.columns import I64, U64, Bools, Octets
from stompcap.kernel import inline, kernel

KEY_OCTETS = 16
WORDS = 16
STRIPE = 64
MANY = 1024  # octets after which the sums are stirred
P1, P2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
P3, P4 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
LOW = np.uint64(0xFFFFFFFF)
S1, S8, S16, S24, S27, S29, S31, S32, S33, S37, S40, S47, S48, S56 = (
    np.uint64(n) for n in (1, 8, 16, 24, 27, 29, 31, 32, 33, 37, 40, 47, 48, 56)
)
U1, U2, U3, U4, U5, U6, U7 = (np.uint64(n) for n in range(1, 8))
MASKED = ord("*")


@lru_cache(16)
def words_of(key: bytes) -> U64:
    """The words of a key of 128 bits: its halves, drawn out by splitmix64."""
    if len(key) != KEY_OCTETS:
        raise ValueError(f"a key for hashes has {KEY_OCTETS} octets, not {len(key)}")
    low, high, mask = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little"), (1 << 64) - 1
    found = []
    for number in range(1, WORDS + 1):
        word = 0
        for half in (low, high):
            z = ((half ^ word) + number * 0x9E3779B97F4A7C15) & mask
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
            z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
            word = z ^ z >> 31
        found.append(word)
    words = np.array(found, np.uint64)
    words.flags.writeable = False
    return words


@inline
def _word(o: Octets, i: int) -> np.uint64:
    """Eight octets as a number, the lowest first.

    LLVM makes one load of it, as long as the index has no sign: numba asks of another one for each octet whether it counts from the end.
    """
    j = np.uint64(i)
    return (
        np.uint64(o[j]) | np.uint64(o[j + U1]) << S8 | np.uint64(o[j + U2]) << S16 | np.uint64(o[j + U3]) << S24
        | np.uint64(o[j + U4]) << S32 | np.uint64(o[j + U5]) << S40 | np.uint64(o[j + U6]) << S48 | np.uint64(o[j + U7]) << S56
    )  # fmt: skip


@inline
def _stir(h: np.uint64) -> np.uint64:
    """Each bit of a number into all of it."""
    h ^= h >> S33
    h *= P2
    h ^= h >> S29
    h *= P3
    return h ^ h >> S32


@inline
def _take(h: np.uint64, word: np.uint64, key: np.uint64) -> np.uint64:
    """One more word into a hash."""
    k = (word ^ key) * P2
    h ^= (k << S31 | k >> S33) * P1
    return (h << S27 | h >> S37) * P1 + P4


@inline
def _times(word: np.uint64, key: np.uint64) -> np.uint64:
    """Both halves of a word, hidden by the key, multiplied."""
    k = word ^ key
    return (k & LOW) * (k >> S32)


@kernel
def _stripes(o: Octets, begin: int, end: int, key: U64) -> np.uint64:
    """All of [begin, end), a multiple of 64 octets."""
    a0, a1, a2, a3, a4, a5, a6, a7 = key[8], key[9], key[10], key[11], key[12], key[13], key[14], key[15]
    i, at = begin, np.uint64(0)  # where a stripe stands is added to the key: those of a body do not commute
    while i < end:
        stop = min(end, i + MANY)
        while i < stop:
            w0, w1, w2, w3 = _word(o, i), _word(o, i + 8), _word(o, i + 16), _word(o, i + 24)
            w4, w5, w6, w7 = _word(o, i + 32), _word(o, i + 40), _word(o, i + 48), _word(o, i + 56)
            a0 += w1 + _times(w0, key[0] + at)
            a1 += w0 + _times(w1, key[1] + at)
            a2 += w3 + _times(w2, key[2] + at)
            a3 += w2 + _times(w3, key[3] + at)
            a4 += w5 + _times(w4, key[4] + at)
            a5 += w4 + _times(w5, key[5] + at)
            a6 += w7 + _times(w6, key[6] + at)
            a7 += w6 + _times(w7, key[7] + at)
            i += STRIPE
            at += P3
        a0, a1 = (a0 ^ a0 >> S47 ^ key[8]) * P1, (a1 ^ a1 >> S47 ^ key[9]) * P1
        a2, a3 = (a2 ^ a2 >> S47 ^ key[10]) * P1, (a3 ^ a3 >> S47 ^ key[11]) * P1
        a4, a5 = (a4 ^ a4 >> S47 ^ key[12]) * P1, (a5 ^ a5 >> S47 ^ key[13]) * P1
        a6, a7 = (a6 ^ a6 >> S47 ^ key[14]) * P1, (a7 ^ a7 >> S47 ^ key[15]) * P1
    h = _take(_take(_take(_take(P3, a0, key[0]), a1, key[1]), a2, key[2]), a3, key[3])
    return _take(_take(_take(_take(h, a4, key[4]), a5, key[5]), a6, key[6]), a7, key[7])


@inline
def hash_of(o: Octets, begin: int, end: int, key: U64) -> np.uint64:
    """The hash of [begin, end), 64 bits."""
    length = end - begin
    h = key[8] ^ np.uint64(length) * P1
    i = begin
    if length >= STRIPE:
        i = end - length % STRIPE
        h ^= _stripes(o, begin, i, key)
    k = 0
    while i + 8 <= end:
        h = _take(h, _word(o, i), key[k])
        i += 8
        k += 1
    if i < end:
        rest, by = np.uint64(0), np.uint64(0)
        while i < end:
            rest |= np.uint64(o[np.uint64(i)]) << by
            by += S8
            i += 1
        h = _take(h, rest, key[k])
    return _stir(h)


@kernel
def _bodies(octets: Octets, begin: I64, length: I64, masked: Bools, key: U64, found: I64) -> None:
    """The hash of each body, -1 where something in it is masked."""
    for frame in range(begin.size):
        at, end = begin[frame], begin[frame] + length[frame]
        found[frame] = np.int64(hash_of(octets, at, end, key) >> S1)
        if masked[frame]:
            for i in range(at, end):
                if octets[i] == MASKED:
                    found[frame] = -1
                    break


def body_hashes(octets: Octets, begin: I64, length: I64, masked: Bools, key: bytes) -> I64:
    """The hash of each body [begin, begin + length), 63 bits; -1 where it may have lost a secret.

    `masked` are frames of which something is masked. Whether that is in the body shows by the octets that masks have, so that it is the
    same whoever masked them, and when.
    """
    found = np.empty(len(begin), np.int64)
    _bodies(octets, begin, length, masked, words_of(key), found)
    return found
