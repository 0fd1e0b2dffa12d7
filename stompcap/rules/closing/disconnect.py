"""Leaving: DISCONNECT, its receipt, and what comes after."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, SERVER
from stompcap.columns import I64
from stompcap.rules.context import RuleContext
from stompcap.rules.errors.consequences import must_be_last, was_last
from stompcap.rules.receipts.receipt import requests, value_of
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.clocks import LAST, Moment
from stompcap.session.dialogue import DISCONNECT

LEAVING = Chapter("Leaving")


@LEAVING.rule(
    "DS-01", versions="1.1 1.2", side="client", level="M", observed="S",
    clause="1.2 and 1.1 DISCONNECT",
    breaks="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        C: SEND⏎destination:/queue/a⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀⏎
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_01(ctx: RuleContext) -> tuple[Judged, Judged]:
    """The client sends no frame after DISCONNECT.

    Each later frame is a failure, each DISCONNECT that none follows passes. Not evaluable for a DISCONNECT behind which
    octets of the client are missing.

    EOLs are no frames: heart-beats may go on.
    """
    after = (ctx.dialogue.side == CLIENT) & ctx.facts.disconnected_before
    first = ctx.first["disconnect"]
    session = np.flatnonzero(ctx.closing & first.there)
    lost = (ctx.sessions.gaps > first.gaps)[session, CLIENT]
    return (
        Judged(after, after, "{command} after DISCONNECT"),
        Judged(np.ones(len(session), bool), np.zeros(len(session), bool), unevaluable=lost, units=ctx.units_of("disconnect", session)),
    )


@LEAVING.rule(
    "DS-02", versions="1.1 1.2", side="client", level="S", observed="S",
    clause="1.2 and 1.1 DISCONNECT",
    breaks="""
        in 1.2
        C: DISCONNECT⏎⏎␀
        C closes
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_02(ctx: RuleContext) -> Judged:
    """DISCONNECT asks for a receipt.

    The graceful way to leave: only the RECEIPT tells the client that all it sent arrived.

    webstomp asks for none and closes at once.
    """
    return Judged(ctx.of("DISCONNECT"), ~ctx.has("receipt", ctx.of("DISCONNECT")), "DISCONNECT without receipt")


def _asking(ctx: RuleContext) -> I64:
    """The receipts that DISCONNECT frames asked for, once they are final."""
    return np.flatnonzero(ctx.receipts.final & (ctx.receipts["command"] == DISCONNECT))


@LEAVING.rule(
    "DS-03", versions="1.1 1.2", side="client", level="S", observed="S",
    clause="1.2 and 1.1 DISCONNECT",
    breaks="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        C closes
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_03(ctx: RuleContext) -> Judged:
    """The client closes only after its DISCONNECT's RECEIPT.

    Passes where the RECEIPT passed the capture point before the client's FIN or RST; fails where the client closed
    first and the RECEIPT came later, or, everything from the server having been captured, never. Not evaluable where
    the server closed first, the client gave up after `receipt_wait_s` ({receipt_wait_s}), or the clocks of both directions do not tell.
    """
    index = _asking(ctx)
    session, asked, answered, order = (ctx.receipts[name][index] for name in ("session", "asked_ns", "answered_ns", "answered_order"))
    closed = np.where(ctx.ends.closed_by_client, ctx.sessions.closed_ns, -1)[session]
    ordinal = np.where(answered >= 0, ctx.receipts["answered_ordinal"][index], LAST)
    before, behind = ctx.clocks.order(session, Moment(np.full(len(index), LAST), closed), Moment(ordinal, answered))
    shut = ctx.sessions.close_order[session, CLIENT]
    before, behind = np.where(shut >= 0, order > shut, before), np.where(shut >= 0, order <= shut, behind)
    waited = (answered >= 0) & ((closed < 0) | behind)
    patient = closed - asked > ctx.limits.ns("receipt_wait_s")
    certain = (answered >= 0) | ctx.ends.whole[session, SERVER]
    left = ~waited & (closed >= 0) & ~patient & certain & ((answered < 0) | before)
    return Judged(np.ones(len(index), bool), left, lambda at: _say(ctx, "closed before RECEIPT", index[at]),
                  unevaluable=~waited & ~left, units=requests(ctx, index))


def _say(ctx: RuleContext, what: str, index: I64) -> pa.Array:
    """Evidence that names the receipt."""
    return pc.binary_join_element_wise(what, value_of(ctx, index), " ")


@LEAVING.rule(
    "DS-05", versions=ALL_VERSIONS, side="server", level="I", observed="S",
    clause="1.2 and 1.1 DISCONNECT, Connection Lingering; 1.0 Receipt",
    breaks="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S closes
    """,
)
def ds_05(ctx: RuleContext) -> Judged:
    """The server answers DISCONNECT's receipt before it closes.

    Passes where the answer was captured, fails where the server closed first, without one, and all it sent was
    captured. Not evaluable where the client closed first. What is asked for behind the server's close is not judged:
    nothing can answer it.

    Judged at the capture point: a server that closes with octets unread may reset the connection, and the client never
    gets the RECEIPT that was sent (the texts' section on lingering).
    """
    index = _asking(ctx)
    session, ordinal, asked = (ctx.receipts[name][index] for name in ("session", "ordinal", "asked_ns"))
    answered, closed = ctx.receipts["answered_ns"][index] >= 0, ctx.ends.closed_by_server[session]
    over = ~answered & closed & (asked > ctx.sessions.closed_ns[session])
    over &= ctx.clocks.comparable(session, ordinal, np.full(len(index), LAST))
    silent = ~answered & closed & ctx.ends.whole[session, SERVER]
    return Judged(~over, silent, lambda at: _say(ctx, "the server closed without RECEIPT", index[at]),
                  unevaluable=~answered & ~silent, units=requests(ctx, index))


@LEAVING.rule(
    "DS-06", versions=ALL_VERSIONS, side="server", level="I", observed="S", decide=was_last,
    clause="1.2 and 1.1 DISCONNECT (by silence)",
    breaks="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_06(ctx: RuleContext) -> Judged:
    """Nothing follows the RECEIPT of DISCONNECT.

    It is the last the client hears. Judged at each such RECEIPT, by the server's next frame. Not evaluable where none
    was captured and octets behind it may be missing.

    ActiveMQ may send the RECEIPT twice, from two of its handlers.
    """
    receipt = ctx.of("RECEIPT") & (ctx.facts.answers >= 0)
    receipt[receipt] = ctx.receipts["command"][ctx.facts.answers[receipt]] == DISCONNECT
    return must_be_last(ctx, receipt, "frames follow the RECEIPT of DISCONNECT")
