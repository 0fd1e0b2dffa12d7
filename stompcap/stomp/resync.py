"""Phases of the delimiter where it has lost its way: junk, the octets behind a gap, a start in mid-stream."""

from __future__ import annotations

from stompcap.kernel import kernel
from stompcap.stomp import phases as p
from stompcap.stomp import rows as r
from stompcap.stomp.grammar import NUL
from stompcap.stomp.lookahead import END, KNOWN, WAIT, boundary
from stompcap.stomp.octets import Octets, find_nul
from stompcap.stomp.rows import Ints


@kernel
def resync(octets: Octets, s: Ints, end: int, closed: bool, out: Ints, count: int) -> tuple[bool, int]:
    """Junk up to the next NUL that a known command follows."""
    search = s[r.SEARCH]
    while True:
        nul = find_nul(octets, search, end)
        if nul < 0:
            break
        verdict = p.look(octets, s, nul, end, closed)
        if verdict == WAIT:
            return False, count
        if verdict == KNOWN:
            return True, p.emit(out, count, s, nul + 1, r.JUNK, -1)
        search = nul + 1
    s[r.SEARCH] = end
    if not closed:
        return False, count
    return True, p.emit(out, count, s, end, r.JUNK, -1)


@kernel
def at_boundary(octets: Octets, s: Ints, end: int, closed: bool) -> bool:
    """Behind a gap, or where a capture starts mid-stream: does a frame begin right here? EOLs to the end are taken for beats."""
    begin = s[r.DONE]
    verdict, far = boundary(octets, max(begin, s[r.LOOK]), end, p.sender(s))
    if verdict in (WAIT, END) and not closed:
        s[r.LOOK] = far
        return False
    if verdict in (KNOWN, END):
        p.enter(s, p.BETWEEN, begin)
    else:
        s[r.SYNTAX] = 0
        p.junk_from(s, begin, 0)
    return True


@kernel
def tail(octets: Octets, s: Ints, end: int, closed: bool, last: bool, out: Ints, count: int) -> tuple[bool, int]:
    """Behind a gap that cut a body of declared length: its end is known, if a NUL stands there."""
    nul = s[r.EXPECTED]
    if nul < end:
        s[r.EXPECTED] = -1
        if octets[nul] == NUL:
            s[r.SYNTAX] = 0
            return True, p.emit(out, count, s, nul + 1, r.JUNK, -1)
        p.enter(s, p.BOUNDARY, 0)
        return True, count
    if not closed:
        return False, count
    if last:
        s[r.EXPECTED] = -1
        p.enter(s, p.BOUNDARY, 0)
        return True, count
    s[r.SYNTAX] = 0
    return True, p.emit(out, count, s, end, r.JUNK, -1)
