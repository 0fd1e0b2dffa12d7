"""What deliveries are named by: the `ack` header in 1.2, the message-id and, where named, the subscription before.

A 1.2 MESSAGE without an ack header goes by its message-id. Where the version is not known, an ACK with an id is read as 1.2.
ActiveMQ undoes escapes in 1.0 too, which has none: go-stomp and vert.x, which escape there, settle what they name by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, Bools, spread, take_or_null, text_codes
from stompcap.session.dialogue import Dialogue
from stompcap.session.layout import Records
from stompcap.session.products.quirks import Quirks
from stompcap.session.subscriptions.records import names_of_subscriptions

BETWEEN = "\x1f"  # parts a subscription from a message-id; neither has one as a rule, and if so nothing but a name is taken for another


class DeliveryNames(NamedTuple):
    """Codes of names, equal where a delivery is named; -1 for none."""

    own: I64  # per delivery, what ACK and NACK name it by first
    message: I64  # per delivery, its message-id
    ack_named: I64  # per ACK and NACK, what it names
    ack_message: I64  # per ACK and NACK, the message-id that it means where no delivery has that name
    strict: Bools  # per ACK and NACK: a delivery found by message-id alone is one of another subscription than it names
    compares: Bools  # per ACK and NACK: it settles nothing by message-id, which is looked up to say that it is one (1.2)
    codes: int  # how many codes there are


def names_of_deliveries(dialogue: Dialogue, subscription: I64, subscriptions: Records, quirks: Quirks) -> pa.Array:
    """The first name of each new delivery, as text; null where it goes by the message-id alone. `subscription` is its row."""
    d, sent = dialogue, dialogue.messages
    version, message = d.version[sent], d.some("message_id", sent)
    by_ack = (version == 2) | (version < 0)
    own = pc.if_else(pa.array(by_ack), pc.coalesce(d.some("ack", sent), message), pa.scalar(None, pa.string()))
    old = np.flatnonzero(~by_ack & ~quirks.by_message_id[d.session[sent]])
    if len(old) == 0:
        return own
    known = take_or_null(names_of_subscriptions(subscriptions), subscription[old])
    name = pc.coalesce(d.some("subscription", sent[old]), known)  # Artemis makes up an id where SUBSCRIBE has none
    both = pc.binary_join_element_wise(message.take(pa.array(old)), name, BETWEEN)
    return pc.if_else(pa.array(by_ack), own, take_or_null(both, spread(len(sent), old, np.arange(len(old)))))


def coded_names(dialogue: Dialogue, deliveries: Records, quirks: Quirks) -> DeliveryNames:
    """The names of all deliveries and of the new ACKs and NACKs."""
    d, at = dialogue, dialogue.acks
    version, session = d.version[at], d.session[at]
    ids, message, subscription = (d.some(name, at) for name in ("id", "message_id", "subscription"))
    by_id = (version == 2) | ((version < 0) & np.asarray(ids.is_valid()))
    own, delivered = deliveries.text["name"], deliveries.text["message_id"]
    message = _with_colons(message, delivered, (version == 0) & quirks.unescapes[session])
    paired = np.asarray(subscription.is_valid()) & ~quirks.by_message_id[session] & ~by_id & (version >= 0)
    unpaired = (version == 1) & ~np.asarray(subscription.is_valid()) & ~quirks.by_message_id[session]
    pair = pc.if_else(pa.array(paired), pc.binary_join_element_wise(message, subscription, BETWEEN), pa.scalar(None, pa.string()))
    named = pc.if_else(pa.array(by_id), ids, pair)
    alone = pc.if_else(pa.array(by_id), ids, pc.if_else(pa.array(unpaired), pa.scalar(None, pa.string()), message))
    by_name, by_named = text_codes(own, named)
    by_message, by_alone = text_codes(delivered, alone)
    first = max(int(by_name.max(initial=-1)), int(by_named.max(initial=-1))) + 1
    count = first + max(int(by_message.max(initial=-1)), int(by_alone.max(initial=-1))) + 1
    return DeliveryNames(by_name, _shifted(by_message, first), by_named, _shifted(by_alone, first), paired, by_id, count)


def _shifted(coded: I64, by: int) -> I64:
    """Codes moved behind those of another space; -1 stays."""
    return np.where(coded < 0, -1, coded + by)


def _with_colons(acked: pa.Array, sent: pa.Array, there: Bools) -> pa.Array:
    """Message-ids of ACKs; those `there` are given with their escaped colons undone where no MESSAGE has the id as it stands."""
    there = there & pc.match_substring(acked, "\\c").fill_null(False).to_numpy(zero_copy_only=False)
    if not there.any():
        return acked
    foreign = pc.and_(pa.array(there), pc.invert(pc.is_in(acked, value_set=sent)))
    return pc.if_else(foreign, pc.replace_substring(acked, "\\c", ":"), acked)
