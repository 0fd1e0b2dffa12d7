"""The records of sends: one per SEND, their fields one line each (stompcap.session.layout).

One without transaction and receipt is final at once, so states have only those whose transaction or receipt is waited for.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stompcap.columns import I64
from stompcap.session.layout import Field, Layout, Text


class Send(NamedTuple):
    """The SENDs of a step as columns of numbers."""

    session: I64
    ordinal: Annotated[I64, Field(frame="ordinal")]  # how many frames of its session came before it
    offset: Annotated[I64, Field(frame="offset", columns=("stream_offset",))]
    first_ns: Annotated[I64, Field(frame="first_ns", columns=("first_ns",))]
    sent_ns: Annotated[I64, Field(frame="last_ns", columns=("sent_ns", "sent_ts"))]
    length: Annotated[I64, Field(0, frame="length", columns=("length_octets",))]
    body_octets: Annotated[I64, Field(0, frame="body_octets", columns=("body_octets",))]
    body_hash: Annotated[I64, Field(columns=("body_hash",))]
    content_hash: Annotated[I64, Field(columns=("content_hash",))]
    number: Annotated[I64, Field(columns=("number",))]  # as the broker counts (stompcap.session.sends.numbering)
    own_id: Annotated[I64, Field(0, columns=("own_id",))]
    inside: Annotated[I64, Field(0)]  # it names a transaction
    transaction: Annotated[I64, Field()]  # ordinal of the frame that named that first; -1 where it is no longer followed
    asks: Annotated[I64, Field(0)]  # for a receipt
    final: Annotated[I64, Field(0)]  # emitted: 1 in this step; no state has it then


LAYOUT = Layout(
    Send,
    Text("destination", frame="destination", columns=("destination",)),
    Text("transaction_id", frame="transaction"),
    Text("receipt", frame="receipt", columns=("receipt",)),
)
