"""Header lines with secret names, in heads and in what may be one: each octet of the value is covered.

A line may begin at any line's start, behind a CR or a NUL, with or without blanks around the name.
"""

from __future__ import annotations

from stompcap.columns import Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import BACKSLASH, CR, LF, NUL, STAR
from stompcap.stomp.octets import skip_low
from stompcap.stomp.secret_names import SecretNames, secret_value

LETTER_N, LETTER_R = 110, 114


@callee
def line_end(octets: Octets, begin: int, end: int) -> int:
    """Where the line's text ends: before its LF or CRLF, or at `end`."""
    i = begin
    while i < end and octets[i] != LF:
        i += 1
    if i < end and i > begin and octets[i - 1] == CR:
        i -= 1
    return i


@callee
def cover(octets: Octets, masked: Octets, begin: int, end: int, apply: bool) -> bool:
    """Whether [begin, end) has something to mask; masks it if `apply`. A NUL stays, so that rows keep their kind."""
    found = False
    for k in range(begin, end):
        if octets[k] != NUL:
            found = True
            if apply:
                masked[k] = STAR
    return found


@callee
def mask_lines(octets: Octets, masked: Octets, begin: int, end: int, names: SecretNames, apply: bool) -> tuple[bool, bool]:
    """Mask the secret lines of [begin, end): (whether one has a value, whether the last line may continue as one)."""
    found = False
    opened = False
    i = begin
    starts = True
    while i < end:
        if starts:
            # skip all blanks and control octets at once: a line that begins at any of them continues at the same place
            i = skip_low(octets, i, end)
            value, opened = secret_value(octets, i, end, names)
            if value >= 0:
                stop = line_end(octets, value, end)
                found |= cover(octets, masked, value, stop, apply)
                opened = stop == end
                i = stop
            if i >= end:
                break
        octet = octets[i]
        starts = octet == LF or octet == CR or octet == NUL
        i += 1
    return found, opened


@callee
def _quoted_end(octets: Octets, i: int, end: int, spelled: bool) -> tuple[int, int]:
    """Where a quoted line ends, and where the next one begins; `spelled`: an LF is written as a backslash and an n."""
    while i < end:
        if octets[i] == LF or octets[i] == NUL:
            return i, i + 1
        if octets[i] == CR and i + 1 < end and octets[i + 1] == LF:
            return i, i + 2
        if spelled and octets[i] == BACKSLASH and i + 1 < end and octets[i + 1] == LETTER_N:
            return i, i + 2
        if spelled and octets[i] == BACKSLASH and i + 3 < end and octets[i + 1] == LETTER_R and octets[i + 2] == BACKSLASH:
            return i, i + 4
        i += 1
    return end, end


@callee
def mask_quoted(octets: Octets, masked: Octets, begin: int, end: int, names: SecretNames, apply: bool) -> tuple[bool, int]:
    """Mask the secret lines of a frame that is quoted from `begin` on, its command's line first: (whether there were, where it ends)."""
    stop = begin
    while stop < end and 65 <= octets[stop] <= 90:
        stop += 1
    spelled = stop + 1 < end and octets[stop] == BACKSLASH and (octets[stop + 1] == LETTER_N or octets[stop + 1] == LETTER_R)
    text, line = _quoted_end(octets, stop, end, spelled)
    if text != stop or line == end:
        return False, stop
    found = False
    while line < end and octets[line - 1] != NUL:
        text, after = _quoted_end(octets, line, end, spelled)
        if text == line:
            break
        value, _ = secret_value(octets, line, text, names)
        if value >= 0:
            found |= cover(octets, masked, value, text, apply)
        line = after
    return found, line
