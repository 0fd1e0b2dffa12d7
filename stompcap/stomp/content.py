"""What a message is, whoever carries it: its body and the headers that come from the SEND to the MESSAGE as they are.

Which do not is listed here by reason, as learned from recordings (`data/`) and the sources of ActiveMQ (FrameTranslator, Apache-2.0),
Artemis (StompUtils) and RabbitMQ (rabbit_stomp_util). A header of the application's own passes all of them unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I32, I64, U64, Bools, Octets
from stompcap.kernel import callee, kernel
from stompcap.stomp.grammar import MASK, MESSAGE, SEND, pack
from stompcap.stomp.hashes import MASKED, P1, S1, _stir, hash_of, words_of
from stompcap.stomp.octets import equals, is_one_of, readonly

LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "says to whom and as what it is delivered": (
        "subscription", "message-id", "ack", "redelivered", "x-delivery-count", "x-acquired-count", "x-stream-offset", "receipt-id",
        "nack",
    ),
    "is meant for the broker": (
        "receipt", "transaction", "content-length", "transformation", "amq-msg-type", "destination-type", "durable", "auto-delete",
        "exclusive", "selector", "browser", "bytes_message",
    ),
    "has a value by default, or one that the broker writes in its own way": (
        "expires", "expiration", "priority", "timestamp", "timestamp_in_ms", "persistent", "type", "user-id", "breadcrumbId",
    ),
    "names a destination, which brokers spell otherwise": ("destination", "reply-to", "original-destination", "x-original-destination"),
    "is added where a message went on after it was refused or expired": (
        "x-death", "dlqDeliveryFailureCause", "originalExpiration", "scheduledJobId",
    ),
}  # fmt: skip
"""Names of headers that do not tell what a message is, by reason."""

LEFT_OUT_PREFIXES: Mapping[str, tuple[str, ...]] = {
    "is a property of JMS that ActiveMQ keeps elsewhere": ("JMS",),
    "is a property of Artemis or of ActiveMQ's scheduler": ("_AMQ", "AMQ_SCHEDULED"),
    "is added where a message went on after it was refused or expired": ("x-first-death", "x-last-death"),
}
"""What such names begin with."""

ESCAPES: tuple[tuple[str, str], ...] = ((r"\\+c", ":"), (r"\\+n", "\n"), (r"\\+r", "\r"), (r"\\+", r"\\"))
"""Regular expressions of RE2 for escapes, however often escaped, and what each stands for.

RabbitMQ undoes and writes them in STOMP 1.0 too, which has none: `12:30` comes as `12\\c30`.
"""

ID, MESSAGE_ID = (np.frombuffer(name, np.uint8) for name in (b"id", b"message-id"))
"""go-stomp's server gives each MESSAGE its message-id as `id` too. An `id` of another value is the application's own."""

_NAMES, _LENGTHS = pack(tuple(name for names in LEFT_OUT.values() for name in names))
_PREFIXES, _PREFIX_LENGTHS = pack(tuple(name for names in LEFT_OUT_PREFIXES.values() for name in names))
_FIRST = np.zeros(256, np.bool_)
_FIRST[[*_NAMES[:, 0], *_PREFIXES[:, 0]]] = True
_MASKS = len(MASK)


@callee
def _left_out(names: Octets, begin: int, end: int) -> bool:
    """Whether the name [begin, end) is one of those that do not count."""
    if end == begin or not _FIRST[names[begin]]:
        return False
    if is_one_of(names, begin, end, _NAMES, _LENGTHS):
        return True
    for word in range(_PREFIX_LENGTHS.size):
        length = _PREFIX_LENGTHS[word]
        if end - begin >= length and equals(names, begin, begin + length, _PREFIXES[word, :length]):
            return True
    return False


@callee
def _is_masked(values: Octets, begin: int, end: int) -> bool:
    """Whether a value has the mask of a secret in it."""
    run = 0
    for i in range(begin, end):
        run = run + 1 if values[i] == MASKED else 0
        if run == _MASKS:
            return True
    return False


@callee
def _is_message_id(entry: int, first: int, beyond: int, names: Octets, name_at: I32, values: Octets, value_at: I32) -> bool:
    """Whether an entry is called `id` and says what `message-id` says among the entries [first, beyond) of its frame."""
    if not equals(names, name_at[entry], name_at[entry + 1], ID):
        return False
    for other in range(first, beyond):
        if equals(names, name_at[other], name_at[other + 1], MESSAGE_ID):
            return equals(values, value_at[entry], value_at[entry + 1], values[value_at[other] : value_at[other + 1]])
    return False


@kernel
def _contents(
    rows: I64, first: I32, names: Octets, name_at: I32, values: Octets, value_at: I32, masked: Bools, key: U64, found: I64
) -> None:
    """Put the headers of these frames to the hashes of their bodies, in whatever order they are; -1 stays."""
    for k in range(rows.size):
        frame = rows[k]
        if found[frame] < 0:
            continue
        total = np.uint64(found[frame])
        for entry in range(first[frame], first[frame + 1]):
            begin, end = name_at[entry], name_at[entry + 1]
            if _left_out(names, begin, end):
                continue
            at, stop = value_at[entry], value_at[entry + 1]
            if masked[frame] and _is_masked(values, at, stop):
                continue
            if _is_message_id(entry, first[frame], first[frame + 1], names, name_at, values, value_at):
                continue
            total += _stir(hash_of(names, begin, end, key) * P1 + hash_of(values, at, stop, key))
        found[frame] = np.int64(_stir(total ^ key[1]) >> S1)


def content_hashes(header: pa.MapArray, command: I64, bodies: I64, masked: Bools, key: bytes) -> I64:
    """Per frame a hash of its body and of the headers that count, 63 bits; -1 for all but SEND and MESSAGE, and where that of the body is.

    Args:
        header: effective values, as `decode` gives them; where a secret is masked in one, it does not count. Escapes in them count as what
            they stand for.
        command: codes of the grammar.
        bodies: hashes of the bodies.
        masked: frames of which something is masked.
        key: that of the lake.
    """
    rows = np.flatnonzero(np.isin(command, (SEND, MESSAGE)))
    found = np.full(len(bodies), -1, np.int64)
    found[rows] = bodies[rows]
    if len(rows):
        names, values = header.keys, _without_escapes(header.items)
        _contents(
            rows, _offsets(header), _octets(names), _offsets(names), _octets(values), _offsets(values), masked, words_of(key), found
        )  # fmt: skip
    return found


def _without_escapes(values: pa.StringArray) -> pa.StringArray:
    """Values with what their escapes stand for."""
    if not (_octets(values) == ord("\\")).any():
        return values
    there = pc.match_substring(values, "\\")
    plain = values.filter(there)
    for escape, meant in ESCAPES:
        plain = pc.replace_substring_regex(plain, escape, meant)
    return pc.replace_with_mask(values, there, plain)


def _offsets(array: pa.Array) -> I32:
    """Where the items of a string or map array begin and end, writable as all are but some that Arrow has computed.

    So it is one type of argument, for which the kernel is compiled.
    """
    found = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1 + array.offset)[array.offset :]
    return found if found.flags.writeable else found.copy()


def _octets(array: pa.StringArray) -> Octets:
    """The octets of a string array."""
    data = array.buffers()[2]
    return readonly(np.empty(0, np.uint8) if data is None or not data.size else np.frombuffer(data, np.uint8))
