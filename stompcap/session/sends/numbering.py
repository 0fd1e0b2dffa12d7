"""Which SEND of its session each is, as ActiveMQ counts them (stompcap.session.products.message_ids), and which has an id of its own.

Not every SEND is counted, and from one of which it is not sure on no number is given: one before CONNECTED, which may be refused, one
behind missing octets, one with a header or destination that ActiveMQ has to read and may refuse.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT
from stompcap.columns import I32, I64, Bools, Octets, flat, truth
from stompcap.kernel import kernel
from stompcap.session.counters import Before
from stompcap.session.dialogue import Dialogue
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Records
from stompcap.stomp.grammar import pack
from stompcap.stomp.octets import is_one_of

OWN_IDS = (
    "correlation-id", "correlation_id", "correlationId", "message-id", "amqp-message-id", "message_id", "messageId", "msg-id", "request-id",
    "x-request-id", "event-id", "trace-id", "idempotency-key", "uuid", "guid", "timestamp", "time", "sent-at", "sent",
)  # fmt: skip
"""Headers that hardly two SENDs have alike: ids and times that their senders give them."""

NUMERIC = ("expires", "priority", "timestamp")
"""Headers that ActiveMQ refuses a SEND for if they are no number (FrameTranslator)."""

MOST_DIGITS = 18

REFUSED = (
    "transformation", "amq-msg-type", "JMSXDeliveryCount", "JMSXGroupSeq", "JMSPriority", "JMSExpiration", "JMSTimestamp", "JMSRedelivered",
    "JMSDeliveryMode", "JMSReplyTo",
)
"""Headers that it refuses one for if it cannot do with the value."""

ACCEPTED = r"^\s*/(?:(?:remote-)?temp-)?(?:queue|topic)/"
"""Destinations that it accepts."""

_OWN, _OWN_LENGTHS = pack(OWN_IDS)
_NUMERIC, _NUMERIC_LENGTHS = pack(NUMERIC)
_REFUSED, _REFUSED_LENGTHS = pack(REFUSED)
OWN_ID, UNSURE = 1, 2


@kernel
def _marks(rows: I64, first: I32, names: Octets, name_at: I32, values: Octets, value_at: I32, found: I64) -> None:
    """Bits of each of these maps: it has an id of its own, a broker may refuse what it says."""
    for i in range(rows.size):
        bits = 0
        for entry in range(first[rows[i]], first[rows[i] + 1]):
            begin, end = name_at[entry], name_at[entry + 1]
            at, stop = value_at[entry], value_at[entry + 1]
            if stop > at and is_one_of(names, begin, end, _OWN, _OWN_LENGTHS):
                bits |= OWN_ID
            if is_one_of(names, begin, end, _NUMERIC, _NUMERIC_LENGTHS):
                digits = 0 < stop - at <= MOST_DIGITS
                for k in range(at, stop):
                    digits &= 48 <= values[k] <= 57
                bits |= 0 if digits else UNSURE
            elif is_one_of(names, begin, end, _REFUSED, _REFUSED_LENGTHS):
                bits |= UNSURE
        found[i] = bits


def marks(maps: pa.Array | pa.ChunkedArray, rows: I64) -> I64:
    """OWN_ID and UNSURE of the SENDs at these rows of the column `header`."""
    maps, found = flat(maps), np.zeros(len(rows), np.int64)
    if len(rows) and len(maps.items):
        keys, items = maps.keys, maps.items
        _marks(rows, _offsets(maps), _octets(keys), _offsets(keys), _octets(items), _offsets(items), found)
    return found


def number(d: Dialogue, gaps: Gaps, before: Before, sent: I64, unsure: Bools, counters: Records) -> I64:
    """The number of each new SEND, -1 where it has none; counts on in `sends` of the sessions, -1 where that is not known any more."""
    session = d.session[sent]
    coded = d.some("destination", sent).cast(pa.string()).dictionary_encode()
    accepted = pc.match_substring_regex(coded.dictionary, ACCEPTED).take(coded.indices)
    addressed = np.asarray(coded.is_valid())
    unsure = unsure | ~truth(accepted) & addressed
    unsure = unsure | gaps.lost[sent, CLIENT] | (before.connected_ns[sent] < 0)
    begin = np.searchsorted(session, session)
    counted, doubts = np.append(0, np.cumsum(addressed)), np.append(0, np.cumsum(unsure))
    known = (counters["sends"][session] >= 0) & (doubts[1:] == doubts[begin])
    found = counters["sends"][session] + counted[1:] - counted[begin]
    last = np.append(session[1:] != session[:-1], True)[: len(session)]
    counters["sends"][session[last]] = np.where(known, found, -1)[last]
    return np.where(known & addressed, found, -1)


def _offsets(array: pa.Array) -> I32:
    """Where the items of a string or map array begin and end."""
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1 + array.offset)[array.offset :]


def _octets(array: pa.Array) -> Octets:
    """The octets of a string array."""
    data = array.buffers()[2]
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.frombuffer(b"\0", np.uint8)
