"""Repeated secrets: what a connection gave as one is masked wherever it or another repeats it, in any of its forms.

Brokers quote a passcode in an ERROR, clients put it into a body or a header of their own. Commands, names of headers, and headers whose
values are numbers or versions of the protocol are unchanged, so that masking never alters a frame's meaning.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

import numpy as np

from stompcap.kernel import kernel
from stompcap.stomp import rows as r
from stompcap.stomp.grammar import BACKSLASH, COLON, CONNECT, ERROR, LF, STOMP, pack
from stompcap.stomp.marks import PASSCODE
from stompcap.stomp.octets import Octets, equals, readonly
from stompcap.stomp.rows import Bools, Ints, Rows
from stompcap.stomp.secret_forms import BEFORE, BEHIND, LEAST
from stompcap.stomp.secret_lines import cover, line_end
from stompcap.stomp.secret_names import SECRET_NAMES, SecretNames, secret_value
from stompcap.stomp.secret_values import value_at

MOST = 8
"""Values that are taken of one connection; further ones, from a client that tries many passcodes, are not searched for."""
LEAST_LATER = 8
"""Octets of a value given in another frame than CONNECT and STOMP."""
NUMERIC_OCTETS, NUMERIC_LENGTHS = pack(("accept-version", "content-length", "heart-beat", "version"))
LOGIN_OCTETS = np.frombuffer(b"login:", np.uint8).copy()
SCHEME = re.compile(rb"(?i)[ \t]*(basic|bearer|digest|token|negotiate)[ \t]+(\S+)[ \t]*")
MASKED = b"***"
DIGIT = np.zeros(256, np.bool_)
DIGIT[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")] = True
Passcodes = Mapping[int, frozenset[bytes]]
"""By connection (direction // 2): what it gave as secrets."""


@kernel
def _known(octets: Octets, begin: int, end: int, values: Ints, count: int) -> bool:
    """Whether [begin, end) equals one of the values."""
    for one in range(count):
        if values[one, 1] - values[one, 0] == end - begin:
            same = True
            for k in range(end - begin):
                if octets[begin + k] != octets[values[one, 0] + k]:
                    same = False
                    break
            if same:
                return True
    return False


@kernel
def _values(
    octets: Octets, connection: Ints, position: Ints, body: Ints, opens: Bools, names: SecretNames, values: Ints, counts: Ints,
    logins: Ints,
) -> None:
    """The secret values of heads, different ones of each connection; and the login of those in a head that `opens` it, else (-1, -1)."""
    for row in range(position.size):
        one = connection[row]
        begin, end = position[row], position[row] + body[row]
        login = login_end = 0 if opens[row] else -1
        before = counts[one]
        line = begin
        while line < end:
            stop = line_end(octets, line, end)
            value, _ = secret_value(octets, line, stop, names)
            behind = line + LOGIN_OCTETS.size
            if login == 0 and value < 0 and behind <= stop and equals(octets, line, behind, LOGIN_OCTETS):
                login, login_end = behind, stop
                if login < stop:
                    first, last = value_at(octets, login, login, stop, False)
                    value = login if first == login and last == stop else -1
            if 0 <= value < stop and counts[one] < values.shape[1] and not _known(octets, value, stop, values[one], counts[one]):
                values[one, counts[one], 0], values[one, counts[one], 1] = value, stop
                counts[one] += 1
            while stop < end and octets[stop] != LF:
                stop += 1
            line = stop + 1
        for k in range(before, counts[one]):
            logins[one, k, 0], logins[one, k, 1] = login, login_end


def passcodes_of(
    octets: Octets, rows: Rows, known: Passcodes | None = None, names: SecretNames = SECRET_NAMES
) -> dict[int, frozenset[bytes]]:
    """What the connections gave as secrets in the heads of these frames, those of CONNECT and STOMP first, and those known before."""
    found = dict(known or {})
    framed, opens = rows.kind == r.FRAME, (rows.command == CONNECT) | (rows.command == STOMP)
    secret = framed & (opens | ((rows.syntax & PASSCODE) != 0)) & (rows.command != ERROR)
    which = np.concatenate([np.flatnonzero(secret & opens), np.flatnonzero(secret & ~opens)])
    if not which.size:
        return found
    chosen = rows.take(which)
    connections, of = np.unique(chosen.direction // 2, return_inverse=True)
    values, logins = np.zeros((2, connections.size, MOST, 2), np.int64)
    counts = np.zeros(connections.size, np.int64)
    _values(readonly(octets), of.astype(np.int64), chosen.position, chosen.body, opens[which], names, values, counts, logins)
    for number, connection in enumerate(connections.tolist()):
        given = found.get(connection, frozenset())
        for value, login in zip(values[number, : counts[number]].tolist(), logins[number].tolist(), strict=False):
            word = octets[slice(*value)].tobytes()
            if len(given) < 2 * MOST and (login[0] >= 0 or _unlikely(word)):
                given |= _given(word, octets[slice(*login)].tobytes())
        if given:
            found[connection] = given
    return found


def _unlikely(value: bytes) -> bool:
    """Whether a value of a frame that does not open the session is likely to mean nothing else where it occurs."""
    return len(value) >= LEAST_LATER and not value.isalpha()


def _given(value: bytes, login: bytes) -> frozenset[bytes]:
    """What is secret of a value: itself, with the login before it as HTTP's Basic writes both, and what a scheme's name precedes."""
    if MASKED in value:
        return frozenset()
    found = {value}
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


@kernel
def _may_cover(octets: Octets, begin: int, at: int, stop: int) -> bool:
    """Whether [at, stop) in the head at `begin` lies in one value, of a header that is no number of the protocol's."""
    for k in range(at, stop):
        if octets[k] == LF:
            return False
    line = at
    while line > begin and octets[line - 1] != LF:
        line -= 1
    colon = line
    while colon < at and octets[colon] != COLON:
        colon += 1
    if line == begin or colon == at:
        return False
    for word in range(NUMERIC_LENGTHS.size):
        if colon - line == NUMERIC_LENGTHS[word] and equals(octets, line, colon, NUMERIC_OCTETS[word, : NUMERIC_LENGTHS[word]]):
            return False
    return True


@kernel
def mask_repeat(
    octets: Octets, masked: Octets, begin: int, head: int, end: int, at: int, stop: int, edges: int, apply: bool
) -> bool:
    """Mask the secret at [at, stop) of the row [begin, end), before `head` only in a value; whether there was one to mask."""
    if edges & BEFORE and at > begin and DIGIT[octets[at - 1]]:
        at -= 1
    if edges & BEHIND and stop < end and DIGIT[octets[stop]]:
        stop += 1
    if at < head:
        if not _may_cover(octets, begin, at, stop):
            return False
        first = at
        while first > begin and octets[first - 1] == BACKSLASH:
            first -= 1
        # half an escape left before the mask would be an undefined one
        at -= (at - first) % 2
    return cover(octets, masked, at, stop, apply)
