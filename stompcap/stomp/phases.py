"""The delimiter's phases: what is done with the octets of one contiguous stretch, one kernel for each thing it may be amid.

A phase takes the state `s` of one direction (fields as in `rows`, all places counted in the buffer), the end of the stretch, whether the
stretch is closed there (a gap or the end follows: nothing more is waited for) and whether that is the stream's end. It gives
True where it got on, False where it needs more octets, and writes whole rows through `emit`. Searches resume at SEARCH and LOOK: each
octet is looked at a bounded number of times however small the chunks are.
"""

from __future__ import annotations

from stompcap.kernel import kernel
from stompcap.stomp import rows as r
from stompcap.stomp.grammar import BODY_ALLOWED, COLON, COMMAND_LIMIT, COMMAND_OCTET, CR, LF, NUL, SPACE, pack
from stompcap.stomp.lookahead import END, KNOWN, NO, WAIT, after_eols, boundary, follows
from stompcap.stomp.octets import Octets, equals, find_nul, match_command, secret_value, skip_blanks, trim_blanks
from stompcap.stomp.rows import Ints
from stompcap.stomp.syntax import Syntax

BETWEEN, EOLS, NULS, COMMAND, HEAD, BODY_TO_NUL, BODY_BY_LENGTH, TOO_LONG, TOO_SHORT, RESYNC, BOUNDARY, TAIL = range(12)

NONE, INVALID = -1, -2
"""Values of LENGTH where no content-length was declared, or no decimal that 63 bits hold."""
FAR = 1 << 62

LF_LINE, CRLF_LINE, BARE_CR, EOL_CR = int(Syntax.LF_LINE), int(Syntax.CRLF_LINE), int(Syntax.BARE_CR), int(Syntax.EOL_CR)
LENGTH_INVALID, LENGTH_MISSED = int(Syntax.LENGTH_INVALID), int(Syntax.LENGTH_MISSED)
NUL_IN_HEAD, STRAY_NUL = int(Syntax.NUL_IN_HEAD), int(Syntax.STRAY_NUL)
BEFORE_FIRST, AFTER_GAP = int(Syntax.BEFORE_FIRST), int(Syntax.AFTER_GAP)
NON_ASCII, PASSCODE = int(Syntax.NON_ASCII), int(Syntax.PASSCODE)

CONTENT_LENGTH = pack(("content-length",))[0][0]
(DIRECTION, OFFSET, POSITION, OCTETS, KIND, DELIMITED, ROW_SYNTAX, ROW_BODY, ROW_COMMAND, ROW_LINES) = range(r.ROW_FIELDS)


@kernel
def emit(out: Ints, count: int, s: Ints, end: int, kind: int, delimited: int) -> int:
    """Write the row [DONE, end) and stand between frames behind it; gives the new number of rows."""
    syntax = s[r.SYNTAX]
    if s[r.BEHIND_GAP]:
        syntax |= AFTER_GAP
        s[r.BEHIND_GAP] = 0
    out[POSITION, count] = s[r.DONE]
    out[OCTETS, count] = end - s[r.DONE]
    out[KIND, count] = kind
    out[DELIMITED, count] = delimited
    out[ROW_BODY, count] = -1
    out[ROW_COMMAND, count] = -1
    out[ROW_LINES, count] = 0
    if kind == r.FRAME or kind == r.PARTIAL:
        s[r.BEGUN] = 1
        out[ROW_COMMAND, count] = s[r.COMMAND]
        out[ROW_LINES, count] = s[r.LINES]
        if s[r.BODY] >= 0:
            out[ROW_BODY, count] = s[r.BODY] - s[r.DONE]
    elif s[r.BEGUN] == 0:
        syntax |= BEFORE_FIRST
    out[ROW_SYNTAX, count] = syntax
    s[r.DONE] = end
    s[r.PHASE] = BETWEEN
    s[r.SYNTAX] = 0
    s[r.BODY] = -1
    s[r.COMMAND] = -1
    return count + 1


@kernel
def enter(s: Ints, phase: int, search: int) -> None:
    """Go to a phase, its search beginning at `search`."""
    s[r.PHASE] = phase
    s[r.SEARCH] = search
    s[r.LOOK] = 0


@kernel
def junk_from(s: Ints, search: int, syntax: int) -> None:
    """What stands at DONE is no frame: look for the next boundary from `search` on."""
    s[r.SYNTAX] |= syntax
    s[r.COMMAND] = -1
    enter(s, RESYNC, search)


