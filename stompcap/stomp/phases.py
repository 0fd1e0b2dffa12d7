"""What the delimiter's phases share: their names, the rows they write, what follows a NUL.

A phase is one kernel for each thing that the delimiter may be within: in `opening` (between frames, command, headers), `closing` (bodies)
and `resync`. It takes the state `s` of one direction (fields as in `rows`, all positions are those in the buffer), the end of the
contiguous stretch, whether the stretch is closed there (a gap or the end follows, so there is nothing to wait for) and whether that is the
stream's end. It gives True where it advanced, False where it needs more octets, and writes whole rows through `emit`. Searches resume at
SEARCH and LOOK: each octet is read a bounded number of times, however small the chunks are.
"""

from __future__ import annotations

from stompcap import codes
from stompcap.columns import I64, Octets
from stompcap.kernel import callee
from stompcap.stomp import delimiter_io as r
from stompcap.stomp.grammar import NO_VOTE, ROLE_OF, VOTE_CLIENT, VOTE_SERVER
from stompcap.stomp.lookahead import END, NO, WAIT, follows
from stompcap.stomp.syntax import Syntax

BETWEEN, EOLS, NULS, COMMAND, HEAD, BODY_TO_NUL, BODY_BY_LENGTH, TOO_LONG, TOO_SHORT, RESYNC, BOUNDARY, TAIL = range(12)

NONE, INVALID = -1, -2
"""Values of LENGTH where no content-length was declared, or no decimal that fits 63 bits."""
FAR = 1 << 62
BELIEVED = 1 << 40
"""Longest content-length that is believed of a body too large for one row; a larger one is taken for wrong."""
CERTAIN = 4
"""Frames of the other role that override the sender's role so far."""

LF_LINE, CRLF_LINE, BARE_CR, EOL_CR = int(Syntax.LF_LINE), int(Syntax.CRLF_LINE), int(Syntax.BARE_CR), int(Syntax.EOL_CR)
LENGTH_INVALID, LENGTH_MISSED = int(Syntax.LENGTH_INVALID), int(Syntax.LENGTH_MISSED)
NUL_IN_HEAD, STRAY_NUL = int(Syntax.NUL_IN_HEAD), int(Syntax.STRAY_NUL)
BEFORE_FIRST, AFTER_GAP = int(Syntax.BEFORE_FIRST), int(Syntax.AFTER_GAP)
NON_ASCII, PASSCODE = int(Syntax.NON_ASCII), int(Syntax.PASSCODE)
BLANK_PADDED, TOO_LARGE, LENGTH_UNKNOWN = int(Syntax.BLANK_PADDED), int(Syntax.TOO_LARGE), int(Syntax.LENGTH_UNKNOWN)

OFFERS_MORE, EXACT_LENGTH = 1, 2
"""Bits of SEEN, what the head so far has had: a version other than 1.0; a content-length in lower case."""

(DIRECTION, OFFSET, POSITION, OCTETS, KIND, DELIMITED, ROW_SYNTAX, ROW_BODY, ROW_COMMAND, ROW_LINES) = range(r.ROW_FIELDS)


@callee
def learn(s: I64, kind: int) -> None:
    """Count frames by their sender's role. A frame found by a search does not count: it may be a quotation in another's body."""
    if (kind == codes.FRAME or kind == codes.PARTIAL) and s[r.FOOTING] == r.FIRM and s[r.COMMAND] >= 0:
        s[r.ROLE] = min(max(s[r.ROLE] + ROLE_OF[s[r.COMMAND]], -CERTAIN), CERTAIN)
    if kind == codes.FRAME:
        s[r.FOOTING] = r.FIRM
    elif kind == codes.JUNK or s[r.FOOTING] == r.LOST:
        s[r.FOOTING] = r.FOUND


@callee
def sender(s: I64) -> int:
    """The role of this direction's sender: by the frames so far, else by the current command, else ANY."""
    if s[r.ROLE] > 0:
        return VOTE_CLIENT
    if s[r.ROLE] < 0:
        return VOTE_SERVER
    return int(ROLE_OF[s[r.COMMAND]]) if s[r.COMMAND] >= 0 else NO_VOTE


@callee
def emit(out: I64, count: int, s: I64, end: int, kind: int, delimited: int) -> int:
    """Write the row [DONE, end) and continue between frames behind it; gives the new number of rows."""
    syntax = s[r.SYNTAX]
    if s[r.FOOTING] == r.LOST:
        syntax |= AFTER_GAP
    learn(s, kind)
    out[POSITION, count] = s[r.DONE]
    out[OCTETS, count] = end - s[r.DONE]
    out[KIND, count] = kind
    out[DELIMITED, count] = delimited
    out[ROW_BODY, count] = -1
    out[ROW_COMMAND, count] = -1
    out[ROW_LINES, count] = 0
    if kind == codes.FRAME or kind == codes.PARTIAL:
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


@callee
def enter(s: I64, phase: int, search: int) -> None:
    """Enter a phase, its search beginning at `search`."""
    s[r.PHASE] = phase
    s[r.SEARCH] = search
    s[r.LOOK] = 0


@callee
def lose(s: I64) -> None:
    """Octets behind DONE are missing, or cut off: go on where the body's end is expected, or resynchronise."""
    s[r.FOOTING] = r.LOST
    s[r.BEGUN] = 1
    if s[r.EXPECTED] < s[r.DONE]:
        s[r.EXPECTED] = NONE
    s[r.PHASE] = TAIL if s[r.EXPECTED] >= 0 else BOUNDARY
    s[r.SEARCH] = s[r.LOOK] = s[r.SYNTAX] = 0


@callee
def junk_from(s: I64, search: int, syntax: int) -> None:
    """The octets at DONE are no frame: search for the next boundary from `search` on."""
    s[r.SYNTAX] |= syntax
    s[r.COMMAND] = -1
    enter(s, RESYNC, search)


@callee
def after_nul(octets: Octets, s: I64, nul: int, end: int, closed: bool) -> int:
    """What follows the NUL at `nul`; WAIT only where more octets may come. LOOK remembers how far it read."""
    verdict, far = follows(octets, max(nul + 1, s[r.LOOK]), end, sender(s))
    if not closed and verdict in (WAIT, END):
        s[r.SEARCH] = nul
        s[r.LOOK] = far
        return WAIT
    s[r.LOOK] = 0
    return NO if verdict == WAIT else verdict
