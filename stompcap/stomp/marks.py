"""Which rows contain passcodes, as bits of their syntax: that one is there, and that a row may begin within one.

Where a gap cut a head that may contain a passcode, or an ERROR that may quote one, the line that goes on behind the gap is torn; so is
the first line of a stream whose beginning is missing, if it looks like the tail of a CONNECT. Which case applies may be known calls
before the torn row is delimited, so it is part of the delimiter's state.
"""

from __future__ import annotations

import numpy as np

from stompcap.kernel import kernel
from stompcap.stomp import rows as r
from stompcap.stomp.grammar import CONNECT, CR, ERROR, LF, NUL, STOMP, pack
from stompcap.stomp.octets import Octets, equals, find_nul
from stompcap.stomp.passcodes import COMMA, ONE, ZERO, line_end, mask_all, mask_lines
from stompcap.stomp.rows import Ints, Rows
from stompcap.stomp.syntax import Syntax

AFTER_GAP, TORN, PASSCODE = int(Syntax.AFTER_GAP), int(Syntax.TORN), int(Syntax.PASSCODE)
BLANK_PADDED = int(Syntax.BLANK_PADDED)
HEAD_LINES = int(Syntax.LF_LINE | Syntax.CRLF_LINE)
ODD_HEAD = int(Syntax.NUL_IN_HEAD | Syntax.BARE_CR) | BLANK_PADDED
"""Heads whose lines may be read in more than one way: some readers see a passcode behind a NUL, a CR or a line of blanks."""
NOTHING, WHOLE, LEADING, CUT = range(4)
"""Values of PLACE: no row yet; nothing is torn; the stream's beginning is missing; a line that may contain a passcode is cut."""
_TAIL_OCTETS, _TAIL_LENGTHS = pack(("accept-version:", "heart-beat:", "login:", "host:", "client-id:"))
_OPENER_OCTETS, _OPENER_LENGTHS = pack(("CONNECT", "STOMP", "ERROR"))


@kernel
def _may_open(octets: Octets, begin: int, end: int) -> bool:
    """Whether a row without a whole command line may be the beginning of a frame with a passcode."""
    for word in range(_OPENER_LENGTHS.size):
        same = True
        for k in range(min(end - begin, _OPENER_LENGTHS[word])):
            if octets[begin + k] & 0xDF != _OPENER_OCTETS[word, k]:
                same = False
                break
        if same:
            return True
    return False


@kernel
def _spells(octets: Octets, begin: int, end: int) -> bool:
    """Whether [begin, end) contains a spelled-out LF: an element 10 behind one of an octet or two."""
    for i in range(begin + 5, end):
        spelled = octets[i] == COMMA and octets[i - 1] == ZERO and octets[i - 2] == ONE and octets[i - 3] == COMMA
        if spelled and (octets[i - 5] == COMMA or (i >= begin + 6 and octets[i - 6] == COMMA)):
            return True
    return False


@kernel
def _tail(octets: Octets, begin: int, end: int) -> bool:
    """Whether octets whose beginning is missing look like the tail of a CONNECT.

    It does where a header of the handshake begins a line, where a NUL follows the blank line at once, or where
    its first line is spelled out octet by octet and has a spelled-out LF.
    """
    if _spells(octets, begin, line_end(octets, begin, end)):
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


@kernel
def torn_end(octets: Octets, begin: int, end: int) -> int:
    """Where a torn line that begins a row ends: at its line's end or a NUL."""
    stop = line_end(octets, begin, end)
    nul = find_nul(octets, begin, stop)
    return nul if nul >= 0 else stop


@kernel
def _mark(
    octets: Octets, direction: Ints, position: Ints, length: Ints, kind: Ints, syntax: Ints, body: Ints, command: Ints, state: Ints
) -> None:
    unused = np.empty(0, np.uint8)
    for row in range(direction.size):
        if kind[row] == r.GAP:
            continue
        s = state[direction[row]]
        if s[r.PLACE] == NOTHING:
            s[r.PLACE] = LEADING if syntax[row] & AFTER_GAP else WHOLE
        if kind[row] == r.EOL:
            if s[r.PLACE] == CUT:
                s[r.PLACE] = WHOLE
            continue
        begin, end = position[row], position[row] + length[row]
        found = False
        if kind[row] == r.FRAME:
            if command[row] == ERROR or syntax[row] & BLANK_PADDED:
                found, _ = mask_all(octets, unused, begin, end, False)
            elif syntax[row] & ODD_HEAD:
                found, _ = mask_lines(octets, unused, begin, begin + body[row], False)
            cut = False
        elif kind[row] == r.PARTIAL:
            found, cut = mask_all(octets, unused, begin, end, False)
            handshake = command[row] == CONNECT or command[row] == STOMP or (command[row] < 0 and _may_open(octets, begin, end))
            cut = cut or command[row] == ERROR or (handshake and body[row] < 0)
        else:
            # junk with lines of a head began like a frame: its first line is a command's
            torn = not syntax[row] & HEAD_LINES and (s[r.PLACE] == CUT or (s[r.PLACE] == LEADING and _tail(octets, begin, end)))
            first = begin
            if torn:
                syntax[row] |= TORN
                first = torn_end(octets, begin, end)
            found, cut = mask_all(octets, unused, first, end, False)
            cut = (octets[end - 1] != NUL and (cut or _spells(octets, begin, end))) or (torn and find_nul(octets, begin, end) < 0)
        if found:
            syntax[row] |= PASSCODE
        s[r.PLACE] = CUT if cut else WHOLE


def mark(octets: Octets, rows: Rows) -> None:
    """Set TORN and PASSCODE in the syntax of rows just delimited; their state notes what is cut behind them."""
    _mark(octets, rows.direction, rows.position, rows.length, rows.kind, rows.syntax, rows.body, rows.command, rows.state.numbers)
