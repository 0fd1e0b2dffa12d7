"""Receipts: what a client asks for and RECEIPT answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, SERVER
from stompcap.columns import I64, truth
from stompcap.rules.context import RuleContext
from stompcap.rules.frame_view import VALUE_CHARACTERS
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged, Units
from stompcap.session.clocks import LAST
from stompcap.session.dialogue import COMMANDS, DISCONNECT, SEND
from stompcap.session.facts import ACTIVE, ENDED, REFUSED, UNKNOWN

RECEIPTS = Chapter("Receipts")


@RECEIPTS.rule(
    "RC-01", versions=ALL_VERSIONS, side="server", level="M", observed="F",
    clause="1.2 and 1.1 RECEIPT; 1.0 RECEIPT",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def rc_01(ctx: RuleContext) -> Judged:
    """RECEIPT has receipt-id.

    Only a missing header fails.

    A client may ask for a receipt of an empty name, so an empty value passes.
    """
    return Judged(ctx.of("RECEIPT"), ~ctx.has("receipt-id"), "RECEIPT without receipt-id")


@RECEIPTS.rule(
    "RC-02", versions=ALL_VERSIONS, side="server", level="M", observed="S",
    clause="1.2 and 1.1 RECEIPT; 1.0 RECEIPT",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:2⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def rc_02(ctx: RuleContext) -> Judged:
    """Receipt-id repeats a receipt asked for on this connection.

    Compared after unescaping both. Not evaluable where the frame that asked may have been lost, as in a capture that
    starts mid-stream. A second answer is RC-04's.

    A receipt that CONNECT asked for, against the rules (CN-08), may be answered.
    """
    stray = ctx.of("RECEIPT") & (ctx.facts.receipt_state == UNKNOWN)
    return Judged(ctx.has("receipt-id", ctx.of("RECEIPT")), stray, "receipt-id:{receipt-id} was never asked for",
                  unevaluable=stray & ctx.facts.missed_c2s)


@RECEIPTS.rule(
    "RC-03", versions=ALL_VERSIONS, side="server", level="M", observed="T",
    clause="1.2 and 1.1 Header receipt, RECEIPT; 1.0 Receipt",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        wait 15s
        S: ⏎
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def rc_03(ctx: RuleContext) -> Judged:
    """Each frame that asks for a receipt gets one.

    A RECEIPT, or an ERROR with its receipt-id. Fails where the server was still there `receipt_wait_s` ({receipt_wait_s}) later and
    had not answered. Not evaluable where it was not heard after that time, where octets of its side are missing, where the clocks
    of both directions cannot be compared, or where an ERROR came after the frame and may have meant it. What is asked for behind the
    server's FIN, or a RST, is not judged: nothing can answer it. A DISCONNECT's receipt is DS-05's.

    On RabbitMQ a SEND's receipt confirms that the message is safe: inside a transaction it comes after COMMIT only, and
    never where the transaction was aborted or the message rejected. So a SEND in a transaction that was not committed is
    not evaluable, nor is an unanswered SEND on RabbitMQ at all.
    """
    receipts = ctx.receipts
    index = np.flatnonzero(receipts.final & (receipts["command"] != DISCONNECT))
    session, ordinal, command, asked, answered, inside, committed, since, gaps = (
        receipts[name][index] for name in
        ("session", "ordinal", "command", "first_ns", "answered_ns", "inside", "committed", "since_ns", "gaps_s2c")
    )
    sends, unanswered = command == SEND, answered < 0
    uncommitted = sends & (inside != 0) & (committed == 0)
    present = ctx.ends.open_ns[session, SERVER] > since + ctx.limits.ns("receipt_wait_s")
    rabbitmq = truth(pc.equal(ctx.of_session("server_product"), "RabbitMQ"))[session]
    refused = ctx.first["last_error"].ordinal[session] > ordinal
    lost = (ctx.sessions.gaps[session, SERVER] > gaps) | ~ctx.closing[session]
    comparable = ctx.clocks.comparable(session, ordinal, np.full(len(index), LAST))
    excused = ~comparable | uncommitted | (rabbitmq & sends) | refused | lost | ~present
    over = comparable & unanswered & ctx.sessions.shut[session, SERVER] & (asked > ctx.sessions.end_ns[session, SERVER])
    return Judged(~over, unanswered, lambda at: _not_answered(ctx, index[at]),
                  unevaluable=unanswered & excused, units=requests(ctx, index))


def requests(ctx: RuleContext, index: I64) -> Units:
    """The frames that asked for these receipts."""
    units = ctx.units_among(ctx.receipts, index, CLIENT, "offset", "first_ns")
    return replace(units, trusted=ctx.receipts["trusted"][index] != 0)


def value_of(ctx: RuleContext, index: I64) -> pa.Array:
    """The values of these receipts, shortened."""
    return pc.utf8_slice_codeunits(ctx.receipts.text["value"].take(pa.array(index)), 0, VALUE_CHARACTERS)


def _not_answered(ctx: RuleContext, index: I64) -> pa.Array:
    command = pa.array((*COMMANDS, "a frame")).take(pa.array(ctx.receipts["command"][index]))
    asked = pc.binary_join_element_wise("receipt:", value_of(ctx, index), "")
    return pc.binary_join_element_wise(command, "with", asked, "is not answered", " ")


@RECEIPTS.rule(
    "RC-04", versions=ALL_VERSIONS, side="server", level="I", observed="S",
    clause="1.2 and 1.1 RECEIPT; 1.0 RECEIPT (by silence)",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
        S: RECEIPT⏎receipt-id:0⏎⏎␀
        S: RECEIPT⏎receipt-id:0⏎⏎␀
    """,
)
def rc_04(ctx: RuleContext) -> Judged:
    """A receipt is answered once.

    Fails for a RECEIPT whose request was answered before and not made again. Not evaluable where another request of
    the value may have been lost.

    A client may use a value again (syslog-ng always says 0): requests of one value are answered in the order of asking.
    """
    again = ctx.facts.receipt_state == ENDED
    known = ctx.of("RECEIPT") & np.isin(ctx.facts.receipt_state, (ACTIVE, ENDED))
    return Judged(known, again, "receipt-id:{receipt-id} again", unevaluable=again & ctx.facts.missed_c2s)


