"""The records of deliveries: one per MESSAGE, their fields one line each (stompcap.session.layout)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stompcap.codes import MODE_UNKNOWN
from stompcap.columns import I64
from stompcap.session.layout import Field, Layout, Text

# `state`: what has become of a delivery so far
PENDING = 0  # delivered, and neither settled nor enclosed
SETTLED = 1  # by an ACK or NACK outside of transactions, or by a COMMIT
ENCLOSED = 2  # by an ACK or NACK in a transaction that has not ended
ABORTED = 3  # enclosed in a transaction that was aborted
AUTOMATIC = 4  # of a subscription in mode auto
REPLACED = 5  # aborted, and then delivered once more

# `transaction` of a delivery that is in none
NO_TRANSACTION = -1  # it was settled outside of transactions, or not at all
PAST_TRANSACTION = -2  # that in which it was settled is no longer known

# `possible`: why its subscription or the mode of that is not known
ANY_SUBSCRIPTION = 1  # it names none, and the SUBSCRIBE that it belongs to may be missing
RENEWED = 2  # octets are missing that may hide a SUBSCRIBE of the same id in another mode


class Delivery(NamedTuple):
    """The deliveries of a step as columns of numbers."""

    session: I64
    ordinal: Annotated[I64, Field(frame="ordinal")]  # how many frames of its session came before the MESSAGE
    offset: Annotated[I64, Field(frame="offset", columns=("stream_offset",))]
    first_ns: Annotated[I64, Field(frame="first_ns", columns=("first_ns",), before=-1)]
    delivered_ns: Annotated[I64, Field(frame="last_ns", columns=("delivered_ns", "delivered_ts"))]
    acked_ns: Annotated[I64, Field(frame="acked_ns", before=-1)]  # when the client's TCP acknowledged it
    subscription: Annotated[I64, Field()]  # row of its subscription; in states the ordinal of the SUBSCRIBE
    mode: Annotated[I64, Field(MODE_UNKNOWN)]  # ack mode of the subscription, MODE_*
    body_octets: Annotated[I64, Field(0, frame="body_octets", columns=("body_octets",))]
    body_hash: Annotated[I64, Field(0)]  # of the body's beginning (`frames.body_preview`)
    whole_hash: Annotated[I64, Field(columns=("body_hash",), before=-1)]
    content_hash: Annotated[I64, Field(columns=("content_hash",), before=-1)]
    broker_us: Annotated[I64, Field(columns=("broker_timestamp_us",), before=-1)]  # its timestamp header
    redelivered: Annotated[I64, Field(0, columns=("redelivered",))]
    state: Annotated[I64, Field(PENDING)]
    by_ordinal: Annotated[I64, Field()]  # the ACK or NACK that settled or enclosed it
    by_offset: Annotated[I64, Field()]
    by_ns: Annotated[I64, Field()]
    before_ordinal: Annotated[I64, Field(before=-1)]  # the ACK or NACK before that one that settled or enclosed any of its subscription
    before_ns: Annotated[I64, Field(before=-1)]
    nack: Annotated[I64, Field(0)]  # that one is a NACK
    direct: Annotated[I64, Field(0)]  # that one names it; it was not settled along
    transaction: Annotated[I64, Field()]  # row of the transaction of that one; in states the ordinal of the frame that named it first
    latest: Annotated[I64, Field()]  # ordinal of the frame that changed `state` last
    aborts: Annotated[I64, Field(0)]  # of transactions that enclosed it
    opened: Annotated[I64, Field(0)]  # gaps that had ended when it came, and vague ACKs until then (walk.vague)
    again: Annotated[I64, Field(0)]  # delivered again while it was open
    unclear: Annotated[I64, Field(0)]  # which of both an ACK means
    lost: Annotated[I64, Field(0)]  # more gaps or vague ACKs came until it was settled
    contradicts: Annotated[I64, Field(0)]  # what settled it is a frame of another version than the session's, which is not known
    possible: Annotated[I64, Field(0)]
    hidden: Annotated[I64, Field(0)]  # it is not known what settled it
    unasked: Annotated[I64, Field(0, before=0)]  # it asks for no ACK, although its mode is not known
    unread: Annotated[I64, Field(0, before=0)]  # ACKs of the session that named nothing, when it came
    status: Annotated[I64, Field(columns=("status",))]  # as if nothing more came
    final: Annotated[I64, Field(0)]  # emitted: 1 in this step, 2 in an earlier one
    by: Annotated[I64, Field(stored=False)]  # index of the frame that settled or enclosed it in this step


LAYOUT = Layout(
    Delivery,
    Text("name"),  # what an ACK or NACK names it by first (stompcap.session.deliveries.names)
    Text("message_id", frame="message_id", columns=("message_id",)),
    Text("ack_id", frame="ack", columns=("ack_id",)),
    Text("destination", frame="destination", columns=("destination",)),
    Text("subscription_header", frame="subscription"),
    Text("moved_from", columns=("moved_from",), before=None),
)
