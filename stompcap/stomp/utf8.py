"""UTF-8 with nothing dropped: undecodable octets stay visible as backslash, x and two hexadecimal digits."""

from __future__ import annotations

import numpy as np

from stompcap.columns import Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import BACKSLASH
from stompcap.stomp.octets import BLOCK

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8).copy()
ESCAPED = 4
"""Length of an escaped undecodable octet."""
PLAIN = 32


@callee
def sequence(octets: Octets, i: int, end: int) -> int:
    """Length of the well-formed character at i (RFC 3629, section 4), or 0; -1 for one that is well-formed so far and cut by `end`."""
    first = octets[i]
    if first < 0x80:
        return 1
    if first < 0xC2 or first > 0xF4:
        return 0
    length = 2 if first < 0xE0 else (3 if first < 0xF0 else 4)
    low, high = 0x80, 0xBF
    if first == 0xE0:
        low = 0xA0
    elif first == 0xED:
        high = 0x9F
    elif first == 0xF0:
        low = 0x90
    elif first == 0xF4:
        high = 0x8F
    for k in range(1, length):
        if i + k >= end:
            return -1
        octet = octets[i + k]
        if octet < low or octet > high:
            return 0
        low, high = 0x80, 0xBF
    return length


@callee
def is_ascii(octets: Octets, begin: int, end: int) -> bool:
    """Whether no octet of [begin, end) is above 127; whole blocks at once."""
    i = begin
    while i + BLOCK <= end:
        every = np.uint8(0)
        for k in range(BLOCK):
            every |= octets[i + k]
        if every >= 128:
            return False
        i += BLOCK
    every = np.uint8(0)
    while i < end:
        every |= octets[i]
        i += 1
    return bool(every < 128)


@callee
def is_utf8(octets: Octets, begin: int, end: int) -> bool:
    """Whether [begin, end) is well-formed UTF-8."""
    i = begin
    plain = 0
    while i < end:
        if octets[i] < 128:
            i += 1
            plain += 1
            # try whole blocks where the last octets were ASCII
            if plain == PLAIN:
                plain = 0
                while i + BLOCK <= end and is_ascii(octets, i, i + BLOCK):
                    i += BLOCK
            continue
        plain = 0
        step = sequence(octets, i, end)
        if step <= 0:
            return False
        i += step
    return True


@callee
def escape(octets: Octets, begin: int, end: int, out: Octets, at: int) -> int:
    """Copy [begin, end) to `out` from `at` on, undecodable octets escaped; gives the end of the copy."""
    i = begin
    while i < end:
        step = sequence(octets, i, end)
        if step > 0:
            for k in range(step):
                out[at + k] = octets[i + k]
            at += step
            i += step
        else:
            out[at] = BACKSLASH
            out[at + 1] = 120
            out[at + 2] = _HEX[octets[i] >> 4]
            out[at + 3] = _HEX[octets[i] & 15]
            at += ESCAPED
            i += 1
    return at
