"""Values that are secret whatever names them: JSON Web Tokens, and the user information of URLs.

A token is `eyJ`, the beginning of a JSON object in base64, and two dots at least (RFC 7519, JWS and JWE); user information is what stands
between `//` and `@` (RFC 3986, 3.2.1). What an earlier run has masked the beginning of begins with asterisks.
"""

from __future__ import annotations

import numpy as np

from stompcap.columns import Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import BACKSLASH, COLON, LF, NUL, SPACE, STAR
from stompcap.stomp.secret_lines import cover

SLASH, AT, DOT, LETTER_C, LETTER_E, LETTER_Y, LETTER_J = 47, 64, 46, 99, 101, 121, 74
SQUARE, QUESTION, HASH, EQUALS = 91, 63, 35, 61
LEAST_STARS, MANY_STARS = 3, 8
"""Of a token whose beginning is masked: where it has dots, and where it has none."""
MOST = 512
"""Octets of user information."""
IN_TOKEN = np.zeros(256, np.bool_)
IN_TOKEN[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=*")] = True
ENDS_URL = np.zeros(256, np.bool_)
ENDS_URL[: SPACE + 1] = True
ENDS_URL[list(b"\"'<>")] = True


@callee
def token_end(octets: Octets, begin: int, end: int, cut: bool) -> int:
    """Where the JSON Web Token ends that begins at `begin`, or -1 where there is none; `cut`: more octets than [begin, end) were sent."""
    plain = begin + 2 < end and octets[begin] == LETTER_E and octets[begin + 1] == LETTER_Y and octets[begin + 2] == LETTER_J
    i = begin
    while i < end and octets[i] == STAR:
        i += 1
    stars = i - begin
    if not plain and stars < LEAST_STARS:
        return -1
    dots = 0
    while i < end and IN_TOKEN[octets[i]]:
        dots += octets[i] == DOT
        i += 1
    if plain:
        return i if dots >= 2 or (cut and i == end) else -1
    return i if i > begin + stars and (dots > 0 or stars >= MANY_STARS) else -1


@callee
def user_end(octets: Octets, begin: int, end: int, cut: bool) -> int:
    """Where the user information ends that would begin behind the slashes at `begin`, before its @; -1 where there is none.

    A password that has slashes of its own is taken for one, where what precedes them is no port.
    """
    at = -1
    named = False
    port = octets[begin] == SQUARE
    i = begin
    while i < min(end, begin + MOST) and not ENDS_URL[octets[i]]:
        octet = octets[i]
        if octet == AT:
            at = i
        elif octet == SLASH or octet == QUESTION or octet == HASH:
            if at >= 0 or port or not named:
                return at
        elif octet == COLON or (octet == LETTER_C and octets[i - 1] == BACKSLASH):
            port = port or not named
            named = True
        elif named and octet != BACKSLASH and not 48 <= octet <= 57:
            port = octets[begin] == SQUARE
        i += 1
    return end if at < 0 and cut and i == end and named else at


@callee
def password_of(octets: Octets, begin: int, end: int) -> int:
    """Where the password begins in user information, behind a colon or the escape of one; `begin` where there is none."""
    for i in range(begin, end):
        if octets[i] == COLON or (octets[i] == LETTER_C and i > begin and octets[i - 1] == BACKSLASH):
            return i + 1
    return begin


@callee
def _scheme(octets: Octets, begin: int, slashes: int) -> bool:
    """Whether a scheme and its colon, or the escape of one, end at `slashes`."""
    i = slashes - 1
    if i > begin and octets[i] == LETTER_C and octets[i - 1] == BACKSLASH:
        i -= 1
    elif i <= begin or octets[i] != COLON:
        return False
    before = octets[i - 1] | 32
    named: bool = (97 <= before <= 122) | (48 <= before <= 57)
    return named


@callee
def value_at(octets: Octets, begin: int, i: int, end: int, cut: bool) -> tuple[int, int]:
    """The secret value to which the clue at `i` leads, in text that begins at `begin`: where it begins and ends; (-1, -1) without one."""
    if octets[i] == SLASH:
        if i + 2 < end and octets[i + 1] == SLASH and _scheme(octets, begin, i):
            stop = user_end(octets, i + 2, end, cut)
            if stop > i + 2:
                return i + 2, stop
    elif i == begin or not IN_TOKEN[octets[i - 1]] or octets[i - 1] == EQUALS:
        stop = token_end(octets, i, end, cut)
        if stop >= 0:
            return i, stop
    return -1, -1


@callee
def mask_values(octets: Octets, masked: Octets, begin: int, end: int, cut: bool, apply: bool) -> bool:
    """Mask the secret values in [begin, end), whatever it is; `cut`: more was sent behind it."""
    found = False
    i = begin
    while i < end:
        octet = octets[i]
        if octet == SLASH or octet == LETTER_E or octet == STAR:
            first, stop = value_at(octets, begin, i, end, cut)
            if first >= 0:
                found |= cover(octets, masked, first, stop, apply)
                i = stop
                continue
        i += 1
    return found


@callee
def in_value(octets: Octets, head: int, at: int) -> bool:
    """Whether `at` lies in a header's value, in the head that begins at `head`."""
    line = at
    while line > head and octets[line - 1] != LF and octets[line - 1] != NUL:
        line -= 1
    colon = line
    while colon < at and octets[colon] != COLON:
        colon += 1
    return line > head and colon < at
