"""The records of subscriptions: one per SUBSCRIBE, their fields one line each (stompcap.session.layout)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import MODE_AUTO, MODE_OTHER, MODE_UNKNOWN
from stompcap.columns import I64, worded
from stompcap.session.layout import Field, Layout, Records, Text
from stompcap.tables import words


class Subscription(NamedTuple):
    """The subscriptions of a step as columns of numbers; what is said of the UNSUBSCRIBE is -1 while a subscription is active."""

    session: I64
    ordinal: Annotated[I64, Field(frame="ordinal")]  # how many frames of its session came before the SUBSCRIBE
    offset: Annotated[I64, Field(frame="offset", columns=("subscribe_offset",))]
    first_ns: Annotated[I64, Field(frame="first_ns", columns=("subscribed_ns", "subscribed_ts"))]
    mode: Annotated[I64, Field(MODE_UNKNOWN)]  # MODE_*
    anonymous: Annotated[I64, Field(0)]  # it has no id, its destination stands for it
    prefetch: Annotated[I64, Field(-(2**62), columns=("prefetch",))]
    ended_ordinal: Annotated[I64, Field()]  # of the UNSUBSCRIBE
    ended_ns: Annotated[I64, Field()]  # when that was whole
    ended_first_ns: Annotated[I64, Field(columns=("unsubscribed_ns",))]  # when that began
    ended_offset: Annotated[I64, Field()]
    ended_asks: Annotated[I64, Field(0)]  # that asks for a receipt
    ended_trusted: Annotated[I64, Field(0)]  # that surely is a frame (stompcap.session.trust)
    by_name: Annotated[I64, Field(0)]  # that meant this subscription, and not only an older one of its id
    hidden: Annotated[I64, Field(0, before=0)]  # octets of the client that may hide frames, by the SUBSCRIBE (stompcap.session.gaps)
    ended_hidden: Annotated[I64, Field(0, before=0)]  # and by the UNSUBSCRIBE
    late: Annotated[I64, Field(0)]  # a MESSAGE came too late for it
    gaps_s2c: Annotated[I64, Field(0)]  # gaps of the server that had ended before the UNSUBSCRIBE
    gaps_until: Annotated[I64, Field()]  # gaps of the server that had begun when it was forgotten; -1 while it is known
    final: Annotated[I64, Field(0)]  # emitted: 1 in this step, 2 in an earlier one
    delivered: Annotated[I64, Field(0, columns=("delivered",))]  # its deliveries
    acked: Annotated[I64, Field(0, columns=("acked",))]
    nacked: Annotated[I64, Field(0, columns=("nacked",))]
    unsettled: Annotated[I64, Field(0, columns=("unsettled",))]
    most: Annotated[I64, Field(0, columns=("max_in_flight",))]
    limit: Annotated[I64, Field(before=-1)]  # how many the broker leaves in flight, as the SUBSCRIBE says; -1: it does not
    # how long how many were in flight (stompcap.session.deliveries.in_flight): until when that is counted, the sum of number and time, time
    # at the limit and with none in flight, and since when it is at the limit
    changed_us: Annotated[I64, Field(0, before=-1)]
    area_us: Annotated[I64, Field(0, before=0)]
    full_us: Annotated[I64, Field(0, before=0)]
    idle_us: Annotated[I64, Field(0, before=0)]
    full_since_ns: Annotated[I64, Field(before=-1)]
    in_flight: Annotated[I64, Field(0, stored=False)]  # behind this step
    settled_ordinal: Annotated[I64, Field(before=-1)]  # the last ACK or NACK that settled or enclosed any of its deliveries
    settled_ns: Annotated[I64, Field(before=-1)]
    earlier_ordinal: Annotated[I64, Field(stored=False)]  # and the one before it
    earlier_ns: Annotated[I64, Field(stored=False)]


LAYOUT = Layout(
    Subscription,
    Text("id", frame="id"),
    Text("destination", frame="destination", columns=("destination",)),
    Text("ack", frame="ack"),
)


def names_of_subscriptions(rows: Records) -> pa.Array:
    """Per subscription its id, or its destination where it has none."""
    return pc.coalesce(rows.text["id"], rows.text["destination"])


def modes_of_subscriptions(rows: Records) -> pa.Array:
    """Per subscription its ack mode as text; one that no version has as it was sent."""
    mode = rows["mode"]
    known = worded(np.where(mode == MODE_OTHER, MODE_AUTO, mode), words.ACK_MODES)
    return pc.if_else(pa.array(mode == MODE_OTHER), rows.text["ack"], known)
