r"""Secrets that a text names: `passcode=...`, `"token": "..."`, `{login=bob, password=...}`, `Authorization: ...`.

A name is what stands before a colon or an equals sign, with or without quotes around it; a colon may be written as the escape `\c`. The
value goes up to the quote or bracket that closes it, or, without either, to a comma and a blank, an ampersand, a quote, a closing bracket
or the line's end; behind a colon without a blank, to a blank at most. Names of exceptions (`BadCredentialsException: ...`) and of source
files name no secret.
"""

from __future__ import annotations

import numpy as np

from stompcap.columns import Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import BACKSLASH, COLON, CR, LF, NUL, SPACE
from stompcap.stomp.octets import equals, matching
from stompcap.stomp.secret_lines import cover, line_end
from stompcap.stomp.secret_names import ALWAYS, CLASS_OF, LEFT_OUT, OTHER, SecretNames, is_secret, verdict

COMMA, EQUALS, GREATER, DOT, LETTER_C = 44, 61, 62, 46, 99
DOUBLE, SINGLE, SQUARE, CURLY, ROUND = 34, 39, 91, 123, 40
CLOSING = np.zeros(256, np.uint8)
CLOSING[[SQUARE, CURLY, ROUND]] = [93, 125, 41]
IN_WORD = np.zeros(256, np.bool_)
IN_WORD[CLASS_OF != OTHER] = True
ENDS_VALUE = np.zeros(256, np.bool_)
ENDS_VALUE[list(b"\n\r\0&\"'")] = True
CLOSES = np.zeros(256, np.bool_)
CLOSES[list(b")]}")] = True
SCHEMES = tuple(np.frombuffer(word, np.uint8).copy() for word in (b"basic", b"bearer", b"digest", b"token", b"negotiate"))
NO_SECRETS = tuple(np.frombuffer(word, np.uint8).copy() for word in (b"Exception", b"Error"))


@callee
def _spells_break(octets: Octets, i: int, end: int) -> bool:
    """Whether a backslash and an n, r or t begin at `i`: a line's end, or a tab, as strings spell them."""
    return i + 1 < end and octets[i] == BACKSLASH and (octets[i + 1] == 110 or octets[i + 1] == 114 or octets[i + 1] == 116)


@callee
def _exception(octets: Octets, begin: int, end: int) -> bool:
    """Whether a word is the name of an exception's class."""
    for suffix in NO_SECRETS:
        if end - begin > suffix.size and equals(octets, end - suffix.size, end, suffix):
            return True
    return False


@callee
def _last_part(octets: Octets, begin: int, end: int) -> int:
    """Where the part of a word behind its last dot begins."""
    i = end
    while i > begin and octets[i - 1] != DOT:
        i -= 1
    return i


@callee
def _behind_name(octets: Octets, i: int, end: int) -> tuple[int, int, bool]:
    """Behind a name: where its value begins, or -1; the sign between them; whether the name was quoted."""
    quoted = False
    while i < end:
        octet = octets[i]
        escaped_quote = octet == BACKSLASH and i + 1 < end and (octets[i + 1] == DOUBLE or octets[i + 1] == SINGLE)
        if octet != DOUBLE and octet != SINGLE and not escaped_quote:
            break
        quoted = True
        i += 1
    while i < end and octets[i] <= SPACE and octets[i] != NUL and (quoted or (octets[i] != LF and octets[i] != CR)):
        i += 1
    if i + 1 < end and octets[i] == BACKSLASH and octets[i + 1] == LETTER_C:
        sign = COLON
        i += 2
    elif i < end and (octets[i] == COLON or octets[i] == EQUALS):
        sign = int(octets[i])
        i += 1
    else:
        return -1, 0, quoted
    while i < end and (octets[i] == EQUALS or octets[i] == GREATER):
        i += 1
    while i < end and octets[i] <= SPACE and octets[i] != NUL and (quoted or (octets[i] != LF and octets[i] != CR)):
        i += 1
    return i, sign, quoted


@callee
def _closing_quote(octets: Octets, i: int, end: int, quote: int, escaped: bool) -> int:
    """Where a quoted string ends that goes on at `i`, before its quote or the backslash of that, or at `end` or a NUL."""
    while i < end and octets[i] != NUL:
        if octets[i] == BACKSLASH:
            if escaped and i + 1 < end and octets[i + 1] == quote:
                return i
            i += 4 if escaped and i + 3 < end and octets[i + 1] == BACKSLASH else 2
            continue
        if octets[i] == quote:
            return i
        i += 1
    return min(i, end)