@kernel
def look(octets: Octets, s: Ints, nul: int, end: int, closed: bool) -> int:
    """What follows the NUL at `nul`; WAIT only where more octets may come. Remembers how far it looked."""
    verdict, far = follows(octets, max(nul + 1, s[r.LOOK]), end)
    if not closed and verdict in (WAIT, END):
        s[r.SEARCH] = nul
        s[r.LOOK] = far
        return WAIT
    s[r.LOOK] = 0
    return NO if verdict == WAIT else verdict


@kernel
def between(octets: Octets, s: Ints, end: int, closed: bool) -> bool:
    """At the octet behind a row: decide by it what begins."""
    at = s[r.DONE]
    octet = octets[at]
    s[r.SYNTAX] = 0
    s[r.LINES] = 0
    s[r.BODY] = -1
    s[r.LENGTH] = NONE
    if octet == NUL:
        enter(s, NULS, at + 1)
    elif octet == LF:
        enter(s, EOLS, at + 1)
    elif octet == CR:
        if at + 1 == end and not closed:
            return False
        if at + 1 < end and octets[at + 1] == LF:
            enter(s, EOLS, at)
        else:
            junk_from(s, at, BARE_CR)
    else:
        enter(s, COMMAND, at)
    return True


@kernel
def eols(octets: Octets, s: Ints, end: int, closed: bool, out: Ints, count: int) -> tuple[bool, int]:
    """A run of EOLs between frames."""
    begin = s[r.SEARCH]
    stop = after_eols(octets, begin, end)
    for i in range(begin, stop):
        if octets[i] == CR:
            s[r.SYNTAX] |= EOL_CR
            break
    s[r.SEARCH] = stop
    if not closed and (stop == end or (stop + 1 == end and octets[stop] == CR)):
        return False, count
    return True, emit(out, count, s, stop, r.EOL, -1)


@kernel
def nuls(octets: Octets, s: Ints, end: int, closed: bool, out: Ints, count: int) -> tuple[bool, int]:
    """A run of NULs between frames."""
    i = s[r.SEARCH]
    while i < end and octets[i] == NUL:
        i += 1
    s[r.SEARCH] = i
    if i == end and not closed:
        return False, count
    s[r.SYNTAX] |= STRAY_NUL
    return True, emit(out, count, s, i, r.JUNK, -1)


@kernel
def nul_in_head(octets: Octets, s: Ints, nul: int, end: int, closed: bool, out: Ints, count: int) -> tuple[int, int]:
    """A NUL before the blank line: junk where a frame follows it, the end of all where nothing does, else (NO) part of the head."""
    verdict = look(octets, s, nul, end, closed)
    if verdict == KNOWN:
        s[r.SYNTAX] |= NUL_IN_HEAD
        count = emit(out, count, s, nul + 1, r.JUNK, -1)
    elif verdict == END:
        s[r.SYNTAX] |= NUL_IN_HEAD
        count = emit(out, count, s, end, r.PARTIAL, -1)
    elif verdict == NO:
        s[r.SYNTAX] |= NUL_IN_HEAD
    return verdict, count


@kernel
def command(octets: Octets, s: Ints, end: int, closed: bool, out: Ints, count: int) -> tuple[bool, int]:
    """The command line: a word of letters, blanks perhaps, LF or CRLF; anything else is junk."""
    begin = s[r.DONE]
    stop = begin
    limit = min(end, begin + COMMAND_LIMIT + 1)
    while stop < limit and COMMAND_OCTET[octets[stop]]:
        stop += 1
    blanks = skip_blanks(octets, stop, limit)
    first = octets[begin] & 0xDF
    if stop == begin or first < 65 or first > 90 or blanks - begin > COMMAND_LIMIT:
        junk_from(s, begin, 0)
        return True, count
    crlf = blanks < end and octets[blanks] == CR
    last = blanks + 1 if crlf else blanks
    if last >= end:
        if not closed:
            return False, count
        return True, emit(out, count, s, end, r.PARTIAL, -1)
    if octets[last] != LF:
        if octets[last] == NUL and not crlf:
            verdict, count = nul_in_head(octets, s, last, end, closed, out, count)
            if verdict == WAIT:
                return False, count
            if verdict == NO:
                junk_from(s, last + 1, 0)
            return True, count
        junk_from(s, begin, BARE_CR if crlf else 0)
        return True, count
    s[r.COMMAND] = match_command(octets, begin, stop)
    s[r.SYNTAX] |= CRLF_LINE if crlf else LF_LINE
    s[r.LINE] = last + 1
    enter(s, HEAD, last + 1)
    return True, count


