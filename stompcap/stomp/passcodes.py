"""What connections give as secrets in the heads of their frames: it is masked wherever it is repeated (`stompcap.stomp.repeats`).

Values of headers with secret names, JSON Web Tokens in other values, and the passwords of URLs there.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import numpy as np

from stompcap import codes
from stompcap.columns import I64, Bools, Octets
from stompcap.kernel import callee, kernel
from stompcap.stomp.clues import LOGIN_OCTETS, mask_head_values, may_have_values
from stompcap.stomp.delimiter_io import Rows
from stompcap.stomp.grammar import CONNECT, ERROR, LF, STOMP
from stompcap.stomp.marks import PASSCODE
from stompcap.stomp.octets import equals, readonly
from stompcap.stomp.secret_forms import LEAST
from stompcap.stomp.secret_lines import line_end
from stompcap.stomp.secret_names import SECRET_NAMES, SecretNames, name_end, secret_value
from stompcap.stomp.secret_values import LETTER_E, SLASH, password_of, value_at

MOST = 8
"""Values that are taken of one connection; further ones, from a client that tries many passcodes, are not searched for."""
LEAST_LATER = 8
"""Octets of a value given in another frame than CONNECT and STOMP."""
SCHEME = re.compile(rb"(?i)[ \t]*(basic|bearer|digest|token|negotiate)[ \t]+(\S+)[ \t]*")
MASKED = b"***"
NOTHING = frozenset[bytes]()
Passcodes = Mapping[int, frozenset[bytes]]
"""By connection (direction // 2): what it gave as secrets."""


@callee
def _known(octets: Octets, begin: int, end: int, values: I64, count: int) -> bool:
    """Whether [begin, end) equals one of the values."""
    for one in range(count):
        if equals(octets, begin, end, octets[values[one, 0] : values[one, 1]]):
            return True
    return False


@callee
def _next(octets: Octets, line: int, at: int, stop: int, names: SecretNames) -> tuple[int, int, bool]:
    """The next secret from `at` on in the header line [line, stop): where it begins and ends, and whether it may be a mere name.

    (-1, -1, False) where there is none.
    """
    if at == line:
        value, _ = secret_value(octets, line, stop, names)
        if value >= 0:
            return value, stop, False
        at = name_end(octets, line, stop) + 1
    while at < stop:
        octet = octets[at]
        if octet == SLASH or octet == LETTER_E:
            first, last = value_at(octets, line, at, stop, False)
            if first >= 0:
                password = password_of(octets, first, last) if octet == SLASH else first
                return password, last, octet == SLASH and password == first
        at += 1
    return -1, -1, False


@kernel
def _values(
    octets: Octets, connection: I64, position: I64, body: I64, opens: Bools, names: SecretNames, values: I64, counts: I64,
    logins: I64,
) -> None:
    """The secret values of heads, different ones of each connection: begin, end, and 1 where they are in a head that `opens` it.

    And the login of such a head, else (0, 0, 0).
    """
    for row in range(position.size):
        one = connection[row]
        begin, end = position[row], position[row] + body[row]
        login = login_end = 0
        before = counts[one]
        line = begin
        while line < end:
            stop = line_end(octets, line, end)
            behind = line + LOGIN_OCTETS.size
            if opens[row] and login == 0 and behind <= stop and equals(octets, line, behind, LOGIN_OCTETS):
                login, login_end = behind, stop
            value, last, name = _next(octets, line, line, stop, names)
            while value >= 0 and counts[one] < values.shape[1]:
                if value < last and not _known(octets, value, last, values[one], counts[one]):
                    values[one, counts[one], 0], values[one, counts[one], 1] = value, last
                    values[one, counts[one], 2] = opens[row] and not name
                    counts[one] += 1
                value, last, name = _next(octets, line, max(last, line + 1), stop, names)
            while stop < end and octets[stop] != LF:
                stop += 1
            line = stop + 1
        for k in range(before, counts[one]):
            logins[one, k, 0], logins[one, k, 1] = login, login_end


@kernel
def _reveal(octets: Octets, position: I64, body: I64, among: Bools, unused: Octets) -> None:
    """Leave `among` the heads those with a token or a URL's user information in a value."""
    for row in range(position.size):
        begin, end = position[row], position[row] + body[row]
        if among[row]:
            among[row] = may_have_values(octets, begin, end) and mask_head_values(octets, unused, begin, end, False) != 0


def giving(octets: Octets, rows: Rows) -> I64:
    """Which rows are frames whose heads may give secrets: those of CONNECT and STOMP, then others."""
    framed, opens = (rows.kind == codes.FRAME) & (rows.command != ERROR), (rows.command == CONNECT) | (rows.command == STOMP)
    named = framed & (opens | ((rows.syntax & PASSCODE) != 0))
    others = framed & ~named
    _reveal(readonly(octets), rows.position, rows.body, others, np.empty(0, np.uint8))
    return np.concatenate([np.flatnonzero(named & opens), np.flatnonzero((named | others) & ~opens)])


def passcodes_of(
    octets: Octets, rows: Rows, known: Passcodes | None = None, names: SecretNames = SECRET_NAMES
) -> dict[int, frozenset[bytes]]:
    """What the connections gave as secrets in the heads of these frames, those of CONNECT and STOMP first, and those known before."""
    found = dict(known or {})
    frames = rows.take(giving(octets, rows))
    if not len(frames):
        return found
    octets, opens = readonly(octets), (frames.command == CONNECT) | (frames.command == STOMP)
    connections, of = np.unique(frames.direction // 2, return_inverse=True)
    values, logins = np.zeros((2, connections.size, MOST, 3), np.int64)
    counts = np.zeros(connections.size, np.int64)
    _values(octets, of.astype(np.int64), frames.position, frames.body, opens, names, values, counts, logins)
    there = np.arange(MOST) < counts[:, None]
    columns = np.repeat(connections, counts), values[there], logins[there]
    for connection, (begin, end, surely), login in zip(*(column.tolist() for column in columns), strict=True):
        word = octets[begin:end].tobytes()
        before = found.get(connection, NOTHING)
        if len(before) < 2 * MOST and (surely or _unlikely(word)) and (more := _secrets_of(word, octets[slice(*login[:2])].tobytes())):
            found[connection] = before | more
    return found


def _unlikely(value: bytes) -> bool:
    """Whether a value of a frame that does not open the session is likely to mean nothing else where it occurs."""
    return len(value) >= LEAST_LATER and not value.isalpha()


@lru_cache(maxsize=1 << 12)
def _secrets_of(value: bytes, login: bytes) -> frozenset[bytes]:
    """What is secret of a value: itself, with the login before it as HTTP's Basic writes both, and what a scheme's name precedes."""
    if MASKED in value:
        return NOTHING
    found = {value, unquote_to_bytes(value) if b"%" in value else value}
    if login and MASKED not in login:
        found.add(login + b":" + value)
    if scheme := SCHEME.fullmatch(value):
        found.add(scheme[2])
        if scheme[1].lower() == b"basic":
            try:
                both = base64.b64decode(scheme[2], validate=True)
            except binascii.Error:
                both = b""
            found |= {both, both.partition(b":")[2]}
    return frozenset(one for one in found if len(one) >= LEAST)
