"""Committing: how transactions end, how long they last and how much they hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, TRANSACTION_ABORTED, TRANSACTION_COMMITTED, TRANSACTION_IMPLICITLY_ABORTED
from stompcap.columns import I64, truth
from stompcap.rules.context import RuleContext
from stompcap.rules.frame_view import VALUE_CHARACTERS
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged, Units

COMMITTING = Chapter("Ends of transactions")


@COMMITTING.rule(
    "TX-07", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2 and 1.1 BEGIN; 1.0 DISCONNECT",
    breaks="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: COMMIT⏎transaction:t1⏎⏎␀
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def tx_07(ctx: RuleContext) -> Judged:
    """A transaction is ended by COMMIT or ABORT.

    One that is open at DISCONNECT or at the close is aborted implicitly: legal, but what it held is lost. Judged at each
    BEGIN; not evaluable while the session is open, where octets of the client are missing, as they may be where neither its
    DISCONNECT nor its FIN was captured, or where the id was begun again.
    """
    index, units = _begun(ctx)
    session, outcome = units.session, ctx.transactions["outcome"][index]
    implicit = outcome == TRANSACTION_IMPLICITLY_ABORTED
    left = (ctx.first["disconnect"].there | ctx.sessions.fin[:, CLIENT])[session]
    return Judged(np.ones(len(index), bool), implicit, lambda at: _say(ctx, index[at], "is open at the end of the session"),
                  unevaluable=~np.isin(outcome, (TRANSACTION_COMMITTED, TRANSACTION_ABORTED)) & ~(implicit & left), units=units)


def _begun(ctx: RuleContext) -> tuple[I64, Units]:
    """The transactions that are final and were begun by a BEGIN with an id."""
    transactions = ctx.transactions
    named = truth(pc.greater(pc.binary_length(transactions.text["id"]), 0))
    index = np.flatnonzero(transactions.final & (transactions["begun_ns"] >= 0) & named)
    units = ctx.units_among(transactions, index, CLIENT, "offset", "begun_ns")
    return index, replace(units, trusted=transactions["trusted"][index] != 0)


def _say(ctx: RuleContext, index: I64, what: str | pa.Array) -> pa.Array:
    """Evidence that names the transaction."""
    name = pc.utf8_slice_codeunits(ctx.transactions.text["id"].take(pa.array(index)), 0, VALUE_CHARACTERS)
    return pc.binary_join_element_wise("transaction", name, what, " ")


@COMMITTING.rule(
    "TX-08", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2 and 1.1 BEGIN; 1.0 BEGIN (by silence)",
    breaks="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: COMMIT⏎transaction:t1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: SEND⏎destination:/queue/a⏎transaction:t1⏎⏎␀
        C: COMMIT⏎transaction:t1⏎⏎␀
    """,
)
def tx_08(ctx: RuleContext) -> Judged:
    """Transactions are neither empty, nor long, nor large, nor many.

    Judged at each BEGIN: fails where the transaction held nothing, lasted longer than
    `transaction_open_s` ({transaction_open_s}), held more than `transaction_actions` ({transaction_actions}) frames, or began while
    `transactions_open` ({transactions_open}) others were open. Not evaluable where it was not ended, or octets of the
    client may be missing before its end.

    The latter two are RabbitMQ's limits; other brokers have theirs. Outliers rather than breaches.
    """
    (index, units), limits = _begun(ctx), ctx.limits
    outcome, begun, ended, sends, acks, nacks, open_before, missed = (
        ctx.transactions[name][index]
        for name in ("outcome", "begun_ns", "ended_ns", "sends", "acks", "nacks", "open_before", "missed_at_end")
    )
    first, last = (ctx.transactions[name][index] for name in ("ordinal", "ended_ordinal"))
    count, comparable = sends + acks + nacks, ctx.clocks.comparable(units.session, first, last, CLIENT)
    empty, long = count == 0, ended - begun > limits.ns("transaction_open_s")
    large, many = count > limits.transaction_actions, open_before >= limits.transactions_open

    def say(at: I64) -> pa.Array:
        kind = np.select([empty[at], long[at], large[at]], ["is empty", "is open for long", "holds many frames"],
                         "begins while many are open")
        return _say(ctx, index[at], pa.array(kind.tolist(), pa.string()))

    return Judged(np.ones(len(index), bool), empty | long | large | many, say,
                  unevaluable=~np.isin(outcome, (TRANSACTION_COMMITTED, TRANSACTION_ABORTED)) | (missed != 0) | ~comparable, units=units)
