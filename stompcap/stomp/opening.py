"""Phases of the delimiter up to the body: EOLs and NULs between frames, the command line, header lines.

Peers of 1.0 are read leniently, as its documents ask for: a line of nothing but blanks and CRs is the blank line, and content-length
matches in any case where no line has it in lower case. A peer of 1.0 is one whose CONNECT offers no other version, or whose
CONNECTED has no version; its handshake is read leniently from its first line on.
"""

from __future__ import annotations

from stompcap import codes
from stompcap.columns import I64, U32, Octets
from stompcap.kernel import callee, inline
from stompcap.stomp import delimiter_io as r
from stompcap.stomp import phases as p
from stompcap.stomp.grammar import COLON, COMMAND_LIMIT, COMMAND_OCTET, CONNECT, CONNECTED, CR, LF, NUL, SPACE, STOMP, TAB, pack
from stompcap.stomp.lookahead import END, KNOWN, NO, WAIT, after_eols
from stompcap.stomp.octets import equals, fold, match_command, skip_blanks, trim_blanks
from stompcap.stomp.secret_names import SecretNames, is_secret, likely

CONTENT_LENGTH, ACCEPT_VERSION, VERSION, ONLY = (pack((word,))[0][0] for word in ("content-length", "accept-version", "version", "1.0"))
LETTER_A, LETTER_C, LETTER_V = 97, 99, 118


@callee
def between(octets: Octets, s: I64, end: int, closed: bool) -> bool:
    """The octet behind a row decides what begins there."""
    at = s[r.DONE]
    octet = octets[at]
    s[r.SYNTAX] = 0
    s[r.LINES] = 0
    s[r.BODY] = -1
    s[r.LENGTH] = p.NONE
    s[r.SEEN] = 0
    if octet == NUL:
        p.enter(s, p.NULS, at + 1)
    elif octet == LF:
        p.enter(s, p.EOLS, at + 1)
    elif octet == CR:
        if at + 1 == end and not closed:
            return False
        if at + 1 < end and octets[at + 1] == LF:
            p.enter(s, p.EOLS, at)
        else:
            p.junk_from(s, at, p.BARE_CR)
    else:
        p.enter(s, p.COMMAND, at)
    return True


@callee
def eols(octets: Octets, s: I64, end: int, closed: bool, out: I64, count: int) -> tuple[bool, int]:
    """A run of EOLs between frames."""
    begin = s[r.SEARCH]
    stop = after_eols(octets, begin, end)
    for i in range(begin, stop):
        if octets[i] == CR:
            s[r.SYNTAX] |= p.EOL_CR
            break
    s[r.SEARCH] = stop
    if not closed and (stop == end or (stop + 1 == end and octets[stop] == CR)):
        return False, count
    return True, p.emit(out, count, s, stop, codes.EOL, -1)


@callee
def nuls(octets: Octets, s: I64, end: int, closed: bool, out: I64, count: int) -> tuple[bool, int]:
    """A run of NULs between frames."""
    i = s[r.SEARCH]
    while i < end and octets[i] == NUL:
        i += 1
    s[r.SEARCH] = i
    if i == end and not closed:
        return False, count
    s[r.SYNTAX] |= p.STRAY_NUL
    return True, p.emit(out, count, s, i, codes.JUNK, -1)


@callee
def nul_in_head(octets: Octets, s: I64, nul: int, end: int, closed: bool, out: I64, count: int) -> tuple[int, int]:
    """A NUL before the blank line: junk where a frame follows it, a partial frame where nothing does, else (NO) part of the head."""
    verdict = p.after_nul(octets, s, nul, end, closed)
    if verdict == KNOWN:
        s[r.SYNTAX] |= p.NUL_IN_HEAD
        count = p.emit(out, count, s, nul + 1, codes.JUNK, -1)
    elif verdict == END:
        s[r.SYNTAX] |= p.NUL_IN_HEAD
        count = p.emit(out, count, s, end, codes.PARTIAL, -1)
    elif verdict == NO:
        s[r.SYNTAX] |= p.NUL_IN_HEAD
    return verdict, count


