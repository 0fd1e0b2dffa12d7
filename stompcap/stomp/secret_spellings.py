"""Secrets in frames that a broker spells out octet by octet.

Artemis quotes a frame that it refuses as `P,A,S,S,C,O,D,E,:,s,e,c,r,e,t,10`: octets with commas between them, those below 33 as decimal
numbers; in a header, the colon is lost. A value's own commas and digits look like this spelling, so only an LF, spelled 10, ends it.
"""

from __future__ import annotations

from stompcap.columns import Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import BACKSLASH, COLON, CR, LF, NUL, SPACE
from stompcap.stomp.secret_lines import cover
from stompcap.stomp.secret_names import CLASS_OF, LEFT_OUT, OTHER, SecretNames, verdict

COMMA, ZERO, ONE, NINE, LETTER_C = 44, 48, 49, 57, 99
CLUE = 4
"""Octets that are taken for the beginning of a name where they end within it."""


@callee
def _digit(octet: int) -> bool:
    return ZERO <= octet <= NINE


@callee
def skip_spelled_blanks(octets: Octets, i: int, end: int) -> int:
    """Skip elements that are blanks or control octets but not LF: a space itself, or the number of an octet below 33."""
    while True:
        stop = i
        number = 0
        while stop < end and stop < i + 2 and _digit(octets[stop]):
            number = 10 * number + int(octets[stop]) - ZERO
            stop += 1
        if stop == i and stop < end and octets[stop] == SPACE:
            stop += 1
        if stop == i or stop >= end or octets[stop] != COMMA or number > SPACE or number == LF:
            return i
        i = stop + 1


@callee
def _ends_line(octets: Octets, i: int) -> bool:
    """Whether an element 10 ends at the comma at `i`."""
    return octets[i - 1] == ZERO and octets[i - 2] == ONE and not _digit(octets[i - 3])


@callee
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


@callee
def _behind_colon(octets: Octets, i: int, end: int) -> int:
    """Where the value begins behind a name: past a colon, its escape, or nothing where it was lost; other octets are the value's."""
    j = skip_spelled_blanks(octets, i, end)
    if j < end and octets[j] == COLON:
        i = j + 1
    elif j + 1 < end and octets[j] == BACKSLASH and octets[j + 1] == LETTER_C:
        i = j + 2
    elif j < end and octets[j] == COMMA:
        i = j
    if i < end and octets[i] == COMMA:
        i += 1
    return i


@callee
def spelled_value(octets: Octets, begin: int, end: int, names: SecretNames) -> tuple[int, int, bool]:
    """For what is spelled from `begin` on, up to its next LF: where a secret value begins, or -1; where to go on; whether the name is cut.

    Behind a word that makes a name secret, all is taken for the value: its colon may be lost.
    """
    i = begin
    state = flags = 0
    while i < end:
        octet = octets[i]
        if octet <= SPACE and octet != SPACE:
            return -1, i, False
        whole = i + 1 == end or octets[i + 1] == COMMA
        if octet == COMMA or octet == COLON or (octet == BACKSLASH and i + 1 < end and octets[i + 1] == LETTER_C):
            ended = verdict(flags | names.ends[state])
            return (_behind_colon(octets, i, end) if ended else -1), i, False
        if not whole:
            # a number: 10 ends the line, another below 33 is a blank
            stop = i
            while stop < end and stop < i + 4 and octets[stop] != COMMA and octets[stop] > SPACE:
                stop += 1
            if stop == i + 4 or (stop < end and octets[stop] != COMMA):
                return -1, i + 1, False
            if stop == i + 2 and octet == ONE and octets[i + 1] == ZERO:
                return -1, stop + 1, False
            if not _digit(octet):  # one above 127
                state = names.after[state, OTHER]
            i = stop + 1
            continue
        kind = CLASS_OF[octet]
        if kind != LEFT_OUT and octet != SPACE:
            state = names.after[state, kind]
            flags |= names.found[state]
        i = min(i + 2, end)
        if verdict(flags):
            return (_behind_colon(octets, i, end) if i < end else -1), i, i == end
    return -1, end, end - begin >= CLUE


@callee
def mask_spelled(octets: Octets, masked: Octets, begin: int, end: int, names: SecretNames, apply: bool) -> tuple[bool, bool]:
    """Mask the secrets spelled out in [begin, end): (whether one has a value, whether the last line may continue as one)."""
    found = False
    opened = False
    i = begin
    while i < end:
        # an element of one octet begins here, and is the first of its line
        first = i + 1 < end and octets[i + 1] == COMMA and octets[i] > SPACE and octets[i] != COMMA
        if first and i > begin:
            before = octets[i - 1]
            first = not _digit(before) and (before != COMMA or (i >= begin + 4 and _ends_line(octets, i - 1)))
        if not first:
            i += 1
            continue
        value, behind, cut = spelled_value(octets, i, end, names)
        opened = cut
        i = max(behind, i + 1)
        if value >= 0:
            i = spelled_end(octets, value, end)
            found |= cover(octets, masked, value, i, apply)
            opened = i == end
    return found, opened