@callee
def _closing_bracket(octets: Octets, i: int, end: int) -> int:
    """Where the bracket at `i` is closed, or `end` or a NUL."""
    opening = octets[i]
    closing = CLOSING[opening]
    depth = 0
    while i < end and octets[i] != NUL:
        if octets[i] == opening:
            depth += 1
        elif octets[i] == closing:
            depth -= 1
            if depth == 0:
                return i
        i += 1
    return i


@callee
def _plain_end(octets: Octets, i: int, end: int) -> int:
    """Where a value without quotes ends."""
    while i < end:
        octet = octets[i]
        if ENDS_VALUE[octet] or _spells_break(octets, i, end):
            break
        if (octet == COMMA or CLOSES[octet]) and (
            i + 1 == end or octets[i + 1] <= SPACE or octets[i + 1] == COMMA or octets[i + 1] == DOT or CLOSES[octets[i + 1]]
            or ENDS_VALUE[octets[i + 1]] or octets[i + 1] == BACKSLASH
        ):
            break
        i += 1
    return i


@callee
def _value_end(octets: Octets, i: int, end: int) -> tuple[int, int]:
    """Where the value at `i` begins and ends, without its quotes or brackets."""
    octet = octets[i]
    if octet == DOUBLE or octet == SINGLE:
        return i + 1, _closing_quote(octets, i + 1, end, octet, False)
    if octet == BACKSLASH and i + 1 < end and (octets[i + 1] == DOUBLE or octets[i + 1] == SINGLE):
        return i + 2, _closing_quote(octets, i + 2, end, octets[i + 1], True)
    if CLOSING[octet]:
        return i + 1, _closing_bracket(octets, i, end)
    return i, _plain_end(octets, i, end)


@callee
def _word_end(octets: Octets, i: int, end: int) -> int:
    """Where a word without blanks ends, behind the name of a scheme of HTTP's that begins it, before `end`."""
    begin = i
    while i < end and octets[i] > SPACE:
        i += 1
    for scheme in SCHEMES:
        if i - begin == scheme.size and i < end and matching(octets, begin, i, scheme) == scheme.size:
            i += 1
            while i < end and octets[i] > SPACE:
                i += 1
            return i
    return i


@callee
def _starts_line(octets: Octets, begin: int, i: int) -> bool:
    """Whether nothing but blanks stands before `i` on its line."""
    while i > begin and octets[i - 1] <= SPACE and octets[i - 1] != LF:
        i -= 1
    return i == begin or octets[i - 1] == LF


@callee
def mask_named(
    octets: Octets, masked: Octets, begin: int, word: int, end: int, names: SecretNames, strict: bool, apply: bool
) -> tuple[bool, int]:
    """Mask the value that the word at `word` names, in the text [begin, end): (whether it has one, where to go on).

    `strict`: only the passcode's, and only behind an equals sign or a quoted name.
    """
    if word > begin and _spells_break(octets, word - 1, end):
        word += 1  # the letter of an escape
    stop = word
    state = flags = 0
    while stop < end and IN_WORD[octets[stop]]:
        kind = CLASS_OF[octets[stop]]
        if kind != LEFT_OUT:
            state = names.after[state, kind]
            flags |= names.found[state]
        stop += 1
    if not verdict(flags | names.ends[state]) or (strict and not flags & ALWAYS):
        return False, stop
    value, sign, quoted = _behind_name(octets, stop, end)
    if value < 0 or value >= end or (strict and sign == COLON and not quoted):
        return False, stop
    plain = not quoted and sign == COLON
    if plain and _exception(octets, word, stop):
        return False, stop
    first, last = _value_end(octets, value, end)
    if plain and _starts_line(octets, begin, word):
        first, last = value, line_end(octets, value, end)
    elif plain and not is_secret(octets, _last_part(octets, word, stop), stop, names):
        return False, stop
    elif plain and first == value and octets[value - 1] > SPACE:
        last = _word_end(octets, first, last)
    return cover(octets, masked, first, last, apply), max(last, stop)


@callee
def mask_text(octets: Octets, masked: Octets, begin: int, end: int, names: SecretNames, apply: bool) -> bool:
    """Mask the secrets that the text [begin, end) names."""
    found = False
    i = begin
    while i < end:
        if IN_WORD[octets[i]]:
            more, i = mask_named(octets, masked, begin, i, end, names, False, apply)
            found |= more
        else:
            i += 1
    return found
