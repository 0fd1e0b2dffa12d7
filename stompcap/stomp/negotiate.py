"""The protocol version of each session, from its handshake or, where that was not captured, from what its frames show.

STOMP 1.2, Protocol Negotiation: CONNECTED names the version; without the header it is 1.0. Without CONNECTED: a CONNECT that offers
nothing is 1.0; else the marks that only one version leaves, the strongest first: an `ack` header in MESSAGE or an `id` in ACK or
NACK (1.2); ACK with message-id and subscription, NACK (1.1); a colon that a server wrote as an escape (1.1 at least, taken for 1.1,
which claims less; with CRLF 1.2); an ActiveMQ message-id with bare colons (1.0); CRLF (1.2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stompcap.kernel import kernel
from stompcap.stomp import grammar as g
from stompcap.stomp.octets import Octets, equals, find_header, readonly, skip_blanks, trim_blanks
from stompcap.stomp.rows import FRAME, Ints, Rows
from stompcap.stomp.syntax import Syntax

BY_CONNECTED, ASSUMED, INFERRED, NOT_KNOWN = range(4)
"""Sources: indices into `stompcap.tables.words.VERSION_SOURCES`."""


def _word(text: str) -> Octets:
    return np.frombuffer(text.encode(), np.uint8).copy()


_VERSION, _ACCEPT, _ACK, _ID = _word("version"), _word("accept-version"), _word("ack"), _word("id")
_MESSAGE_ID, _SUBSCRIPTION, _DESTINATION, _ACTIVEMQ = _word("message-id"), _word("subscription"), _word("destination"), _word("ID:")
_TOKENS = np.frombuffer(b"1.01.11.2", np.uint8).reshape(3, 3).copy()
_CRLF = int(Syntax.CRLF_LINE)

# evidence of a stream, in bits
_SAYS, _NO_ANSWER, _CLAIMS_1_2, _CLAIMS_1_1, _ESCAPED, _BARE_COLON, _CRLF_SEEN, _ANSWERED, _ASKED = (1 << k for k in range(9))


@kernel
def _version_of(octets: Octets, begin: int, end: int) -> int:
    """The version number that a header value names, or -1."""
    begin = skip_blanks(octets, begin, end)
    end = trim_blanks(octets, begin, end)
    for version in range(3):
        if equals(octets, begin, end, _TOKENS[version]):
            return version
    return -1


@kernel
def _escaped_colon(octets: Octets, begin: int, end: int) -> bool:
    for i in range(begin, end - 1):
        if octets[i] == g.BACKSLASH and octets[i + 1] == 99:
            return True
    return False


@kernel
def _evidence(
    octets: Octets, direction: Ints, position: Ints, kind: Ints, syntax: Ints, body: Ints, command: Ints,
    stream: Ints, side: npt.NDArray[np.int8], evidence: Ints, versions: npt.NDArray[np.int8],
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
                    seen |= _SAYS
                    versions[k] = _version_of(octets, at, stop)
        elif code == g.CONNECT or code == g.STOMP:
            if not seen & _ASKED and find_header(octets, begin, end, _ACCEPT)[0] < 0:
                seen |= _NO_ANSWER
            seen |= _ASKED
        elif code == g.MESSAGE:
            if not seen & _CLAIMS_1_2 and find_header(octets, begin, end, _ACK)[0] >= 0:
                seen |= _CLAIMS_1_2
            if not seen & (_ESCAPED | _BARE_COLON):
                at, stop = find_header(octets, begin, end, _MESSAGE_ID)
                if at >= 0 and _escaped_colon(octets, at, stop):
                    seen |= _ESCAPED
                elif at >= 0 and stop - at > 3 and equals(octets, at, at + 3, _ACTIVEMQ):
                    seen |= _BARE_COLON
                at, stop = find_header(octets, begin, end, _DESTINATION)
                if at >= 0 and _escaped_colon(octets, at, stop):
                    seen |= _ESCAPED
        elif (code == g.ACK or code == g.NACK) and not seen & _CLAIMS_1_2:
            if find_header(octets, begin, end, _ID)[0] >= 0:
                seen |= _CLAIMS_1_2
            elif code == g.NACK or (
                find_header(octets, begin, end, _MESSAGE_ID)[0] >= 0 and find_header(octets, begin, end, _SUBSCRIPTION)[0] >= 0
            ):
                seen |= _CLAIMS_1_1
        if syntax[row] & _CRLF:
            seen |= _CRLF_SEEN
        evidence[k] = seen


def negotiate(
    octets: Octets, rows: Rows, stream_of_direction: npt.NDArray[np.int64], side: npt.NDArray[np.int8], streams: int
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """The version of each stream and how it is known.

    Args:
        octets: the buffer that `rows` lie in.
        rows: rows of any kind, by direction and offset; only frames are looked at.
        stream_of_direction: per direction, the index of its stream.
        side: per direction, 0 for client to server, 1 for server to client, -1 where that is not known.
        streams: how many streams there are.

    Returns:
        Per stream: version (0 = 1.0, 1 = 1.1, 2 = 1.2, -1 = unknown) and source (index into `words.VERSION_SOURCES`).
    """
    evidence = np.zeros(streams, np.int64)
    versions = np.full(streams, -1, np.int8)
    _evidence(
        readonly(octets), rows.direction, rows.position, rows.kind, rows.syntax, rows.body, rows.command,
        np.ascontiguousarray(stream_of_direction, np.int64), np.ascontiguousarray(side, np.int8), evidence, versions,
    )
    has = [(evidence & bit) != 0 for bit in (_SAYS, _ANSWERED, _NO_ANSWER, _CLAIMS_1_2, _CLAIMS_1_1, _ESCAPED, _BARE_COLON, _CRLF_SEEN)]
    says, answered, bare, claims_1_2, claims_1_1, escaped, bare_colon, crlf = has
    inferred = np.select(
        [claims_1_2, claims_1_1, escaped & crlf, escaped, bare_colon, crlf],
        [g.V1_2, g.V1_1, g.V1_2, g.V1_1, g.V1_0, g.V1_2], default=g.UNKNOWN_VERSION,
    )
    assumed = answered | bare
    version = np.select([says, assumed], [versions, g.V1_0], default=inferred).astype(np.int8)
    source = np.select(
        [says & (versions >= 0), ~says & assumed, ~says & (inferred >= 0)], [BY_CONNECTED, ASSUMED, INFERRED], default=NOT_KNOWN
    )
    return version, source.astype(np.int8)
