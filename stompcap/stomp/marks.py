"""Which rows contain secrets that names tell, as bits of their syntax: that one is there, and that a row may begin within one.

Where a gap cut a head, or an ERROR that may quote one, the line that goes on behind the gap is torn, unless the gap is too short to hide
the name of a secret; so is the first line behind a gap or of a stream whose beginning is missing, if it looks like the tail of a head.
Which case applies may be known calls before the torn row is delimited, so it is part of the delimiter's state.
"""

from __future__ import annotations

import numpy as np

from stompcap import codes
from stompcap.columns import I64, Octets
from stompcap.kernel import callee, kernel
from stompcap.stomp import delimiter_io as r
from stompcap.stomp.delimiter_io import Rows
from stompcap.stomp.grammar import COLON, CONNECT, CR, ERROR, LF, NUL, STOMP, pack
from stompcap.stomp.octets import equals, find_nul, matching, readonly
from stompcap.stomp.secret_lines import line_end, mask_lines
from stompcap.stomp.secret_names import SecretNames
from stompcap.stomp.secret_spellings import COMMA, ONE, ZERO, mask_spelled
from stompcap.stomp.secret_texts import IN_WORD, mask_text
from stompcap.stomp.secret_values import mask_values
from stompcap.stomp.syntax import Syntax

AFTER_GAP, TORN, PASSCODE, LENGTH_UNKNOWN = (int(one) for one in (Syntax.AFTER_GAP, Syntax.TORN, Syntax.PASSCODE, Syntax.LENGTH_UNKNOWN))
BLANK_PADDED = int(Syntax.BLANK_PADDED)
HEAD_LINES = int(Syntax.LF_LINE | Syntax.CRLF_LINE)
ODD_HEAD = int(Syntax.NUL_IN_HEAD | Syntax.BARE_CR) | BLANK_PADDED
"""Heads whose lines may be read in more than one way: some readers see a passcode behind a NUL, a CR or a line of blanks."""
NOTHING, WHOLE, LEADING, CUT, IN_HEAD = range(5)
"""Values of PLACE: no row yet; nothing is torn; what comes before is missing; a line that may contain a secret is cut; another line of a
head is cut."""
SHORTEST = 5
"""Octets of an LF, the shortest secret name and its colon: a gap of fewer in another header's line hides no secret's name."""
_TAIL_OCTETS, _TAIL_LENGTHS = pack(("accept-version:", "heart-beat:", "login:", "host:", "client-id:"))
_OPENER_OCTETS, _OPENER_LENGTHS = pack(("connect", "stomp", "error"))


@callee
def _may_open(octets: Octets, begin: int, end: int) -> bool:
    """Whether a row without a whole command line may be the beginning of a frame that has secrets."""
    for word in range(_OPENER_LENGTHS.size):
        length = _OPENER_LENGTHS[word]
        if matching(octets, begin, end, _OPENER_OCTETS[word, :length]) == min(end - begin, length):
            return True
    return False


@callee
def _spells(octets: Octets, begin: int, end: int) -> bool:
    """Whether [begin, end) contains a spelled-out LF: an element 10 behind one of an octet or two."""
    for i in range(begin + 5, end):
        spelled = octets[i] == COMMA and octets[i - 1] == ZERO and octets[i - 2] == ONE and octets[i - 3] == COMMA
        if spelled and (octets[i - 5] == COMMA or (i >= begin + 6 and octets[i - 6] == COMMA)):
            return True
    return False


@callee
def torn_end(octets: Octets, begin: int, end: int) -> int:
    """Where a torn line that begins a row ends: at its line's end or a NUL."""
    stop = line_end(octets, begin, end)
    nul = find_nul(octets, begin, stop)
    return nul if nul >= 0 else stop


@callee
def _goes_on(octets: Octets, first: int, end: int) -> bool:
    """Whether a head goes on, or ends, behind the line that ends at `first`."""
    i = first
    if i < end and octets[i] == CR:
        i += 1
    if i >= end or octets[i] != LF:
        return False
    line = i + 1
    i = line
    while i < end and IN_WORD[octets[i]]:
        i += 1
    if i == line:
        return i < end and (octets[i] == LF or (octets[i] == CR and i + 1 < end and octets[i + 1] == LF))
    return i < end and octets[i] == COLON


@callee
def _cut_in_head(octets: Octets, begin: int, end: int) -> bool:
    """Whether the last line of a row that is no frame is a header's."""
    line = end
    while line > begin and octets[line - 1] != LF and octets[line - 1] != NUL:
        line -= 1
    i = line
    while i < end and IN_WORD[octets[i]]:
        i += 1
    return i > line and i < end and octets[i] == COLON


@callee
def mask_all(
    octets: Octets, masked: Octets, begin: int, head: int, end: int, names: SecretNames, apply: bool
) -> tuple[bool, bool]:
    """Mask secrets of every form in [begin, end), up to `head` those of header lines too: (whether there are, whether one may go on)."""
    lines, open_line = mask_lines(octets, masked, begin, head, names, apply)
    spelled, open_spelling = mask_spelled(octets, masked, begin, end, names, apply)
    values = mask_values(octets, masked, begin, end, True, apply)
    texts = mask_text(octets, masked, begin, end, names, apply)
    return lines or spelled or values or texts, (open_line and head == end) or open_spelling