@kernel
def declared_length(octets: Octets, begin: int, end: int) -> int:
    """The decimal in [begin, end), blanks around it left out, or INVALID."""
    begin = skip_blanks(octets, begin, end)
    end = trim_blanks(octets, begin, end)
    if begin == end:
        return INVALID
    value = 0
    for i in range(begin, end):
        digit = int(octets[i]) - 48
        if digit < 0 or digit > 9 or value > ((1 << 63) - 1 - digit) // 10:
            return INVALID
        value = value * 10 + digit
    return value


@kernel
def head(octets: Octets, s: Ints, end: int, closed: bool, out: Ints, count: int) -> tuple[bool, int]:
    """Header lines up to the blank one, behind which the body begins."""
    i = s[r.SEARCH]
    line = s[r.LINE]
    syntax = s[r.SYNTAX]
    lines = s[r.LINES]
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
                syntax |= CRLF_LINE
            else:
                syntax |= LF_LINE
            i += 1
            if stop == line:
                blank = True
                break
            lines += 1
            if (octets[line] & 0xDF == 80 or octets[line] <= SPACE) and secret_value(octets, line, stop)[0] >= 0:
                syntax |= PASSCODE
            elif octets[line] == 99 and s[r.LENGTH] == NONE:
                colon = line + CONTENT_LENGTH.size
                if colon < stop and octets[colon] == COLON and equals(octets, line, colon, CONTENT_LENGTH):
                    s[r.LENGTH] = declared_length(octets, colon + 1, stop)
            line = i
        elif octet == CR:
            if i + 1 == end and not closed:
                break
            if i + 1 == end or octets[i + 1] != LF:
                syntax |= BARE_CR
            i += 1
        elif octet == NUL:
            s[r.SYNTAX] = syntax
            s[r.LINES] = lines
            verdict, count = nul_in_head(octets, s, i, end, closed, out, count)
            if verdict in (KNOWN, END):
                return True, count
            if verdict == WAIT:
                break
            syntax |= NUL_IN_HEAD
            i += 1
        else:
            i += 1
    if every >= 128:
        syntax |= NON_ASCII
    s[r.SYNTAX] = syntax
    s[r.LINE] = line
    s[r.LINES] = lines
    s[r.SEARCH] = i
    if not blank:
        if not closed:
            return False, count
        return True, emit(out, count, s, end, r.PARTIAL, -1)
    s[r.BODY] = i
    if s[r.LENGTH] >= 0:
        enter(s, BODY_BY_LENGTH, i)
    else:
        if s[r.LENGTH] == INVALID:
            s[r.SYNTAX] |= LENGTH_INVALID
        enter(s, BODY_TO_NUL, i)
    return True, count


@kernel
def body_to_nul(octets: Octets, s: Ints, end: int, closed: bool, out: Ints, count: int) -> tuple[bool, int]:
    """A body without a usable content-length: to the first NUL."""
    nul = find_nul(octets, s[r.SEARCH], end)
    if nul >= 0:
        return True, emit(out, count, s, nul + 1, r.FRAME, r.BY_NUL)
    s[r.SEARCH] = end
    if not closed:
        return False, count
    return True, emit(out, count, s, end, r.PARTIAL, -1)


@kernel
def declared_end(s: Ints) -> int:
    """Where the NUL stands if content-length is right."""
    return int(s[r.BODY] + min(s[r.LENGTH], FAR))


@kernel
def body_by_length(
    octets: Octets, s: Ints, end: int, closed: bool, last: bool, out: Ints, count: int
) -> tuple[bool, int]:
    """A body of declared length: the NUL behind it, or the ways in which rule FR-07 is broken."""
    nul = declared_end(s)
    if nul >= end and not closed:
        return False, count
    if nul < end and octets[nul] == NUL:
        return True, emit(out, count, s, nul + 1, r.FRAME, r.BY_LENGTH)
    begin = s[r.BODY]
    code = s[r.COMMAND]
    if code >= 0 and not BODY_ALLOWED[code] and begin < end and octets[begin] == NUL:
        s[r.SYNTAX] |= LENGTH_MISSED
        return True, emit(out, count, s, begin + 1, r.FRAME, r.LENGTH_IGNORED)
    if nul >= end and not last:
        # the octets behind the gap, not the ones before it, will tell whether the declared end is right
        s[r.EXPECTED] = nul
        return True, emit(out, count, s, end, r.PARTIAL, -1)
    enter(s, TOO_LONG, begin)
    return True, count


