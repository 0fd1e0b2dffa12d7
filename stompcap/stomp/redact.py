"""Passcodes out of sight: every octet of a `passcode` header's value becomes `*`, lengths and offsets hold.

Looked for at every line's start, in any case, blanks around the name or not: in the heads of all frames, in whole junk and
partial rows, and in the bodies of ERROR, where brokers quote frames. Where a gap cut a head that may hold one, the line that
goes on behind the gap is masked as a whole; so is the first line of a stream whose beginning is missing, if it looks like the
tail of a CONNECT.
"""

from __future__ import annotations

import numpy as np

from stompcap.kernel import kernel
from stompcap.stomp import rows as r
from stompcap.stomp.grammar import CONNECT, CR, ERROR, LF, NUL, SPACE, STAR, STOMP, pack
from stompcap.stomp.octets import Octets, equals, readonly, secret_value
from stompcap.stomp.rows import Bools, Ints, Rows
from stompcap.stomp.syntax import Syntax

_HANDSHAKES = (b"CONNECT", b"STOMP")
_AFTER_GAP, _PASSCODE = int(Syntax.AFTER_GAP), int(Syntax.PASSCODE)
_TAIL_OCTETS, _TAIL_LENGTHS = pack(("accept-version:", "heart-beat:", "login:", "host:", "client-id:"))
_OPENERS = np.zeros((2, 7), np.uint8)
for _row, _name in enumerate(_HANDSHAKES):
    _OPENERS[_row, : len(_name)] = np.frombuffer(_name, np.uint8)


@kernel
def line_end(octets: Octets, begin: int, end: int) -> int:
    """Where the line's text ends: before its LF or CRLF, or at `end`."""
    i = begin
    while i < end and octets[i] != LF:
        i += 1
    if i < end and i > begin and octets[i - 1] == CR:
        i -= 1
    return i


@kernel
def cover(octets: Octets, masked: Octets, begin: int, end: int) -> None:
    """Overwrite [begin, end); a NUL stays, so that masked octets are delimited as the ones they were."""
    for k in range(begin, end):
        if octets[k] != NUL:
            masked[k] = STAR


@kernel
def _mask(octets: Octets, masked: Octets, begin: int, end: int, apply: bool) -> tuple[bool, bool]:
    """Mask the passcode lines of [begin, end): (whether there is one with a value, whether the last line may go on to be one)."""
    found = False
    opened = False
    i = begin
    starts = True
    while i < end:
        octet = octets[i]
        if starts:
            opened = False
            if octet == 112 or octet == 80 or (octet <= SPACE and octet != LF):
                value, cut = secret_value(octets, i, end)
                opened = cut
                if value >= 0:
                    stop = line_end(octets, value, end)
                    found = found or stop > value
                    opened = stop == end
                    if apply:
                        cover(octets, masked, value, stop)
                    i = stop
                    starts = False
                    continue
        starts = octet in (LF, CR, NUL)
        i += 1
    return found, opened


@kernel
def _may_open(octets: Octets, begin: int, end: int) -> bool:
    """Whether a row without a whole command line may be the beginning of CONNECT or STOMP."""
    for word in range(_OPENERS.shape[0]):
        same = True
        for k in range(min(end - begin, _OPENERS.shape[1])):
            if octets[begin + k] & 0xDF != _OPENERS[word, k] and _OPENERS[word, k] != 0:
                same = False
                break
        if same:
            return True
    return False


@kernel
def _handshake_tail(octets: Octets, begin: int, end: int) -> bool:
    """Whether octets whose beginning is missing look like the tail of a CONNECT.

    They do where a header of the handshake stands at a line's start, or where the blank line is followed by the NUL at once.
    """
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
def _redact(
    octets: Octets, masked: Octets, direction: Ints, offset: Ints, position: Ints, length: Ints, kind: Ints, syntax: Ints, body: Ints,
    command: Ints, flags: Bools, apply: bool,
) -> bool:
    """Flag the rows that hold a passcode and mask it in `masked` where `apply` says so; True if there is any."""
    any_found = False
    headless = False
    leading = False
    for row in range(direction.size):
        if row == 0 or direction[row] != direction[row - 1]:
            headless = False
            leading = syntax[row] & _AFTER_GAP != 0
        if kind[row] == r.GAP:
            leading = offset[row] == 0
            continue
        if kind[row] == r.EOL:
            headless = False
            continue
        begin, end = position[row], position[row] + length[row]
        found = False
        opened = False
        if kind[row] == r.FRAME:
            if syntax[row] & _PASSCODE or command[row] == ERROR:
                found, _ = _mask(octets, masked, begin, end if command[row] == ERROR else begin + body[row], apply)
            headless = False
        elif kind[row] == r.PARTIAL:
            found, opened = _mask(octets, masked, begin, end, apply)
            handshake = command[row] == CONNECT or command[row] == STOMP
            headless = opened or (body[row] < 0 and (handshake or _may_open(octets, begin, end)))
        else:
            first = begin
            goes_on = True
            headless = headless or (leading and _handshake_tail(octets, begin, end))
            if headless:
                stop = line_end(octets, begin, end)
                for k in range(begin, stop):
                    if octets[k] == NUL:
                        stop = k
                        break
                found = stop > begin
                if apply:
                    cover(octets, masked, begin, stop)
                first = stop
            more, opened = _mask(octets, masked, first, end, apply)
            found = found or more
            for k in range(begin, end):
                if octets[k] == NUL:
                    goes_on = False
                    break
            headless = opened or (headless and goes_on)
        leading = False
        flags[row] = found
        any_found = any_found or found
    return any_found


def redact(octets: Octets, rows: Rows) -> tuple[Octets, Bools]:
    """The octets with the passcodes of these rows masked.

    Args:
        octets: the buffer that the rows lie in; it is not changed.
        rows: rows as `delimit` gives them, gaps among them.

    Returns:
        The buffer itself where there is nothing to mask, else a copy; and per row whether something in it was masked.
    """
    flags = np.zeros(len(rows), np.bool_)
    view = readonly(octets)
    columns = (rows.direction, rows.offset, rows.position, rows.length, rows.kind, rows.syntax, rows.body, rows.command, flags)
    if not _redact(view, np.empty(0, np.uint8), *columns, False):
        return octets, flags
    masked = octets.copy()
    _redact(view, masked, *columns, True)
    return masked, flags