@callee
def mask_partial(
    octets: Octets, masked: Octets, begin: int, body: int, command: int, end: int, names: SecretNames, apply: bool
) -> tuple[bool, bool]:
    """As `mask_all`, in a partial row; in a body that is no ERROR's, what has neither a line nor is spelled is left to clues."""
    if body < 0 or command == ERROR:
        return mask_all(octets, masked, begin, end if body < 0 else begin + body, end, names, apply)
    lines, _ = mask_lines(octets, masked, begin, end, names, apply)
    spelled, _ = mask_spelled(octets, masked, begin, end, names, apply)
    return lines or spelled, False


@callee
def _tail(octets: Octets, begin: int, end: int) -> bool:
    """Whether octets whose beginning is missing look like the tail of a head.

    It does where the second line is blank or a header's, where a header of the handshake begins a line, where a NUL follows
    the blank line at once, or where its first line is spelled out octet by octet and has a spelled-out LF.
    """
    first = torn_end(octets, begin, end)
    if _spells(octets, begin, first) or _goes_on(octets, first, end):
        return True
    i = begin
    while i < end and octets[i] != NUL:
        if i > begin and octets[i - 1] == LF:
            for word in range(_TAIL_LENGTHS.size):
                stop = i + _TAIL_LENGTHS[word]
                if stop <= end and equals(octets, i, stop, _TAIL_OCTETS[word, : _TAIL_LENGTHS[word]]):
                    return True
        i += 1
    k = i - 1
    line_ends = 0
    while i < end and k >= begin and (octets[k] == LF or octets[k] == CR):
        line_ends += octets[k] == LF
        k -= 1
    return line_ends >= 2


@callee
def _behind_gap(place: int, length: int, syntax: int) -> int:
    """The value of PLACE behind a gap of so many octets."""
    if syntax & LENGTH_UNKNOWN:
        length = SHORTEST
    if place == IN_HEAD:
        return CUT if length >= SHORTEST else WHOLE
    return LEADING if place == WHOLE and length >= SHORTEST else place


@kernel
def _mark(
    octets: Octets, direction: I64, position: I64, length: I64, kind: I64, syntax: I64, body: I64, command: I64,
    names: SecretNames, state: I64, unused: Octets,
) -> None:
    for row in range(direction.size):
        s = state[direction[row]]
        if kind[row] == codes.GAP:
            s[r.PLACE] = _behind_gap(s[r.PLACE], length[row], syntax[row])
            continue
        if s[r.PLACE] == NOTHING:
            s[r.PLACE] = LEADING if syntax[row] & AFTER_GAP else WHOLE
        if kind[row] == codes.EOL:
            if s[r.PLACE] == CUT:
                s[r.PLACE] = WHOLE
            continue
        begin, end = position[row], position[row] + length[row]
        found = cut = in_head = False
        if kind[row] == codes.FRAME:
            if syntax[row] & BLANK_PADDED:
                found, _ = mask_all(octets, unused, begin, end, end, names, False)
            elif command[row] == ERROR:
                found, _ = mask_all(octets, unused, begin, begin + body[row], end, names, False)
            elif syntax[row] & ODD_HEAD:
                found, _ = mask_lines(octets, unused, begin, begin + body[row], names, False)
        elif kind[row] == codes.PARTIAL:
            found, cut = mask_partial(octets, unused, begin, body[row], command[row], end, names, False)
            handshake = command[row] == CONNECT or command[row] == STOMP or (command[row] < 0 and _may_open(octets, begin, end))
            cut = cut or command[row] == ERROR or (handshake and body[row] < 0)
            in_head = body[row] < 0
        else:
            # junk with lines of a head began like a frame: its first line is a command's
            torn = not syntax[row] & HEAD_LINES and (s[r.PLACE] == CUT or (s[r.PLACE] == LEADING and _tail(octets, begin, end)))
            first = begin
            if torn:
                syntax[row] |= TORN
                first = torn_end(octets, begin, end)
            found, cut = mask_all(octets, unused, first, end, end, names, False)
            cut = (octets[end - 1] != NUL and (cut or _spells(octets, begin, end))) or (torn and find_nul(octets, begin, end) < 0)
            in_head = _cut_in_head(octets, begin, end)
        if found:
            syntax[row] |= PASSCODE
        s[r.PLACE] = CUT if cut else IN_HEAD if in_head else WHOLE


def mark(octets: Octets, rows: Rows, names: SecretNames) -> None:
    """Set TORN and PASSCODE in the syntax of rows just delimited; their state notes what is cut behind them."""
    columns = (rows.direction, rows.position, rows.length, rows.kind, rows.syntax, rows.body, rows.command)
    _mark(readonly(octets), *columns, names, rows.state.numbers, np.empty(0, np.uint8))
