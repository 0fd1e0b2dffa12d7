"""Repeated passcodes: the passcode in a connection's CONNECT is masked wherever that connection's octets repeat it.

Brokers quote it in an ERROR, clients put it into a body or a header of their own. Commands, names of headers, and headers whose
values are numbers or versions of the protocol are unchanged, so that masking never alters a frame's meaning. A passcode of
fewer octets than LEAST is not searched for: most matches would be accidental.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from stompcap.kernel import kernel
from stompcap.stomp import rows as r
from stompcap.stomp.grammar import BACKSLASH, COLON, CONNECT, ESCAPES, LF, STOMP, pack
from stompcap.stomp.octets import Octets, equals, readonly, secret_value
from stompcap.stomp.passcodes import cover, line_end
from stompcap.stomp.rows import Bools, Ints, Rows

LEAST = 6
MOST = 8
"""Spellings that are searched for in one connection; further ones, from a client that tries many passcodes, are not."""
NUMERIC_OCTETS, NUMERIC_LENGTHS = pack(("accept-version", "content-length", "heart-beat", "version"))
PLAIN = {octet.encode(): plain.encode() for octet, plain in ESCAPES[-1].items()}
ESCAPED = {plain: b"\\" + octet for octet, plain in PLAIN.items()}
Passcodes = Mapping[int, frozenset[bytes]]
"""By connection (direction // 2): the spellings to search for."""


@kernel
def _values(octets: Octets, position: Ints, body: Ints, begins: Ints, ends: Ints) -> None:
    """The value of each head's first passcode line; begin -1 where there is none."""
    for row in range(position.size):
        begins[row] = -1
        line, end = position[row], position[row] + body[row]
        while line < end:
            stop = line_end(octets, line, end)
            value, _ = secret_value(octets, line, stop)
            if value >= 0:
                begins[row], ends[row] = value, stop
                break
            while stop < end and octets[stop] != LF:
                stop += 1
            line = stop + 1


def passcodes_of(octets: Octets, rows: Rows, known: Passcodes | None = None) -> dict[int, frozenset[bytes]]:
    """The passcodes in CONNECT and STOMP frames among these rows, in all their spellings, and those known before."""
    found = dict(known or {})
    opening = rows.take((rows.kind == r.FRAME) & ((rows.command == CONNECT) | (rows.command == STOMP)))
    begins, ends = np.full(len(opening), -1, np.int64), np.zeros(len(opening), np.int64)
    _values(readonly(octets), opening.position, opening.body, begins, ends)
    for row in np.flatnonzero(ends - begins >= LEAST):
        if begins[row] >= 0:
            connection = int(opening.direction[row]) // 2
            before = found.get(connection, frozenset())
            if len(before) < MOST:
                found[connection] = before | _spellings(octets[begins[row] : ends[row]].tobytes())
    return found


def _spellings(passcode: bytes) -> frozenset[bytes]:
    """A passcode as it is, unescaped and escaped (STOMP 1.2, Value Encoding)."""
    plain = re.sub(rb"\\(.)", lambda found: PLAIN.get(found[1], found[0]), passcode)
    escaped = re.sub(rb"[\\:]", lambda found: ESCAPED[found[0]], passcode)
    return frozenset(one for one in (passcode, plain, escaped) if len(one) >= LEAST)


def _end_to_end(passcodes: Passcodes, connections: int) -> tuple[Octets, Ints, Ints]:
    """All spellings in one buffer, where each begins and the last one ends, and the index of each connection's first."""
    words = [(connection, word) for connection in sorted(passcodes) for word in sorted(passcodes[connection])]
    at = np.cumsum([0, *(len(word) for _, word in words)])
    first = np.searchsorted(np.array([connection for connection, _ in words], np.int64), np.arange(connections + 1))
    return readonly(np.frombuffer(b"".join(word for _, word in words), np.uint8)), at.astype(np.int64), first.astype(np.int64)


@kernel
def _skips(needle: Octets, skip: Ints) -> None:
    """How far a search may advance, by the octet at the needle's last position (Horspool)."""
    skip[:] = needle.size
    for k in range(needle.size - 1):
        skip[needle[k]] = needle.size - 1 - k


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
def _search(octets: Octets, masked: Octets, begin: int, head: int, end: int, needle: Octets, skip: Ints, apply: bool) -> bool:
    """Mask the needle in [begin, end), before `head` in values only; whether it was found."""
    found = False
    size = needle.size
    i = begin
    while i + size <= end:
        if octets[i + size - 1] == needle[size - 1] and equals(octets, i, i + size, needle):
            if i >= head:
                found |= cover(octets, masked, i, i + size, apply)
                i += size
                continue
            if _may_cover(octets, begin, i, i + size):
                first = i
                while first > begin and octets[first - 1] == BACKSLASH:
                    first -= 1
                # half an escape left before the mask would be an undefined one
                found |= cover(octets, masked, i - (i - first) % 2, i + size, apply)
                i += size
                continue
        i += skip[octets[i + size - 1]]
    return found


@kernel
def _mask(
    octets: Octets, masked: Octets, direction: Ints, position: Ints, length: Ints, kind: Ints, body: Ints,
    needles: Octets, needle_at: Ints, first: Ints, flags: Bools, apply: bool,
) -> bool:
    """Flag the rows that repeat a passcode of their connection; if `apply`, mask it in flagged rows."""
    skip = np.empty((MOST + 3, 256), np.int64)
    prepared = -1
    any_found = False
    for row in range(position.size):
        connection = direction[row] // 2
        low, high = first[connection], first[connection + 1]
        if low == high or kind[row] == r.GAP or kind[row] == r.EOL or (apply and not flags[row]):
            continue
        if prepared != connection:
            for n in range(low, high):
                _skips(needles[needle_at[n] : needle_at[n + 1]], skip[n - low])
            prepared = connection
        begin, end = position[row], position[row] + length[row]
        head = begin + body[row] if kind[row] == r.FRAME else begin
        for n in range(low, high):
            needle = needles[needle_at[n] : needle_at[n + 1]]
            if _search(octets, masked, begin, head, end, needle, skip[n - low], apply):
                flags[row] = True
                any_found = True
    return any_found


def mask_repeats(octets: Octets, rows: Rows, passcodes: Passcodes) -> tuple[Octets, Bools]:
    """The octets with the passcodes of each connection masked wherever they occur in its rows, in both directions.

    Args:
        octets: the buffer that contains the rows; it is not changed.
        rows: rows as `delimit` gives them; directions 2 * c and 2 * c + 1 belong to connection c.
        passcodes: as `passcodes_of` gives them.

    Returns:
        The buffer itself where there is nothing to mask, else a copy; and per row whether something in it was masked.
    """
    flags = np.zeros(len(rows), np.bool_)
    if not passcodes or not len(rows):
        return octets, flags
    needles = _end_to_end(passcodes, int(rows.direction.max()) // 2 + 1)
    view = readonly(octets)
    columns = (rows.direction, rows.position, rows.length, rows.kind, rows.body, *needles, flags)
    if not _mask(view, np.empty(0, np.uint8), *columns, False):
        return octets, flags
    masked = octets.copy()
    _mask(view, masked, *columns, True)
    return masked, flags
