"""What brokers' message-ids and timestamps tell of the SEND that a MESSAGE was.

| broker   | message-id                                       | names the SEND                                                           |
| -------- | ------------------------------------------------ | ------------------------------------------------------------------------ |
| ActiveMQ | `<session of CONNECTED>:-1:1:<number>`           | yes: the producer's connection, session -1 and producer 1, of which each |
|          |                                                  | connection of STOMP has one, and which SEND of that it was               |
| Artemis  | `<consumer>,<id>`                                | no: the id is one that the broker gave when it stored the message        |
| RabbitMQ | `T_<subscription>@@<session of consumer>@@<tag>` | no: all of it is the consumer's                                          |

ActiveMQ counts each SEND that it has converted (ProtocolConverter.onStompSend): those of transactions that are aborted, and those that it
refuses for an unknown transaction, but none without a destination, and none whose headers it cannot read. Where CONNECT had a client-id,
that is the session of CONNECTED, and the message-id names another one. Other clients' ids (JMS) have another session and producer.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.columns import I32, I64, Octets, flat
from stompcap.kernel import callee, kernel
from stompcap.stomp.octets import readonly
from stompcap.stomp.strings import slices

OF_STOMP = np.frombuffer(b":-1:1:", np.uint8).copy()
ZERO, NINE = 48, 57
MOST_DIGITS = 18
SECONDS = 10**11  # a number of seconds is below that until the year 5138, one of milliseconds has been above since 1973


@callee
def _number(octets: Octets, begin: int, end: int) -> int:
    """The decimal number [begin, end), -1 for anything else."""
    if end == begin or end - begin > MOST_DIGITS:
        return -1
    found = 0
    for i in range(begin, end):
        if octets[i] < ZERO or octets[i] > NINE:
            return -1
        found = 10 * found + int(octets[i]) - ZERO
    return found


@kernel
def _split(octets: Octets, ends: I32, length: I64, number: I64) -> None:
    """Per text how long the part before `:-1:1:` is, -1 where it has none, and the number behind it."""
    for row in range(length.size):
        begin, end = ends[row], ends[row + 1]
        at = end
        while at > begin and ZERO <= octets[at - 1] <= NINE:
            at -= 1
        first = at - OF_STOMP.size
        same = at < end and first > begin and octets[at] != ZERO
        if same:
            for k in range(OF_STOMP.size):
                if octets[first + k] != OF_STOMP[k]:
                    same = False
                    break
        value = _number(octets, at, end) if same else -1
        length[row], number[row] = first - begin if value > 0 else -1, value


@kernel
def _numbers(octets: Octets, ends: I32, found: I64) -> None:
    for row in range(found.size):
        found[row] = _number(octets, ends[row], ends[row + 1])


def _buffers(texts: pa.Array | pa.ChunkedArray) -> tuple[Octets, I32]:
    """The octets of texts, and where each ends; null has none."""
    texts = flat(texts).cast(pa.string())
    if texts.null_count:
        texts = texts.fill_null("")
    _, ends, octets = texts.buffers()
    if not len(texts):
        return readonly(np.empty(0, np.uint8)), np.zeros(1, np.int32)
    data = np.frombuffer(octets, np.uint8) if octets is not None and octets.size else np.empty(0, np.uint8)
    return readonly(data), np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]


def producers(message_ids: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Of each message-id the producer's session, and which SEND of that it is; null where it does not say so."""
    octets, ends = _buffers(message_ids)
    length, number = np.empty((2, len(ends) - 1), np.int64)
    _split(octets, ends, length, number)
    session = slices(octets, ends[:-1].astype(np.int64), np.maximum(length, 0), length >= 0)
    return session, pa.array(number, pa.int64(), mask=number < 0)


def numbers(texts: pa.Array | pa.ChunkedArray) -> I64:
    """Decimal numbers, -1 for other texts and where there is none."""
    octets, ends = _buffers(texts)
    found = np.empty(len(ends) - 1, np.int64)
    _numbers(octets, ends, found)
    return found


def microseconds(timestamps: pa.Array | pa.ChunkedArray) -> I64:
    """Timestamp headers in microseconds since the epoch, -1 where they are none: RabbitMQ's are in seconds, others' in milliseconds."""
    found = numbers(timestamps)
    given = np.where(found < SECONDS, found * 1_000_000, found * 1000)
    return np.where((found < 0) | (found >= 10**15), -1, given)
