"""What the first octets of a stream direction say about who sends there, before anything else is known of the connection."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stompcap.kernel import kernel
from stompcap.stomp.grammar import ANY, FROM_SERVER, NUL, pack
from stompcap.stomp.lookahead import END, KNOWN, WAIT, after_eols, boundary, command_line
from stompcap.stomp.octets import Octets, find_nul, match_command, readonly
from stompcap.stomp.rows import Bools, Ints

UNKNOWN, CLIENT, SERVER, TLS, HTTP, OTHER = range(6)
"""Roles: nothing to go by; a STOMP client or server by the first command; TLS; HTTP (WebSocket among it); none of these."""

HTTP_OCTETS, HTTP_LENGTHS = pack(("GET ", "POST ", "PUT ", "HEAD ", "OPTIONS ", "CONNECT ", "DELETE ", "PATCH ", "HTTP/1."))


@kernel
def _role_of(octets: Octets, begin: int, end: int) -> int:
    """The role that the known command at `begin` (whose line is known to be whole) gives its sender."""
    stop = begin
    while octets[stop] & 0xDF >= 65 and octets[stop] & 0xDF <= 90:
        stop += 1
    return SERVER if FROM_SERVER[match_command(octets, begin, stop)] else CLIENT


@kernel
def _http(octets: Octets, begin: int, end: int) -> bool:
    for word in range(HTTP_LENGTHS.size):
        length = HTTP_LENGTHS[word]
        if end - begin >= length:
            same = True
            for k in range(length):
                if octets[begin + k] != HTTP_OCTETS[word, k]:
                    same = False
                    break
            if same:
                return True
    return False


@kernel
def _peek(octets: Octets, begin: int, end: int, synced: bool) -> int:
    if end - begin >= 3 and octets[begin] == 0x16 and octets[begin + 1] == 3 and octets[begin + 2] <= 4:
        return TLS
    if _http(octets, begin, end):
        return HTTP
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
        return _role_of(octets, i if synced else at, end)
    if verdict == WAIT or verdict == END or i == end:
        return UNKNOWN
    nul = begin
    while True:
        nul = find_nul(octets, nul, end)
        if nul < 0:
            break
        verdict, at = boundary(octets, nul + 1, end, ANY)
        if verdict == KNOWN:
            return _role_of(octets, at, end)
        nul += 1
    return OTHER if synced else UNKNOWN


@kernel
def _peek_all(octets: Octets, position: Ints, length: Ints, synced: Bools, roles: npt.NDArray[np.int8]) -> None:
    for d in range(position.size):
        roles[d] = _peek(octets, position[d], position[d] + length[d], synced[d])


def peek(octets: Octets, position: Ints, length: Ints, synced: Bools) -> npt.NDArray[np.int8]:
    """The role that the first octets of each direction speak of.

    Args:
        octets: one buffer that all stretches lie in.
        position, length: per direction, the first stretch captured of it; some hundred octets do, a mid-stream one may need
            more for a frame boundary to lie in it.
        synced: per direction, whether the stretch begins where the stream does.

    Returns:
        One role code per direction. OTHER only where the true beginning is no STOMP; a mid-stream stretch without a boundary is UNKNOWN.
    """
    roles = np.zeros(position.size, np.int8)
    _peek_all(readonly(octets), position, length, synced, roles)
    return roles