@callee
def command(octets: Octets, s: I64, end: int, closed: bool, out: I64, count: int) -> tuple[bool, int]:
    """The command line: a word of letters, perhaps blanks, LF or CRLF; anything else is junk."""
    begin = s[r.DONE]
    stop = begin
    limit = min(end, begin + COMMAND_LIMIT + 1)
    while stop < limit and COMMAND_OCTET[octets[stop]]:
        stop += 1
    blanks = skip_blanks(octets, stop, limit)
    first = octets[begin] & 0xDF
    if stop == begin or first < 65 or first > 90 or blanks - begin > COMMAND_LIMIT:
        p.junk_from(s, begin, 0)
        return True, count
    crlf = blanks < end and octets[blanks] == CR
    last = blanks + 1 if crlf else blanks
    if last >= end:
        if not closed:
            return False, count
        return True, p.emit(out, count, s, end, codes.PARTIAL, -1)
    if octets[last] != LF:
        if octets[last] == NUL and not crlf:
            verdict, count = nul_in_head(octets, s, last, end, closed, out, count)
            if verdict == WAIT:
                return False, count
            if verdict == NO:
                p.junk_from(s, last + 1, 0)
            return True, count
        p.junk_from(s, begin, p.BARE_CR if crlf else 0)
        return True, count
    s[r.COMMAND] = match_command(octets, begin, stop)
    s[r.SYNTAX] |= p.CRLF_LINE if crlf else p.LF_LINE
    s[r.LINE] = last + 1
    p.enter(s, p.HEAD, last + 1)
    return True, count


@callee
def declared_length(octets: Octets, begin: int, end: int) -> int:
    """The decimal in [begin, end), without the blanks around it, or INVALID."""
    begin = skip_blanks(octets, begin, end)
    end = trim_blanks(octets, begin, end)
    if begin == end:
        return p.INVALID
    value = 0
    for i in range(begin, end):
        digit = int(octets[i]) - 48
        if digit < 0 or digit > 9 or value > ((1 << 63) - 1 - digit) // 10:
            return p.INVALID
        value = value * 10 + digit
    return value


@callee
def _named(octets: Octets, line: int, stop: int, name: Octets, any_case: bool) -> bool:
    """Whether the header line [line, stop) has that name."""
    colon = line + name.size
    if colon >= stop or octets[colon] != COLON:
        return False
    if not any_case:
        return equals(octets, line, colon, name)
    for k in range(name.size):
        if fold(octets[line + k]) != name[k]:
            return False
    return True


@callee
def _offers_more(octets: Octets, line: int, stop: int, code: int) -> bool:
    """Whether the header line [line, stop) of a handshake frame names a version other than 1.0."""
    name = VERSION if code == CONNECTED else ACCEPT_VERSION
    if not _named(octets, line, stop, name, False):
        return False
    begin = skip_blanks(octets, line + name.size + 1, stop)
    return not equals(octets, begin, trim_blanks(octets, begin, stop), ONLY)


@callee
def _blank(octets: Octets, line: int, stop: int) -> bool:
    """Whether [line, stop) is nothing but spaces, tabs and CRs."""
    i = line
    while i < stop and (octets[i] == SPACE or octets[i] == TAB or octets[i] == CR):
        i += 1
    return i == stop


