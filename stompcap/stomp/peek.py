"""The role of a direction's sender by its first octets, before anything else is known of the connection.

On a port where STOMP is expected a known command's line is enough. On any other port a direction speaks STOMP if it begins with a line
of CONNECT, STOMP or CONNECTED, or if a whole frame with a known command is found where a frame may begin.
"""

from __future__ import annotations

import numpy as np

from stompcap.codes import ROLE_CLIENT, ROLE_EOLS, ROLE_OTHER, ROLE_SERVER, ROLE_UNKNOWN
from stompcap.columns import I8, I64, Bools, Octets
from stompcap.kernel import callee, kernel
from stompcap.stomp.grammar import COLON, CONNECT, CONNECTED, CR, FROM_SERVER, LF, NO_VOTE, NUL, SPACE, STOMP, TAB
from stompcap.stomp.lookahead import END, KNOWN, NO, WAIT, after_eols, boundary, command_line
from stompcap.stomp.octets import find_nul, match_command, readonly
from stompcap.stomp.prefixes import protocol_at


@callee
def _code_of(octets: Octets, begin: int) -> int:
    """The code of the known command at `begin`, whose line is whole."""
    stop = begin
    while octets[stop] & 0xDF >= 65 and octets[stop] & 0xDF <= 90:
        stop += 1
    return int(match_command(octets, begin, stop))


@callee
def _whole_frame(octets: Octets, begin: int, end: int) -> int:
    """Whether a whole frame is at `begin`, whose command's line is whole: header lines, a blank line, a NUL. WAIT: its end is not there."""
    i = begin
    while octets[i] != LF:
        i += 1
    i += 1
    while True:
        line = i
        colon = False
        while i < end and octets[i] != LF:
            octet = octets[i]
            if octet < SPACE and octet != TAB and (octet != CR or (i + 1 < end and octets[i + 1] != LF)):
                return NO
            colon = colon or (octet == COLON and i > line)
            i += 1
        if i == end:
            return WAIT
        if i == line or (i == line + 1 and octets[line] == CR):
            return KNOWN if find_nul(octets, i, end) >= 0 else WAIT
        if not colon:
            return NO
        i += 1


@callee
def _role_at(octets: Octets, begin: int, end: int, opens: bool, expected: bool) -> tuple[int, int]:
    """The sender's role by the known command at `begin`; `opens`: the stream begins there.

    UNKNOWN where that is too little evidence; and NO where more octets cannot change that.
    """
    code = _code_of(octets, begin)
    role = ROLE_SERVER if FROM_SERVER[code] else ROLE_CLIENT
    if expected or (opens and (code == CONNECT or code == STOMP or code == CONNECTED)):
        return role, KNOWN
    verdict = _whole_frame(octets, begin, end)
    return (role if verdict == KNOWN else ROLE_UNKNOWN), verdict


@callee
def _behind_nuls(octets: Octets, begin: int, end: int, expected: bool) -> int:
    """The role by the first known command that a NUL precedes; UNKNOWN where there is none."""
    nul = begin
    while True:
        nul = find_nul(octets, nul, end)
        if nul < 0:
            return ROLE_UNKNOWN
        verdict, at = boundary(octets, nul + 1, end, NO_VOTE)
        if verdict == KNOWN:
            role, _ = _role_at(octets, at, end, False, expected)
            if role != ROLE_UNKNOWN:
                return int(role)
        nul += 1


@callee
def _peek_midstream(octets: Octets, begin: int, end: int, expected: bool) -> int:
    verdict, at = boundary(octets, begin, end, NO_VOTE)
    if verdict == KNOWN:
        role, _ = _role_at(octets, at, end, False, expected)
        if role != ROLE_UNKNOWN:
            return int(role)
    if verdict == WAIT or verdict == END:
        return ROLE_EOLS if verdict == END and begin < end else ROLE_UNKNOWN
    return int(_behind_nuls(octets, begin, end, expected))


@callee
def _peek_beginning(octets: Octets, begin: int, end: int, expected: bool) -> int:
    i = begin
    nuls = False
    while i < end:
        before = i
        i = after_eols(octets, i, end)
        while i < end and octets[i] == NUL:
            i += 1
            nuls = True
        if i == before:
            break
    if i == end:
        return ROLE_UNKNOWN if nuls or begin == end else ROLE_EOLS
    verdict, _ = command_line(octets, i, end, NO_VOTE)
    if verdict == KNOWN:
        role, verdict = _role_at(octets, i, end, True, expected)
        if role != ROLE_UNKNOWN:
            return int(role)
    if verdict == WAIT or (octets[i] == CR and i + 1 == end):
        return ROLE_UNKNOWN
    return int(_behind_nuls(octets, begin, end, expected)) if expected else ROLE_OTHER


@kernel
def _peek_all(
    octets: Octets, direction: I64, position: I64, length: I64, synced: Bools, expected: Bools, roles: I8
) -> None:
    """Stretches behind the first of a direction tell whether it speaks STOMP where those before told nothing."""
    for i in range(position.size):
        d, begin, end = direction[i], position[i], position[i] + length[i]
        if i == 0 or direction[i - 1] != d:
            role = protocol_at(octets, begin, end, synced[i])
            if role == ROLE_UNKNOWN and synced[i]:
                role = _peek_beginning(octets, begin, end, expected[i])
            elif role == ROLE_UNKNOWN:
                role = _peek_midstream(octets, begin, end, expected[i])
            roles[d] = role
        elif roles[d] == ROLE_UNKNOWN or roles[d] == ROLE_EOLS:
            role = _peek_midstream(octets, begin, end, expected[i])
            roles[d] = role if role == ROLE_CLIENT or role == ROLE_SERVER or role == roles[d] else ROLE_UNKNOWN


def peek(
    octets: Octets, position: I64, length: I64, synced: Bools, expected: Bools, direction: I64 | None = None
) -> I8:
    """The role that the first octets of each direction show.

    Args:
        octets: one buffer that contains all stretches.
        position, length: stretches of captured octets, in order; some hundred octets of a direction suffice, mid-stream it may need
            more, up to a frame boundary or a whole frame.
        synced: per stretch, whether it begins where the stream does.
        expected: per stretch, whether it was sent to or from a port where STOMP is expected.
        direction: per stretch, the direction that it is of, ascending from 0 on; a direction each by default.

    Returns:
        One role code (stompcap.stomp.prefixes) per direction. OTHER only where the true beginning is not STOMP and STOMP is not expected;
        an inconclusive stretch is UNKNOWN, and EOLS where it is nothing else.
    """
    of = np.arange(position.size) if direction is None else direction
    roles = np.zeros(int(of[-1]) + 1 if of.size else 0, np.int8)
    _peek_all(readonly(octets), of, position, length, synced, expected, roles)
    return roles
