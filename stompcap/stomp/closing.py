"""Phases of the delimiter behind the blank line: where the body ends, with a content-length right, wrong or absent (rule FR-07)."""

from __future__ import annotations

from stompcap import codes
from stompcap.columns import I64, Octets
from stompcap.kernel import callee
from stompcap.stomp import delimiter_io as r
from stompcap.stomp import phases as p
from stompcap.stomp.grammar import BODY_ALLOWED, NUL
from stompcap.stomp.lookahead import END, KNOWN, WAIT
from stompcap.stomp.octets import find_nul
from stompcap.stomp.resync import after_nul_unsynced


@callee
def body_to_nul(octets: Octets, s: I64, end: int, closed: bool, out: I64, count: int) -> tuple[bool, int]:
    """A body without a usable content-length: to the first NUL."""
    nul = find_nul(octets, s[r.SEARCH], end)
    if nul >= 0:
        return True, p.emit(out, count, s, nul + 1, codes.FRAME, codes.BY_NUL)
    s[r.SEARCH] = end
    if not closed:
        return False, count
    return True, p.emit(out, count, s, end, codes.PARTIAL, -1)


@callee
def declared_end(s: I64) -> int:
    """Where the NUL is if content-length is right."""
    return int(s[r.BODY] + min(s[r.LENGTH], p.FAR))


@callee
def body_by_length(
    octets: Octets, s: I64, end: int, closed: bool, last: bool, out: I64, count: int
) -> tuple[bool, int]:
    """A body of declared length: the NUL behind it, or the violations of rule FR-07."""
    nul = declared_end(s)
    if nul >= end and not closed:
        return False, count
    if nul < end and octets[nul] == NUL:
        return True, p.emit(out, count, s, nul + 1, codes.FRAME, codes.BY_CONTENT_LENGTH)
    begin = s[r.BODY]
    code = s[r.COMMAND]
    if code >= 0 and not BODY_ALLOWED[code] and begin < end and octets[begin] == NUL:
        s[r.SYNTAX] |= p.LENGTH_MISSED
        return True, p.emit(out, count, s, begin + 1, codes.FRAME, codes.BY_CONTENT_LENGTH_IGNORED)
    if nul >= end and not last:
        # the octets behind the gap, not those before it, decide whether the declared end is right
        s[r.EXPECTED] = nul
        return True, p.emit(out, count, s, end, codes.PARTIAL, -1)
    p.enter(s, p.TOO_LONG, begin)
    return True, count


@callee
def too_long(octets: Octets, s: I64, end: int, closed: bool, out: I64, count: int) -> tuple[bool, int]:
    """There is no NUL at the declared end: take an earlier NUL that a known command follows.

    Where the stream ends first, the body may be right but incomplete, and may quote frames: a whole frame must follow.
    """
    declared = declared_end(s)
    unfinished = declared >= end
    limit = min(declared, end)
    search = s[r.SEARCH]
    while True:
        nul = find_nul(octets, search, limit)
        if nul < 0:
            break
        verdict = after_nul_unsynced(octets, s, nul, end, closed) if unfinished else p.after_nul(octets, s, nul, end, closed)
        if verdict == WAIT:
            return False, count
        if verdict == KNOWN:
            s[r.SYNTAX] |= p.LENGTH_MISSED
            return True, p.emit(out, count, s, nul + 1, codes.FRAME, codes.BY_CONTENT_LENGTH_SHORTENED)
        search = nul + 1
    if unfinished:
        return True, p.emit(out, count, s, end, codes.PARTIAL, -1)
    s[r.SYNTAX] |= p.LENGTH_MISSED
    p.enter(s, p.TOO_SHORT, declared)
    return True, count


@callee
def too_short(octets: Octets, s: I64, end: int, closed: bool, last: bool, out: I64, count: int) -> tuple[bool, int]:
    """There is no earlier NUL either: extend to the next NUL that a known command or the stream's end follows."""
    search = s[r.SEARCH]
    while True:
        nul = find_nul(octets, search, end)
        if nul < 0:
            break
        verdict = p.after_nul(octets, s, nul, end, closed)
        if verdict == WAIT:
            return False, count
        if verdict == KNOWN or (verdict == END and last):
            return True, p.emit(out, count, s, nul + 1, codes.FRAME, codes.BY_CONTENT_LENGTH_EXTENDED)
        search = nul + 1
    s[r.SEARCH] = end
    if not closed:
        return False, count
    return True, p.emit(out, count, s, end, codes.PARTIAL, -1)
