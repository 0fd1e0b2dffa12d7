"""The role of a direction's sender by its first octets, before anything else is known of the connection.

On a port where STOMP is expected a known command's line is enough. On any other port a direction speaks STOMP if it begins with a line
of CONNECT, STOMP or CONNECTED, or if a whole frame with a known command is found where a frame may begin.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stompcap.kernel import kernel
from stompcap.stomp.grammar import ANY, COLON, CONNECT, CONNECTED, CR, FROM_SERVER, LF, NUL, SPACE, STOMP, TAB, pack
from stompcap.stomp.lookahead import END, KNOWN, WAIT, after_eols, boundary, command_line
from stompcap.stomp.octets import Octets, find_nul, match_command, readonly
from stompcap.stomp.rows import Bools, Ints

UNKNOWN, CLIENT, SERVER, TLS, HTTP, WEBSOCKET, OTHER = range(7)
"""Roles: unknown; a STOMP client or server by the first command; TLS; HTTP; HTTP that asks for WebSocket; none of these."""

HTTP_OCTETS, HTTP_LENGTHS = pack(("GET ", "POST ", "PUT ", "HEAD ", "OPTIONS ", "CONNECT ", "DELETE ", "PATCH ", "HTTP/1."))
UPGRADE_OCTETS, UPGRADE_LENGTHS = pack(("upgrade:",))
WEBSOCKET_OCTETS, WEBSOCKET_LENGTHS = pack(("websocket",))
TLS_FIRST, TLS_HANDSHAKE, TLS_LAST = 0x14, 0x16, 0x17
TLS_RECORD = 5
"""Octets of a TLS record's header (RFC 8446, 5.1): content type, version of two octets, length of two."""
TLS_LONGEST = (1 << 14) + 2048


@kernel
def _code_of(octets: Octets, begin: int) -> int:
    """The code of the known command at `begin`, whose line is whole."""
    stop = begin
    while octets[stop] & 0xDF >= 65 and octets[stop] & 0xDF <= 90:
        stop += 1
    return int(match_command(octets, begin, stop))


@kernel
def _any_of(octets: Octets, begin: int, end: int, words: Octets, lengths: Ints) -> bool:
    """Whether one of the words is at `begin`; letters that a word has in lower case match in either case."""
    for word in range(lengths.size):
        length = lengths[word]
        if end - begin >= length:
            same = True
            for k in range(length):
                octet = octets[begin + k]
                if octet != words[word, k] and (octet < 65 or octet > 90 or octet + 32 != words[word, k]):
                    same = False
                    break
            if same:
                return True
    return False


@kernel
def _asks_for_websocket(octets: Octets, begin: int, end: int) -> bool:
    """Whether the head of the HTTP message at `begin` has a line `Upgrade: websocket` (RFC 6455, 4.1)."""
    i = begin
    while i < end:
        if octets[i] == LF:
            if i + 1 < end and (octets[i + 1] == LF or octets[i + 1] == CR):
                return False
            if _any_of(octets, i + 1, end, UPGRADE_OCTETS, UPGRADE_LENGTHS):
                i += 1 + UPGRADE_LENGTHS[0]
                while i < end and (octets[i] == SPACE or octets[i] == TAB):
                    i += 1
                return bool(_any_of(octets, i, end, WEBSOCKET_OCTETS, WEBSOCKET_LENGTHS))
        i += 1
    return False


@kernel
def _tls(octets: Octets, begin: int, end: int, synced: bool) -> bool:
    """Whether a TLS record is at `begin`: one of a handshake, or mid-stream any with another behind it."""
    i = begin
    for _ in range(1 if synced or (i < end and octets[i] == TLS_HANDSHAKE) else 2):
        if end - i < TLS_RECORD or octets[i + 1] != 3 or octets[i + 2] > 4:
            return False
        if octets[i] < TLS_FIRST or octets[i] > TLS_LAST or (synced and octets[i] != TLS_HANDSHAKE):
            return False
        length = 256 * int(octets[i + 3]) + int(octets[i + 4])
        if length == 0 or length > TLS_LONGEST:
            return False
        i += TLS_RECORD + length
    return True


@kernel
def _whole_frame(octets: Octets, begin: int, end: int) -> bool:
    """Whether a whole frame is at `begin`, whose command's line is whole: header lines, a blank line, a NUL."""
    i = begin
    while octets[i] != LF:
        i += 1
    i += 1
    while True:
        line = i
        colon = False
        while i < end and octets[i] != LF:
            octet = octets[i]
            if octet < SPACE and octet != TAB and (octet != CR or i + 1 == end or octets[i + 1] != LF):
                return False
            colon = colon or (octet == COLON and i > line)
            i += 1
        if i == end:
            return False
        if i == line or (i == line + 1 and octets[line] == CR):
            return bool(find_nul(octets, i, end) >= 0)
        if not colon:
            return False
        i += 1


@kernel
def _role_at(octets: Octets, begin: int, end: int, opens: bool, expected: bool) -> int:
    """The sender's role by the known command at `begin`; `opens`: the stream begins there. UNKNOWN where that is too little evidence."""
    code = _code_of(octets, begin)
    opening = opens and (code == CONNECT or code == STOMP or code == CONNECTED)
    if not (expected or opening or _whole_frame(octets, begin, end)):
        return UNKNOWN
    return SERVER if FROM_SERVER[code] else CLIENT


@kernel
def _peek(octets: Octets, begin: int, end: int, synced: bool, expected: bool) -> int:
    if _tls(octets, begin, end, synced):
        return TLS
    if _any_of(octets, begin, end, HTTP_OCTETS, HTTP_LENGTHS):
        return WEBSOCKET if _asks_for_websocket(octets, begin, end) else HTTP
    i = begin
    while synced and i < end:
        before = i
        i = after_eols(octets, i, end)
        while i < end and octets[i] == NUL:
            i += 1
        if i == before:
            break
    verdict, at = command_line(octets, i, end, ANY) if synced else boundary(octets, i, end, ANY)
    if verdict == KNOWN:
        role = _role_at(octets, i if synced else at, end, synced, expected)
        if role != UNKNOWN:
            return role
    if verdict == WAIT or verdict == END or i == end:
        return UNKNOWN
    nul = begin
    while expected or not synced:
        nul = find_nul(octets, nul, end)
        if nul < 0:
            break
        verdict, at = boundary(octets, nul + 1, end, ANY)
        if verdict == KNOWN:
            role = _role_at(octets, at, end, False, expected)
            if role != UNKNOWN:
                return role
        nul += 1
    return OTHER if synced else UNKNOWN


@kernel
def _peek_all(
    octets: Octets, position: Ints, length: Ints, synced: Bools, expected: Bools, roles: npt.NDArray[np.int8]
) -> None:
    for d in range(position.size):
        roles[d] = _peek(octets, position[d], position[d] + length[d], synced[d], expected[d])


def peek(octets: Octets, position: Ints, length: Ints, synced: Bools, expected: Bools) -> npt.NDArray[np.int8]:
    """The role that the first octets of each direction show.

    Args:
        octets: one buffer that contains all stretches.
        position, length: per direction, its first captured stretch; some hundred octets suffice, mid-stream it may need
            more, up to a frame boundary or a whole frame.
        synced: per direction, whether the stretch begins where the stream does.
        expected: per direction, whether its connection has a port where STOMP is expected.

    Returns:
        One role code per direction. OTHER only where the true beginning is not STOMP; an inconclusive stretch is UNKNOWN.
    """
    roles = np.zeros(position.size, np.int8)
    _peek_all(readonly(octets), position, length, synced, expected, roles)
    return roles
