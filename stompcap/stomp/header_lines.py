"""One header line: its name and its value, copied and unescaped, and the blanks around them (STOMP 1.2, Value Encoding)."""

from __future__ import annotations

import numpy as np

from stompcap.columns import Octets
from stompcap.kernel import callee, inline
from stompcap.stomp import grammar as g
from stompcap.stomp.names import MAY_NOT_PAD, PRIME, digest_of, name_id
from stompcap.stomp.octets import skip_blanks, trim_blanks
from stompcap.stomp.syntax import Syntax
from stompcap.stomp.texts import CLASS, COLON_BIT, finish

EMPTY_VALUE, RAW_COLON, PADDED = int(Syntax.EMPTY_VALUE), int(Syntax.RAW_COLON), int(Syntax.PADDED)
_MASK = np.frombuffer(g.MASK.encode(), np.uint8).copy()


@callee
def line_end(octets: Octets, i: int) -> int:
    """Where blanks and CRs from i on end."""
    while octets[i] == g.SPACE or octets[i] == g.TAB or octets[i] == g.CR:
        i += 1
    return i


@callee
def trim_line(octets: Octets, begin: int, end: int) -> int:
    """End of [begin, end) without blanks and CRs at its end."""
    while end > begin and (octets[end - 1] == g.SPACE or octets[end - 1] == g.TAB or octets[end - 1] == g.CR):
        end -= 1
    return end


@inline
def take_name(octets: Octets, i: int, names: Octets, begin: int, escapes: int) -> tuple[int, int, int, int]:
    """Copy the name at i, up to the colon or, without one, the line's end: (what ends it, where the copy ends, digest, bits)."""
    end = begin
    bits = kinds = digest = 0
    octet = octets[i]
    while octet != g.COLON and octet != g.LF:
        names[end] = octet
        kinds |= CLASS[octet]
        digest = (digest ^ octet) * PRIME & 0xFFFFFFFF
        end += 1
        i += 1
        octet = octets[i]
    colon = octet == g.COLON
    if not colon and octets[i - 1] == g.CR:
        end -= 1
    if kinds:
        end, bits = finish(names, begin, end, kinds, escapes)
    if kinds or not colon:
        return i, end, digest_of(names, begin, end), bits
    return i, end, digest ^ (digest >> 15), bits


@inline
def take_value(octets: Octets, i: int, values: Octets, start: int, escapes: int, masked: bool) -> tuple[int, int, int]:
    """Copy the value at i, up to the line's end: (where that is, where the copy ends, without a CR at the line's end, syntax bits)."""
    end = start
    bits = kinds = 0
    octet = octets[i]
    while octet != g.LF:
        values[end] = octet
        kinds |= CLASS[octet]
        end += 1
        i += 1
        octet = octets[i]
    if end > start and octets[i - 1] == g.CR:
        end -= 1
    if end == start:
        bits |= EMPTY_VALUE
    if masked:
        # nothing of the value is shown, not even its length
        end = start + _MASK.size
        for k in range(_MASK.size):
            values[start + k] = _MASK[k]
    elif kinds:
        if kinds & COLON_BIT:
            bits |= RAW_COLON
        end, more = finish(values, start, end, kinds, escapes)
        bits |= more
    return i, end, bits


@callee
def shorten(values: Octets, begin: int, end: int) -> int:
    """Leave of each run of asterisks longer than the mask no more than it, as a secret's length is not shown: the new end."""
    to = begin
    run = 0
    for i in range(begin, end):
        run = run + 1 if values[i] == g.STAR else 0
        if run <= _MASK.size:
            values[to] = values[i]
            to += 1
    return to


@inline
def without_blanks(
    names: Octets, begin: int, name_end: int, values: Octets, start: int, end: int, version: int, known: int
) -> tuple[int, int, int]:
    """Where the effective value of an entry begins and ends, and PADDED if blanks are around a name or value that must have none."""
    value_begin, value_stop = start, end
    word = known
    padded = False
    if name_end > begin and (names[begin] <= g.SPACE or names[name_end - 1] <= g.SPACE):
        inner = skip_blanks(names, begin, name_end)
        word = name_id(names, inner, trim_blanks(names, inner, name_end))
        padded = True
    if end > start and (values[start] <= g.SPACE or values[end - 1] <= g.SPACE):
        trimmed = skip_blanks(values, start, end)
        trimmed_end = trim_blanks(values, trimmed, end)
        padded = padded or trimmed_end - trimmed != end - start
        if version == 0:
            value_begin, value_stop = trimmed, max(trimmed, trim_line(values, trimmed, end))
    return value_begin, value_stop, PADDED if padded and word >= 0 and MAY_NOT_PAD[word] else 0