@RECEIPTS.rule(
    "RC-05", versions="1.1 1.2", side="server", level="I", observed="S",
    clause="1.2 RECEIPT; 1.1 RECEIPT",
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        C: SEND⏎destination:/queue/b⏎receipt:2⏎⏎␀
        S: RECEIPT⏎receipt-id:2⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def rc_05(ctx: RuleContext) -> Judged:
    """Receipts may come in any order.

    A RECEIPT says that all frames up to the one named were received, not that they were processed. So an order other
    than that of asking breaks nothing: each RECEIPT passes.

    RabbitMQ answers out of order, for a SEND's receipt waits until the message is safe.
    """
    return Judged(ctx.of("RECEIPT") & (ctx.facts.receipt_state != UNKNOWN), ctx.none())


@RECEIPTS.rule(
    "RC-06", versions=ALL_VERSIONS, side="server", level="I", observed="S",
    clause="1.2 and 1.1 RECEIPT, ERROR; 1.0 RECEIPT, ERROR",
    breaks="""
        in 1.2
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎message:no destination⏎receipt-id:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎message:no destination⏎receipt-id:1⏎⏎␀
        S closes
    """,
)
def rc_06(ctx: RuleContext) -> Judged:
    """A frame refused by ERROR gets no RECEIPT.

    ERROR says that it was not processed, RECEIPT the contrary. Judged at each ERROR whose receipt-id answers a request,
    and at a RECEIPT behind it. Not evaluable where another request of the value may have been lost.
    """
    state = ctx.facts.receipt_state
    refusals = ctx.of("ERROR") & (state == ACTIVE)
    after = ctx.of("RECEIPT") & (state == REFUSED)
    return Judged(refusals | after, after, "receipt-id:{receipt-id} after an ERROR for the same frame",
                  unevaluable=after & ctx.facts.missed_c2s)


@RECEIPTS.rule(
    "RC-07", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2 and 1.1 Header receipt; 1.0 Receipt (by silence)",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
        S: RECEIPT⏎receipt-id:0⏎⏎␀
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
    """,
)
def rc_07(ctx: RuleContext) -> Judged:
    """A receipt's value is not in use when it is asked for.

    Fails where an earlier request of the same value waits for its answer: the client cannot tell which one a RECEIPT
    answers. Not evaluable where the answer may have been lost.
    """
    asks = (ctx.facts.receipt >= 0) & (ctx.dialogue.side == CLIENT)
    twice = ctx.facts.receipt_state == ACTIVE
    return Judged(asks, twice, "{command} asks for receipt:{receipt}, which an earlier frame waits for",
                  unevaluable=twice & ctx.missed_any)
