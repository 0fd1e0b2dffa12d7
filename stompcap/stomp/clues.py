"""Secrets that no header's name tells, in frames: tokens and URLs in values of heads, and what frames quoted in bodies give."""

from __future__ import annotations

import numpy as np

from stompcap import codes
from stompcap.columns import Octets
from stompcap.kernel import callee, inline
from stompcap.stomp.grammar import BACKSLASH, CR, ERROR, LF, NUL
from stompcap.stomp.octets import equals
from stompcap.stomp.secret_lines import cover, mask_quoted
from stompcap.stomp.secret_names import LONGEST, SecretNames
from stompcap.stomp.secret_texts import IN_WORD, mask_named
from stompcap.stomp.secret_values import LETTER_E, LETTER_J, LETTER_Y, SLASH, in_value, value_at
from stompcap.stomp.syntax import Syntax

MASKED, LOGIN = 1, 2
"""Bits of what was found in a row: something was masked; the login of a CONNECT among it, which is a JSON Web Token."""
BLOCK = 32
BLANK_PADDED = int(Syntax.BLANK_PADDED)
LETTER_A, LETTER_C, LETTER_N, LETTER_R = 97, 67, 110, 114
STOMP_SIZE, CONNECT_SIZE = 5, 7
LOGIN_OCTETS = np.frombuffer(b"login:", np.uint8).copy()
FAR = 4096
"""Octets that are searched back for the command of a quoted frame."""


@inline
def _some(octets: Octets, begin: int) -> bool:
    """Whether a block has `//` or `yJ`."""
    one, two = octets[begin : begin + BLOCK], octets[begin + 1 : begin + BLOCK + 1]
    some = np.uint8(0)
    for k in range(BLOCK):
        a, b = one[k], two[k]
        some |= (np.uint8(a == SLASH) & np.uint8(b == SLASH)) | (np.uint8(a == LETTER_Y) & np.uint8(b == LETTER_J))
    found: bool = some != 0
    return found


@callee
def may_have_values(octets: Octets, begin: int, end: int) -> bool:
    """Whether the head [begin, end) may have a token or a URL; blocks overlap where that saves single steps."""
    i = begin
    while i + BLOCK < end:
        if _some(octets, i):
            return True
        i += BLOCK
    if end - BLOCK - 1 >= begin:
        return _some(octets, end - BLOCK - 1)
    while i + 1 < end:
        if (octets[i] == SLASH and octets[i + 1] == SLASH) or (octets[i] == LETTER_Y and octets[i + 1] == LETTER_J):
            return True
        i += 1
    return False


@callee
def _at_login(octets: Octets, begin: int, at: int) -> bool:
    """Whether a value that begins at `at` is that of the header `login`, in the head at `begin`."""
    first = at - LOGIN_OCTETS.size
    return first > begin and octets[first - 1] == LF and equals(octets, first, at, LOGIN_OCTETS)


@callee
def mask_head_values(octets: Octets, masked: Octets, begin: int, end: int, apply: bool) -> int:
    """Mask tokens and URLs' user information in the values of the head [begin, end): bits of what was found."""
    found = 0
    i = begin
    while i < end:
        octet = octets[i]
        if (octet == SLASH or octet == LETTER_E) and in_value(octets, begin, i):
            first, stop = value_at(octets, begin, i, end - 1, False)
            if first >= 0:
                found |= MASKED if cover(octets, masked, first, stop, apply) else 0
                found |= LOGIN if octet == LETTER_E and _at_login(octets, begin, first) else 0
                i = stop
                continue
        i += 1
    return found


@callee
def _word(octets: Octets, first: int, at: int) -> int:
    """Where the word begins that has `at`."""
    word = at
    while word > first and word > at - LONGEST and IN_WORD[octets[word - 1]]:
        word -= 1
    return word


@callee
def _line_before(octets: Octets, first: int, i: int) -> int:
    """Where the text of the line before the one that begins at `i` ends, or -1; an LF may be spelled as a backslash and an n."""
    if i > first and octets[i - 1] == LF:
        return i - 2 if i > first + 1 and octets[i - 2] == CR else i - 1
    if i > first + 1 and octets[i - 1] == LETTER_N and octets[i - 2] == BACKSLASH:
        return i - 4 if i > first + 3 and octets[i - 3] == LETTER_R and octets[i - 4] == BACKSLASH else i - 2
    return -1


@callee
def _command(octets: Octets, first: int, at: int) -> int:
    """Where the command of the frame begins that has a header at `at`: a line before it that ends in a word of a CONNECT; or -1."""
    i = at
    while i > first and i > at - FAR and octets[i - 1] != NUL:
        stop = _line_before(octets, first, i)
        if stop >= 0:
            word = stop
            while word > first and 65 <= octets[word - 1] <= 90:
                word -= 1
            if stop - word == STOMP_SIZE or stop - word == CONNECT_SIZE:
                return word
        i -= 1
    return -1


@callee
def mask_clue(
    octets: Octets, masked: Octets, at: int, first: int, end: int, names: SecretNames, apply: bool
) -> tuple[bool, int]:
    """Mask what the clue at `at` leads to, in the body [first, end): (whether there was something, where to go on)."""
    octet = octets[at]
    if octet == LETTER_C or octet == LETTER_A:
        command = at if octet == LETTER_C else _command(octets, first, at)
        if command < 0:
            return False, at + 1
        return mask_quoted(octets, masked, command, end, names, apply)
    return mask_named(octets, masked, first, _word(octets, first, at), end, names, True, apply)


@callee
def searched_whole(kind: int, command: int, syntax: int, body: int) -> bool:
    """Whether a row is searched as a whole (`marks.mask_all`), so that clues tell nothing of it."""
    if kind == codes.FRAME:
        return command == ERROR or syntax & BLANK_PADDED != 0
    return kind != codes.PARTIAL or body < 0 or command == ERROR
