"""Phases of the delimiter where it has lost synchronisation: junk, the octets behind a gap, a start mid-stream."""

from __future__ import annotations

from stompcap import codes
from stompcap.columns import I64, Octets
from stompcap.kernel import callee
from stompcap.stomp import delimiter_io as r
from stompcap.stomp import phases as p
from stompcap.stomp.grammar import COLON, CONNECT, CONNECTED, CR, LF, NUL, STOMP
from stompcap.stomp.lookahead import END, KNOWN, NO, WAIT, boundary, command_line, follows
from stompcap.stomp.octets import equals, find_nul, match_command
from stompcap.stomp.opening import CONTENT_LENGTH, declared_length

RUN = 4096
"""Most NULs or EOLs walked behind the end of a candidate frame."""


@callee
def head_end(octets: Octets, line: int, end: int) -> tuple[int, int, int]:
    """Where the head whose header lines begin at `line` ends: (verdict, the body's begin, content-length or -1)."""
    length = -1
    i = line
    while i < end:
        if octets[i] == NUL:
            return NO, i, -1
        if octets[i] != LF:
            i += 1
            continue
        stop = i - 1 if i > line and octets[i - 1] == CR else i
        i += 1
        if stop == line:
            return KNOWN, i, length
        colon = line + CONTENT_LENGTH.size
        if length < 0 and colon < stop and octets[colon] == COLON and equals(octets, line, colon, CONTENT_LENGTH):
            length = declared_length(octets, colon + 1, stop)
        line = i
    return WAIT, i, -1


@callee
def goes_on(octets: Octets, nul: int, end: int, role: int) -> int:
    """Whether the stream goes on behind a frame's NUL as it should: perhaps NULs and EOLs, then a command; WAIT where it ends first.

    No more than RUN of either are walked, for many heads may point to one place: so many NULs are no trailer, so many EOLs are heart-beats.
    """
    i = nul + 1
    while i < end and octets[i] == NUL:
        i += 1
        if i - nul > RUN:
            return NO
    near = min(end, i + RUN)
    verdict, behind = follows(octets, i, near, role)
    if near < end and verdict == END:
        return KNOWN
    if near < end and verdict == WAIT:
        verdict, _ = follows(octets, behind, end, role)
    return WAIT if verdict == END else verdict


@callee
def believable(octets: Octets, begin: int, end: int, role: int) -> tuple[int, int]:
    """As `boundary`, and stricter: the frame there has a whole head and its end, and the stream goes on behind it.

    The octets before it are missing, and may be a body that quotes frames; other octets of that body follow the quotation.
    """
    verdict, i = boundary(octets, begin, end, role)
    if verdict != KNOWN:
        return verdict, i
    _, line = command_line(octets, i, end, role)
    verdict, body, length = head_end(octets, line, end)
    if verdict != KNOWN:
        return verdict, i
    if 0 <= length < end - body and octets[body + length] == NUL:
        return goes_on(octets, body + length, end, role), i
    if length >= end - body:
        return WAIT, i
    nul = find_nul(octets, body, end)
    return (goes_on(octets, nul, end, role) if nul >= 0 else WAIT), i


@callee
def judged(octets: Octets, begin: int, end: int, closed: bool, role: int, opens: bool) -> tuple[int, int]:
    """As `believable`; a frame that a gap or the end cuts short is judged by the octets there are.

    Where a stream `opens`, a handshake is accepted too: its connection is likely new, only its SYN was not captured.
    """
    verdict, far = believable(octets, begin, end, role)
    if opens and verdict == NO and far == begin and boundary(octets, begin, end, role)[0] == KNOWN:
        _, line = command_line(octets, begin, end, role)
        code = match_command(octets, begin, line - 2 if octets[line - 2] == CR else line - 1)
        verdict = KNOWN if code == CONNECT or code == STOMP or code == CONNECTED else NO
    if closed and verdict == WAIT:
        verdict, _ = boundary(octets, far, end, role)
    return verdict, far


@callee
def after_nul_unsynced(octets: Octets, s: I64, nul: int, end: int, closed: bool) -> int:
    """As `after_nul`, where octets before it are missing."""
    verdict, far = judged(octets, max(nul + 1, s[r.LOOK]), end, closed, p.sender(s), False)
    if not closed and verdict in (WAIT, END):
        s[r.SEARCH] = nul
        s[r.LOOK] = far
        return WAIT
    s[r.LOOK] = 0
    return NO if verdict == WAIT else verdict


@callee
def resync(octets: Octets, s: I64, end: int, closed: bool, out: I64, count: int) -> tuple[bool, int]:
    """Junk up to the next NUL that a known command follows."""
    search = s[r.SEARCH]
    while True:
        nul = find_nul(octets, search, end)
        if nul < 0:
            break
        verdict = after_nul_unsynced(octets, s, nul, end, closed) if s[r.FOOTING] == r.LOST else p.after_nul(octets, s, nul, end, closed)
        if verdict == WAIT:
            return False, count
        if verdict == KNOWN:
            return True, p.emit(out, count, s, nul + 1, codes.JUNK, -1)
        search = nul + 1
    s[r.SEARCH] = end
    if not closed:
        return False, count
    return True, p.emit(out, count, s, end, codes.JUNK, -1)


@callee
def at_boundary(octets: Octets, s: I64, end: int, closed: bool) -> bool:
    """Behind a gap, or where a capture starts mid-stream: whether a frame begins right here. EOLs to the end are taken for heart-beats."""
    begin = s[r.DONE]
    verdict, far = judged(octets, max(begin, s[r.LOOK]), end, closed, p.sender(s), s[r.LOOK] == 0 or s[r.LOOK] == begin)
    if verdict in (WAIT, END) and not closed:
        s[r.LOOK] = far
        return False
    if verdict in (KNOWN, END):
        p.enter(s, p.BETWEEN, begin)
    else:
        s[r.SYNTAX] = 0
        p.junk_from(s, begin, 0)
    return True


@callee
def tail(octets: Octets, s: I64, end: int, closed: bool, last: bool, out: I64, count: int) -> tuple[bool, int]:
    """Behind a gap that cut a body of declared length: its end is known, if there is a NUL."""
    nul = s[r.EXPECTED]
    if nul < end:
        s[r.EXPECTED] = -1
        if octets[nul] == NUL:
            s[r.SYNTAX] = 0
            return True, p.emit(out, count, s, nul + 1, codes.JUNK, -1)
        p.enter(s, p.BOUNDARY, 0)
        return True, count
    if not closed:
        return False, count
    if last:
        s[r.EXPECTED] = -1
        p.enter(s, p.BOUNDARY, 0)
        return True, count
    s[r.SYNTAX] = 0
    return True, p.emit(out, count, s, end, codes.JUNK, -1)
