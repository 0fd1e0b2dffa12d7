"""The protocol version of each session: from its handshake or, where that was not captured, inferred from its frames.

STOMP 1.2, Protocol Negotiation: CONNECTED names the version; without the header it is 1.0. Without CONNECTED: a CONNECT that offers
nothing is 1.0; otherwise the marks that only some versions leave decide, listed in MARKS. The version is one that all marks together
allow, the lowest of several, as it claims least; CRLF, which other peers write too, only chooses among these. Marks
that contradict each other prove nothing: the version is unknown, and no rule of a single version is judged.

The versions that fit everything captured are given too, for peers leave some marks in other versions: what one of these versions
allows is no violation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stompcap import codes
from stompcap.codes import FRAME, VERSION_ASSUMED_1_0, VERSION_CONNECTED, VERSION_INFERRED, VERSION_UNKNOWN
from stompcap.columns import I8, I64, Octets
from stompcap.kernel import callee, kernel
from stompcap.stomp import grammar as g
from stompcap.stomp.delimiter_io import Rows
from stompcap.stomp.octets import equals, find_header, readonly, skip_blanks, trim_blanks
from stompcap.stomp.syntax import Syntax


def _word(text: str) -> Octets:
    return np.frombuffer(text.encode(), np.uint8).copy()


_VERSION, _ACCEPT, _ACK, _ID = _word("version"), _word("accept-version"), _word("ack"), _word("id")
_MESSAGE_ID, _SUBSCRIPTION, _DESTINATION, _ACTIVEMQ = _word("message-id"), _word("subscription"), _word("destination"), _word("ID:")
_TOKENS = np.frombuffer(b"1.01.11.2", np.uint8).reshape(3, 3).copy()
_CRLF = int(Syntax.CRLF_LINE)
COMMA = 44

# evidence of a stream, in bits: of the handshake, then marks
_NAMED, _ANSWERED, _ASKED, _OFFERS_NOTHING, _CRLF_SEEN = (1 << k for k in range(5))
_KEY_1_2, _KEY_1_1, _OLD_KEY, _NACKS, _ESCAPED, _BARE_COLON = (1 << k for k in range(5, 11))
_OFFERS = 1 << 11
"""Times 1, 2, 4: the versions that CONNECT offers."""

ANY_VERSION = 0b111


class Mark(NamedTuple):
    """A mark: the versions it leads to and those it fits, as bits 1 << version, and whether it proves one by itself."""

    leads: int
    fits: int
    proves: bool


MARKS = {
    _KEY_1_2: Mark(0b100, 0b100, True),  # MESSAGE with ack, ACK or NACK with id
    _KEY_1_1: Mark(0b010, 0b011, True),  # ACK with message-id and subscription, no id: some do so in 1.0 too; NACK with message-id, no id
    _OLD_KEY: Mark(0b011, 0b011, False),  # ACK with message-id and neither id nor subscription: 1.0, and 1.1 where the broker tolerates it
    _NACKS: Mark(0b110, ANY_VERSION, True),  # NACK: RabbitMQ accepts it in 1.0
    _ESCAPED: Mark(0b110, 0b110, True),  # a colon that the server wrote as an escape in destination or message-id
    _BARE_COLON: Mark(0b001, 0b001, True),  # a message-id of ActiveMQ with its colons bare
}


@callee
def _version_of(octets: Octets, begin: int, end: int) -> int:
    """The version number that a header value names, or -1."""
    begin = skip_blanks(octets, begin, end)
    end = trim_blanks(octets, begin, end)
    for version in range(3):
        if equals(octets, begin, end, _TOKENS[version]):
            return version
    return -1


@callee
def _offered(octets: Octets, begin: int, end: int) -> int:
    """The versions that a comma list names, as bits 1 << version."""
    versions = 0
    while begin < end:
        stop = begin
        while stop < end and octets[stop] != COMMA:
            stop += 1
        version = _version_of(octets, begin, stop)
        if version >= 0:
            versions |= 1 << version
        begin = stop + 1
    return versions


@callee
def _escaped_colon(octets: Octets, begin: int, end: int) -> bool:
    for i in range(begin, end - 1):
        if octets[i] == g.BACKSLASH and octets[i + 1] == 99:
            return True
    return False


@callee
def _marks_of_message(octets: Octets, begin: int, end: int, seen: int) -> int:
    """The marks in the header lines [begin, end) of a MESSAGE; those `seen` already are not searched for again."""
    marks = 0
    if not seen & _KEY_1_2 and find_header(octets, begin, end, _ACK)[0] >= 0:
        marks |= _KEY_1_2
    if not seen & (_ESCAPED | _BARE_COLON):
        at, stop = find_header(octets, begin, end, _MESSAGE_ID)
        if at >= 0 and _escaped_colon(octets, at, stop):
            marks |= _ESCAPED
        elif at >= 0 and stop - at > 3 and equals(octets, at, at + 3, _ACTIVEMQ):
            marks |= _BARE_COLON
        at, stop = find_header(octets, begin, end, _DESTINATION)
        if at >= 0 and _escaped_colon(octets, at, stop):
            marks |= _ESCAPED
    return marks


@callee
def _marks_of_settling(octets: Octets, begin: int, end: int, code: int) -> int:
    """The marks in the header lines [begin, end) of an ACK or NACK."""
    marks = _NACKS if code == g.NACK else 0
    if find_header(octets, begin, end, _ID)[0] >= 0:
        return marks | _KEY_1_2
    if find_header(octets, begin, end, _MESSAGE_ID)[0] >= 0:
        pair = code == g.NACK or find_header(octets, begin, end, _SUBSCRIPTION)[0] >= 0
        marks |= _KEY_1_1 if pair else _OLD_KEY
    return marks


@kernel
def _evidence(
    octets: Octets, direction: I64, position: I64, kind: I64, syntax: I64, body: I64, command: I64,
    stream: I64, side: I8, evidence: I64, versions: I8,
) -> None:
    for row in range(direction.size):
        if kind[row] != FRAME:
            continue
        d = direction[row]
        k = stream[d]
        seen = evidence[k]
        if seen & _ANSWERED:
            continue
        begin, end, code = position[row], position[row] + body[row], command[row]
        while octets[begin] != g.LF:
            begin += 1
        begin += 1
        if code == g.CONNECTED:
            if side[d] != 0:
                at, stop = find_header(octets, begin, end, _VERSION)
                seen |= _ANSWERED
                if at >= 0:
                    seen |= _NAMED
                    versions[k] = _version_of(octets, at, stop)
        elif code == g.CONNECT or code == g.STOMP:
            if not seen & _ASKED and side[d] != 1:
                at, stop = find_header(octets, begin, end, _ACCEPT)
                seen |= _ASKED | (_OFFERS_NOTHING if at < 0 else _OFFERS * _offered(octets, at, stop))
        elif code == g.MESSAGE and side[d] != 0:
            seen |= _marks_of_message(octets, begin, end, seen)
        elif (code == g.ACK or code == g.NACK) and side[d] != 1:
            seen |= _marks_of_settling(octets, begin, end, code)
        if syntax[row] & _CRLF:
            seen |= _CRLF_SEEN
        evidence[k] = seen


class Versions(NamedTuple):
    """Versions of streams, or of rows that belong to them.

    version    0 = 1.0, 1 = 1.1, 2 = 1.2, -1 = unknown
    source  how it is known: index into `words.VERSION_SOURCES`
    possible   the versions that fit what was captured, as bits 1 << version; at least one
    """

    version: I8
    source: I8
    possible: I8

    def take(self, at: npt.NDArray[np.integer]) -> Versions:
        """Those at some indices."""
        return Versions(*(column[at] for column in self))


def _inferred(evidence: I64) -> tuple[I64, I64]:
    """The version that the marks of each stream lead to, -1 for none or contradictory marks; and the versions that fit."""
    offered = evidence // _OFFERS & ANY_VERSION
    fitting = np.where(offered == 0, ANY_VERSION, offered)
    allowed = fitting.copy()
    proven = np.zeros(evidence.size, np.bool_)
    for bit, mark in MARKS.items():
        found = (evidence & bit) != 0
        allowed = np.where(found, allowed & mark.leads, allowed)
        fitting = np.where(found, fitting & mark.fits, fitting)
        proven |= found & mark.proves
    crlf = ((evidence & _CRLF_SEEN) != 0) & ((allowed & 0b100) != 0)
    lowest = np.select([allowed & 1 << version != 0 for version in range(3)], [0, 1, 2], default=codes.UNKNOWN_VERSION)
    version = np.where(crlf, codes.V1_2, np.where(proven, lowest, codes.UNKNOWN_VERSION))
    return version, np.where(fitting == 0, ANY_VERSION, fitting)


def negotiate(
    octets: Octets, rows: Rows, stream_of_direction: I64, side: I8, streams: int
) -> Versions:
    """The version of each stream, how it is known, and which versions fit.

    Args:
        octets: the buffer that contains `rows`.
        rows: rows of any kind, by direction and offset; only frames are examined.
        stream_of_direction: per direction, the index of its stream.
        side: per direction, 0 for client to server, 1 for server to client, -1 where unknown.
        streams: how many streams there are.
    """
    evidence = np.zeros(streams, np.int64)
    versions = np.full(streams, -1, np.int8)
    _evidence(
        readonly(octets), rows.direction, rows.position, rows.kind, rows.syntax, rows.body, rows.command,
        np.ascontiguousarray(stream_of_direction, np.int64), np.ascontiguousarray(side, np.int8), evidence, versions,
    )
    named, answered, bare = ((evidence & bit) != 0 for bit in (_NAMED, _ANSWERED, _OFFERS_NOTHING))
    inferred, fitting = _inferred(evidence)
    assumed = answered | bare
    version = np.select([named, assumed], [versions, codes.V1_0], default=inferred).astype(np.int8)
    source = np.select(
        [named & (versions >= 0), ~named & assumed, ~named & (inferred >= 0)],
        [VERSION_CONNECTED, VERSION_ASSUMED_1_0, VERSION_INFERRED],
        default=VERSION_UNKNOWN,
    )
    certain = (source == VERSION_CONNECTED) | (source == VERSION_ASSUMED_1_0)
    return Versions(version, source.astype(np.int8), np.where(certain, 1 << np.maximum(version, 0), fitting).astype(np.int8))
