"""The records of transactions: one per transaction that a frame names, their fields one line each (stompcap.session.layout)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stompcap.codes import TRANSACTION_OPEN
from stompcap.columns import I64
from stompcap.session.layout import Field, Layout, Text


class Transaction(NamedTuple):
    """The transactions of a step as columns of numbers."""

    session: I64
    ordinal: Annotated[I64, Field(frame="ordinal")]  # of the frame that names it first: its BEGIN, or another
    offset: Annotated[I64, Field(frame="offset", columns=("begin_offset",))]
    first_ns: Annotated[I64, Field(frame="first_ns")]
    begun_ns: Annotated[I64, Field(columns=("begun_ns", "begun_ts"))]  # when its BEGIN began; -1 where it was never begun
    outcome: Annotated[I64, Field(TRANSACTION_OPEN, columns=("outcome",))]
    ended_ordinal: Annotated[I64, Field()]  # of its COMMIT or ABORT
    ended_ns: Annotated[I64, Field()]  # when that began
    ended_whole_ns: Annotated[I64, Field()]  # when that was whole
    sends: Annotated[I64, Field(0, columns=("sends",))]  # what is inside of it
    acks: Annotated[I64, Field(0, columns=("acks",))]
    nacks: Annotated[I64, Field(0, columns=("nacks",))]
    body_octets: Annotated[I64, Field(0, columns=("body_octets",))]
    touched: Annotated[I64, Field()]  # ordinal of the frame that named it last
    open_before: Annotated[I64, Field(0)]  # transactions that were open before it
    gaps_c2s: Annotated[I64, Field(0)]  # gaps of the client that had ended before it
    missed: Annotated[I64, Field(0)]  # octets of the client may be missing before it
    missed_at_end: Annotated[I64, Field(0)]  # and before its end
    trusted: Annotated[I64, Field(0)]  # its first frame surely is one (stompcap.session.trust)
    final: Annotated[I64, Field(0)]  # emitted: 1 in this step, 2 in an earlier one


LAYOUT = Layout(Transaction, Text("id", frame="transaction", columns=("transaction",)))
