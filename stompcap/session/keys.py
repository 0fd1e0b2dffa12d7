"""What deliveries are settled by, as numbers: the `ack` header in 1.2, the message-id and, where named, the subscription before.

A 1.2 MESSAGE without an ack header goes by its message-id. Where the version is not known, an ACK with an id is read as 1.2.
ActiveMQ undoes escapes in 1.0 too, which has none: go-stomp and vert.x, which escape there, settle what they name by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.kernel import kernel
from stompcap.session.dialogue import I32, I64, Bools, Dialogue
from stompcap.session.subscriptions import Subscriptions
from stompcap.session.wire import codes, spread

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Keys:
    """Per frame, -1 where there is none: codes of the ack id, of the message-id, and of message-id and subscription together.

    Codes of a MESSAGE and of the ACK or NACK that names it are equal. An ACK or NACK has no more of them than its version
    looks at.
    """

    ack: I32
    message: I32
    pair: I32
    acks: int
    messages: int
    pairs: int


@kernel
def _dense(first: I32, second: I32, bits: int, slots: I64, result: I32) -> int:
    """Dense codes of pairs of codes (both at least 0, else -1) by open addressing; `slots` has 2**bits entries, all -1."""
    count, mask = 0, (1 << bits) - 1
    shift = np.uint64(64 - bits)
    for i in range(len(first)):
        result[i] = -1
        if first[i] < 0 or second[i] < 0:
            continue
        key = (np.uint64(first[i]) << np.uint64(32)) | np.uint64(second[i])
        slot = np.int64((key * MULTIPLIER) >> shift)
        while slots[slot] >= 0:
            j = slots[slot]
            if first[j] == first[i] and second[j] == second[i]:
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = i
            result[i] = count
            count += 1
        else:
            result[i] = result[slots[slot]]
    return count


def pairs(first: I32, second: I32) -> tuple[I32, int]:
    """Dense codes of pairs, -1 where either is -1, and how many there are."""
    used = int(np.count_nonzero((first >= 0) & (second >= 0)))
    bits = max(4, int(2 * used).bit_length())
    result = np.empty(len(first), np.int32)
    return result, _dense(first, second, bits, np.full(1 << bits, -1, np.int64), result)


def _with_colons(acked: pa.Array, sent: pa.Array, there: Bools) -> pa.Array:
    """Message-ids of ACKs, those `there` with their escaped colons undone where nothing sent has the id as it stands."""
    there = there & pc.match_substring(acked, "\\c").fill_null(False).to_numpy(zero_copy_only=False)
    if not there.any():
        return acked
    strange = pc.and_(pa.array(there), pc.invert(pc.is_in(acked, value_set=sent)))
    return pc.if_else(strange, pc.replace_substring(acked, "\\c", ":"), acked)


def keys(dialogue: Dialogue, subscriptions: Subscriptions, lax: Bools, unescapes: Bools) -> Keys:
    """The keys of all MESSAGE, ACK and NACK frames.

    Per session: where `lax`, a 1.1 ACK need not name the subscription; where `unescapes`, the broker undoes escapes in 1.0.
    """
    count, version = len(dialogue), dialogue.version
    sent = dialogue.messages
    settling = np.flatnonzero(dialogue.settles)

    message_ids, ids = dialogue.of_messages("message_id"), dialogue.some("id", settling)
    old = (version[settling] == 0) | (version[settling] == 1)
    old |= (version[settling] < 0) & ids.is_null().to_numpy(zero_copy_only=False)
    older = old.any() or len(settling) == 0

    by_ack, by_id = codes(pc.coalesce(dialogue.of_messages("ack"), message_ids), ids)
    ack = spread(count, sent, by_ack)
    ack[settling] = np.where(old, -1, by_id)

    acked = dialogue.some("message_id", settling if older else settling[:0])
    if older:
        acked = _with_colons(acked, message_ids, (version[settling] == 0) & unescapes[dialogue.session[settling]])
    by_message, by_acked = codes(message_ids, acked)
    message = spread(count, sent, by_message)
    if older:
        half = (version[settling] == 1) & (subscriptions.named[settling] < 0) & ~lax[dialogue.session[settling]]
        message[settling] = np.where(old & ~half, by_acked, -1)

    name = subscriptions.named.copy()
    if len(subscriptions.name):
        row = subscriptions.row[sent]
        name[sent] = np.where(row >= 0, subscriptions.name[row], name[sent])
    together = np.where(version == 2, -1, message).astype(np.int32)
    pair, kinds = pairs(together, name)
    return Keys(ack, message, pair, int(ack.max(initial=-1)) + 1, int(message.max(initial=-1)) + 1, kinds)