@inline
def _take_line(
    octets: Octets, s: I64, line: int, stop: int, seen: int, lenient: bool, handshake: bool, letters: U32, cared: U32,
    names: SecretNames,
) -> tuple[int, int]:
    """Take what the delimiter needs of the header line [line, stop): (what the head has had so far, syntax bits)."""
    colon = likely(octets, line, stop, letters, cared)
    if colon >= 0 and is_secret(octets, line, colon, names):
        return seen, p.PASSCODE
    first = octets[line]
    if first == LETTER_C and not seen & p.EXACT_LENGTH and _named(octets, line, stop, CONTENT_LENGTH, False):
        s[r.LENGTH] = declared_length(octets, line + CONTENT_LENGTH.size + 1, stop)
        return seen | p.EXACT_LENGTH, 0
    if lenient and s[r.LENGTH] == p.NONE and fold(first) == LETTER_C and _named(octets, line, stop, CONTENT_LENGTH, True):
        s[r.LENGTH] = declared_length(octets, line + CONTENT_LENGTH.size + 1, stop)
    elif handshake and (first == LETTER_A or first == LETTER_V) and _offers_more(octets, line, stop, s[r.COMMAND]):
        return seen | p.OFFERS_MORE, 0
    return seen, 0


@inline
def _note(s: I64, syntax: int, lines: int, seen: int, every: int) -> None:
    """Note how far a head was read; `every` is the bitwise or of its octets."""
    s[r.SYNTAX] = syntax | p.NON_ASCII if every >= 128 else syntax
    s[r.LINES] = lines
    s[r.SEEN] = seen


@inline
def _begin_body(s: I64, at: int) -> None:
    """Begin the body behind the blank line."""
    s[r.BODY] = at
    if s[r.LENGTH] >= 0:
        p.enter(s, p.BODY_BY_LENGTH, at)
    else:
        if s[r.LENGTH] == p.INVALID:
            s[r.SYNTAX] |= p.LENGTH_INVALID
        p.enter(s, p.BODY_TO_NUL, at)


@callee
def head(octets: Octets, s: I64, end: int, closed: bool, names: SecretNames, out: I64, count: int) -> tuple[bool, int]:
    """Header lines up to the blank one, behind which the body begins."""
    i = s[r.SEARCH]
    line = s[r.LINE]
    syntax = s[r.SYNTAX]
    lines = s[r.LINES]
    seen = s[r.SEEN]
    code = s[r.COMMAND]
    handshake = code == CONNECT or code == STOMP or code == CONNECTED
    lenient = (s[r.LENIENT] != 0 and not handshake) or (handshake and seen & p.OFFERS_MORE == 0)
    letters, cared = names.letters, names.cared
    every = 0
    blank = False
    while i < end:
        octet = octets[i]
        every |= octet
        if octet > CR:
            i += 1
        elif octet == LF:
            stop = i
            if stop > line and octets[stop - 1] == CR:
                stop -= 1
                syntax |= p.CRLF_LINE
            else:
                syntax |= p.LF_LINE
            i += 1
            if stop == line or (lenient and octets[line] <= SPACE and _blank(octets, line, stop)):
                syntax |= p.BLANK_PADDED if stop > line else 0
                blank = True
                break
            lines += 1
            seen, more = _take_line(octets, s, line, stop, seen, lenient, handshake, letters, cared, names)
            syntax |= more
            lenient = lenient and not (handshake and seen & p.OFFERS_MORE)
            line = i
        elif octet == CR:
            if i + 1 == end and not closed:
                break
            if i + 1 == end or octets[i + 1] != LF:
                syntax |= p.BARE_CR
            i += 1
        elif octet == NUL:
            _note(s, syntax, lines, seen, every)
            verdict, count = nul_in_head(octets, s, i, end, closed, out, count)
            if verdict in (KNOWN, END):
                return True, count
            if verdict == WAIT:
                break
            syntax |= p.NUL_IN_HEAD
            i += 1
        else:
            i += 1
    _note(s, syntax, lines, seen, every)
    s[r.LINE] = line
    s[r.SEARCH] = i
    if not blank:
        if not closed:
            return False, count
        return True, p.emit(out, count, s, end, codes.PARTIAL, -1)
    if handshake and s[r.FOOTING] != r.FOUND:
        s[r.LENIENT] = lenient
    _begin_body(s, i)
    return True, count
