"""What deliveries are named by: the `ack` header in 1.2, the message-id and, where named, the subscription before.

A 1.2 MESSAGE without an ack header goes by its message-id. Where the version is not known, an ACK with an id is read as 1.2.
ActiveMQ undoes escapes in 1.0 too, which has none: go-stomp and vert.x, which escape there, settle what they name by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, Bools, take_or_null, text_codes
from stompcap.session.dialogue import Dialogue
from stompcap.session.layout import Records

BETWEEN = "\x1f"  # parts a subscription from a message-id; neither has one as a rule, and if so nothing but a name is taken for another


class Names(NamedTuple):
    """Codes of names, equal where a delivery is named; -1 for none.

    Per delivery `own` (by what ACK and NACK name it first) and `message` (its message-id). Per ACK and NACK `named` first, and `message`
    if nothing has that name; `strict`: then it names another subscription's. In 1.2 `message` is for comparison alone (`compares`).
    """

    own: I64
    message: I64
    ack_named: I64
    ack_message: I64
    strict: Bools
    compares: Bools
    codes: int


def of_deliveries(dialogue: Dialogue, subscription: I64, subscriptions: Records, lax: Bools) -> pa.Array:
    """The first name of each new delivery, as text; null where it goes by the message-id alone.

    `subscription`: its row; `lax` per session: ACKs go by message-id, whatever subscription they name, if any.
    """
    d, sent = dialogue, dialogue.messages
    version, message = d.version[sent], d.some("message_id", sent)
    by_ack = (version == 2) | (version < 0)
    own = pc.if_else(pa.array(by_ack), pc.coalesce(d.some("ack", sent), message), pa.scalar(None, pa.string()))
    old = np.flatnonzero(~by_ack & ~lax[d.session[sent]])
    if len(old) == 0:
        return own
    rows = subscription[old]
    known = take_or_null(pc.coalesce(subscriptions.text["id"], subscriptions.text["destination"]), rows)
    name = pc.coalesce(known, d.some("subscription", sent[old]))
    both = pc.binary_join_element_wise(message.take(pa.array(old)), name, BETWEEN)
    place = np.full(len(sent), -1, np.int64)
    place[old] = np.arange(len(old))
    return pc.if_else(pa.array(by_ack), own, take_or_null(both, place))


def names(dialogue: Dialogue, deliveries: Records, lax: Bools, unescapes: Bools) -> Names:
    """The names of all deliveries and of the new ACKs and NACKs; per session `unescapes`: the broker undoes escapes in 1.0."""
    d, at = dialogue, dialogue.settling
    version, session = d.version[at], d.session[at]
    ids, message, subscription = (d.some(name, at) for name in ("id", "message_id", "subscription"))
    by_id = (version == 2) | ((version < 0) & np.asarray(ids.is_valid()))
    own, delivered = deliveries.text["name"], deliveries.text["message_id"]
    message = _with_colons(message, delivered, (version == 0) & unescapes[session])
    whole = np.asarray(subscription.is_valid()) & ~lax[session] & ~by_id & (version >= 0)
    half = (version == 1) & ~np.asarray(subscription.is_valid()) & ~lax[session]
    pair = pc.if_else(pa.array(whole), pc.binary_join_element_wise(message, subscription, BETWEEN), pa.scalar(None, pa.string()))
    named = pc.if_else(pa.array(by_id), ids, pair)
    alone = pc.if_else(pa.array(by_id), ids, pc.if_else(pa.array(half), pa.scalar(None, pa.string()), message))
    by_name, by_named = text_codes(own, named)
    by_message, by_alone = text_codes(delivered, alone)
    first = max(int(by_name.max(initial=-1)), int(by_named.max(initial=-1))) + 1
    count = first + max(int(by_message.max(initial=-1)), int(by_alone.max(initial=-1))) + 1
    return Names(by_name, _shifted(by_message, first), by_named, _shifted(by_alone, first), whole, by_id, count)


def _shifted(coded: I64, by: int) -> I64:
    """Codes moved behind those of another space; -1 stays."""
    return np.where(coded < 0, -1, coded + by)


def _with_colons(acked: pa.Array, sent: pa.Array, there: Bools) -> pa.Array:
    """Message-ids of ACKs, those `there` with their escaped colons undone where nothing sent has the id as it stands."""
    there = there & pc.match_substring(acked, "\\c").fill_null(False).to_numpy(zero_copy_only=False)
    if not there.any():
        return acked
    foreign = pc.and_(pa.array(there), pc.invert(pc.is_in(acked, value_set=sent)))
    return pc.if_else(foreign, pc.replace_substring(acked, "\\c", ":"), acked)
