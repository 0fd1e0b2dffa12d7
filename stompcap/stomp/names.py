"""Names of headers: recognised exactly or in any case; digests to find repeats by."""

from __future__ import annotations

import numpy as np

from stompcap.columns import Octets
from stompcap.kernel import callee
from stompcap.stomp import grammar as g
from stompcap.stomp.octets import equals, fold

# by length, so that a header is compared with few names
NAMES = tuple(sorted(g.LENIENT_NAMES, key=len))
_OCTETS, _LENGTHS = g.pack(NAMES)
_LONGEST = int(_LENGTHS.max())
_FIRST_OF_LENGTH = np.searchsorted(_LENGTHS, np.arange(_LONGEST + 2))

PROMOTED_IDS = np.array([NAMES.index(n) for n in g.PROMOTED])
"""Of the promoted headers, in their order: index in NAMES."""
STRUCTURAL = np.array([n in g.STRUCTURAL for n in NAMES])
MAY_NOT_PAD = np.array([n in g.UNPADDED for n in NAMES])

PRIME = 0x01000193


@callee
def digest_of(octets: Octets, begin: int, end: int) -> int:
    """A digest of [begin, end): the product and sum that `heads` forms while it copies a name."""
    value = 0
    for i in range(begin, end):
        value = (value ^ octets[i]) * PRIME & 0xFFFFFFFF
    return value ^ (value >> 15)


@callee
def same(octets: Octets, begin: int, end: int, other: int, other_end: int) -> bool:
    """Whether [begin, end) and [other, other_end) contain the same octets."""
    if end - begin != other_end - other:
        return False
    for k in range(end - begin):
        if octets[begin + k] != octets[other + k]:
            return False
    return True


@callee
def name_id(octets: Octets, begin: int, end: int) -> int:
    """Index in NAMES, or -1."""
    length = end - begin
    if length < 1 or length > _LONGEST:
        return -1
    for word in range(_FIRST_OF_LENGTH[length], _FIRST_OF_LENGTH[length + 1]):
        if octets[begin] == _OCTETS[word, 0] and equals(octets, begin, end, _OCTETS[word, :length]):
            return word
    return -1


@callee
def _is(octets: Octets, begin: int, end: int, word: int) -> bool:
    """Whether [begin, end) is that name in any case; the lengths must agree."""
    for k in range(end - begin):
        if fold(octets[begin + k]) != _OCTETS[word, k]:
            return False
    return True


@callee
def any_case_id(octets: Octets, begin: int, end: int) -> int:
    """As `name_id`, in any case."""
    length = end - begin
    if length < 1 or length > _LONGEST:
        return -1
    for word in range(_FIRST_OF_LENGTH[length], _FIRST_OF_LENGTH[length + 1]):
        if _is(octets, begin, end, word):
            return word
    return -1

