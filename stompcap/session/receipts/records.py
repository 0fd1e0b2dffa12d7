"""The records of receipts: one per frame that asks for one, their fields one line each (stompcap.session.layout)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stompcap.columns import I64
from stompcap.session.dialogue import OTHER
from stompcap.session.layout import Field, Layout, Text


class Request(NamedTuple):
    """The requests of a step as columns of numbers; what is said of the answer is -1 while there is none."""

    session: I64
    ordinal: Annotated[I64, Field(frame="ordinal")]  # how many frames of its session came before the one that asks
    offset: Annotated[I64, Field(frame="offset", columns=("request_offset",))]
    first_ns: Annotated[I64, Field(frame="first_ns", columns=("requested_ns", "requested_ts"))]
    asked_ns: Annotated[I64, Field(frame="last_ns")]  # when the frame that asks was whole
    command: Annotated[I64, Field(OTHER, frame="command")]
    answered_ordinal: Annotated[I64, Field()]  # of the RECEIPT or ERROR
    answered_ns: Annotated[I64, Field(columns=("answered_ns",))]
    answered_order: Annotated[I64, Field(before=-1)]  # where that stands in wire order
    by_error: Annotated[I64, Field(0)]  # that is an ERROR
    transaction: Annotated[I64, Field()]  # ordinal of the open transaction that a SEND is inside of
    inside: Annotated[I64, Field(0)]  # a SEND in a transaction
    committed: Annotated[I64, Field(0)]  # and that was committed
    since_ns: Annotated[I64, Field(frame="last_ns")]  # from when on an answer is due: the request, or the COMMIT
    gaps_s2c: Annotated[I64, Field(0)]  # gaps of the server that had ended before it
    trusted: Annotated[I64, Field(0)]  # it surely is a frame (stompcap.session.trust)
    listed: Annotated[I64, Field(1)]  # 0 for CONNECT and STOMP, which are no rows of the table
    final: Annotated[I64, Field(0)]  # emitted: 1 in this step, 2 in an earlier one


LAYOUT = Layout(Request, Text("value", frame="receipt", columns=("receipt",)), Text("command_text", frame="command", columns=("command",)))