@kernel
def too_long(octets: Octets, s: Ints, end: int, closed: bool, out: Ints, count: int) -> tuple[bool, int]:
    """The declared end is no NUL: take an earlier NUL that a known command follows."""
    declared = declared_end(s)
    limit = min(declared, end)
    search = s[r.SEARCH]
    while True:
        nul = find_nul(octets, search, limit)
        if nul < 0:
            break
        verdict = look(octets, s, nul, end, closed)
        if verdict == WAIT:
            return False, count
        if verdict == KNOWN:
            s[r.SYNTAX] |= LENGTH_MISSED
            return True, emit(out, count, s, nul + 1, r.FRAME, r.LENGTH_SHORTENED)
        search = nul + 1
    if declared >= end:
        return True, emit(out, count, s, end, r.PARTIAL, -1)
    s[r.SYNTAX] |= LENGTH_MISSED
    enter(s, TOO_SHORT, declared)
    return True, count


@kernel
def too_short(octets: Octets, s: Ints, end: int, closed: bool, last: bool, out: Ints, count: int) -> tuple[bool, int]:
    """Nor is there an earlier one: extend to the next NUL that a known command or the stream's end follows."""
    search = s[r.SEARCH]
    while True:
        nul = find_nul(octets, search, end)
        if nul < 0:
            break
        verdict = look(octets, s, nul, end, closed)
        if verdict == WAIT:
            return False, count
        if verdict == KNOWN or (verdict == END and last):
            return True, emit(out, count, s, nul + 1, r.FRAME, r.LENGTH_EXTENDED)
        search = nul + 1
    s[r.SEARCH] = end
    if not closed:
        return False, count
    return True, emit(out, count, s, end, r.PARTIAL, -1)


@kernel
def resync(octets: Octets, s: Ints, end: int, closed: bool, out: Ints, count: int) -> tuple[bool, int]:
    """Junk up to the next NUL that a known command follows."""
    search = s[r.SEARCH]
    while True:
        nul = find_nul(octets, search, end)
        if nul < 0:
            break
        verdict = look(octets, s, nul, end, closed)
        if verdict == WAIT:
            return False, count
        if verdict == KNOWN:
            return True, emit(out, count, s, nul + 1, r.JUNK, -1)
        search = nul + 1
    s[r.SEARCH] = end
    if not closed:
        return False, count
    return True, emit(out, count, s, end, r.JUNK, -1)


@kernel
def at_boundary(octets: Octets, s: Ints, end: int, closed: bool) -> bool:
    """Behind a gap, or where a capture starts mid-stream: does a frame begin right here? EOLs to the end are taken for beats."""
    begin = s[r.DONE]
    verdict, far = boundary(octets, max(begin, s[r.LOOK]), end)
    if verdict in (WAIT, END) and not closed:
        s[r.LOOK] = far
        return False
    if verdict in (KNOWN, END):
        enter(s, BETWEEN, begin)
    else:
        s[r.SYNTAX] = 0
        junk_from(s, begin, 0)
    return True


@kernel
def tail(octets: Octets, s: Ints, end: int, closed: bool, last: bool, out: Ints, count: int) -> tuple[bool, int]:
    """Behind a gap that cut a body of declared length: its end is known, if a NUL stands there."""
    nul = s[r.EXPECTED]
    if nul < end:
        s[r.EXPECTED] = -1
        if octets[nul] == NUL:
            s[r.SYNTAX] = 0
            return True, emit(out, count, s, nul + 1, r.JUNK, -1)
        enter(s, BOUNDARY, 0)
        return True, count
    if not closed:
        return False, count
    if last:
        s[r.EXPECTED] = -1
        enter(s, BOUNDARY, 0)
        return True, count
    s[r.SYNTAX] = 0
    return True, emit(out, count, s, end, r.JUNK, -1)
