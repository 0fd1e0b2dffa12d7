"""Where passcodes are: in header lines, and in frames that a broker spells out octet by octet.

A passcode line may begin at any line's start, in any case, with or without blanks around the name. Artemis quotes a frame that it refuses
as `P,A,S,S,C,O,D,E,:,s,e,c,r,e,t,10`: octets with commas between them, those below 33 as decimal numbers; in a header, the colon
is lost. A passcode's own commas and digits look like this spelling, so only an LF, spelled 10, ends its value.
"""

from __future__ import annotations

from stompcap.kernel import kernel
from stompcap.stomp.grammar import BACKSLASH, COLON, CR, LF, NUL, SPACE, STAR
from stompcap.stomp.octets import SECRET_OCTETS, Octets, fold, secret_value, skip_low

COMMA, ZERO, ONE, NINE, LETTER_C, LETTER_P = 44, 48, 49, 57, 99, 112
CLUE = 2
"""Letters of the word that are taken for its beginning where the octets end within it."""


@kernel
def line_end(octets: Octets, begin: int, end: int) -> int:
    """Where the line's text ends: before its LF or CRLF, or at `end`."""
    i = begin
    while i < end and octets[i] != LF:
        i += 1
    if i < end and i > begin and octets[i - 1] == CR:
        i -= 1
    return i


@kernel
def cover(octets: Octets, masked: Octets, begin: int, end: int, apply: bool) -> bool:
    """Whether [begin, end) has something to mask; masks it if `apply`. A NUL stays, so that rows keep their kind."""
    found = False
    for k in range(begin, end):
        if octets[k] != NUL:
            found = True
            if apply:
                masked[k] = STAR
    return found


@kernel
def mask_lines(octets: Octets, masked: Octets, begin: int, end: int, apply: bool) -> tuple[bool, bool]:
    """Mask the passcode lines of [begin, end): (whether one has a value, whether the last line may continue as one)."""
    found = False
    opened = False
    i = begin
    starts = True
    while i < end:
        if starts:
            # skip all blanks and control octets at once: a line that begins at any of them continues at the same place
            i = skip_low(octets, i, end)
            value, opened = secret_value(octets, i, end)
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


@kernel
def skip_spelled_blanks(octets: Octets, i: int, end: int) -> int:
    """Skip elements that are blanks or control octets but not LF: a space itself, or the number of an octet below 33."""
    while True:
        stop = i
        number = 0
        while stop < end and stop < i + 2 and ZERO <= octets[stop] <= NINE:
            number = 10 * number + int(octets[stop]) - ZERO
            stop += 1
        if stop == i and stop < end and octets[stop] == SPACE:
            stop += 1
        if stop == i or stop >= end or octets[stop] != COMMA or number > SPACE or number == LF:
            return i
        i = stop + 1


@kernel
def spelled_value(octets: Octets, begin: int, end: int) -> tuple[int, bool]:
    """For the word that may be spelled at `begin`: where its value begins, or -1; and whether the octets end within the word."""
    i = begin
    for k in range(SECRET_OCTETS.size):
        if i >= end:
            return -1, k >= CLUE
        if fold(octets[i]) != SECRET_OCTETS[k]:
            return -1, False
        if i + 1 >= end:
            return -1, k >= CLUE
        if octets[i + 1] != COMMA:
            return -1, False
        i += 2
    # a colon, its escape, or nothing where the colon was lost; any other octet begins a value all the same
    j = skip_spelled_blanks(octets, i, end)
    if j < end and octets[j] == COLON:
        i = j + 1
    elif j + 1 < end and octets[j] == BACKSLASH and octets[j + 1] == LETTER_C:
        i = j + 2
    elif j < end and octets[j] == COMMA:
        i = j
    if i < end and octets[i] == COMMA:
        i += 1
    return i, False


@kernel
def spelled_end(octets: Octets, begin: int, end: int) -> int:
    """Where the value that begins at `begin` ends: before the comma of the next element 10, at the line's end, or at `end`."""
    i = begin
    while i < end and octets[i] != LF:
        if (
            octets[i] == ONE and i + 1 < end and octets[i + 1] == ZERO and octets[i - 1] == COMMA
            and (i + 2 == end or octets[i + 2] == COMMA or octets[i + 2] == CR or octets[i + 2] == LF or octets[i + 2] == NUL)
        ):
            return max(begin, i - 1)
        i += 1
    return i - 1 if begin < i < end and octets[i - 1] == CR else i


@kernel
def mask_spelled(octets: Octets, masked: Octets, begin: int, end: int, apply: bool) -> tuple[bool, bool]:
    """Mask the passcodes spelled out in [begin, end), as `mask_lines`."""
    found = False
    opened = False
    i = begin
    while i < end:
        if octets[i] | 32 != LETTER_P:
            i += 1
            continue
        value, cut = spelled_value(octets, i, end)
        opened = opened or cut
        i += 1
        if value >= 0:
            i = spelled_end(octets, value, end)
            found |= cover(octets, masked, value, i, apply)
            opened = opened or i == end
    return found, opened


@kernel
def mask_all(octets: Octets, masked: Octets, begin: int, end: int, apply: bool) -> tuple[bool, bool]:
    """Mask passcodes of both forms in [begin, end), as `mask_lines`."""
    lines, open_line = mask_lines(octets, masked, begin, end, apply)
    spelled, open_spelling = mask_spelled(octets, masked, begin, end, apply)
    return lines or spelled, open_line or open_spelling
