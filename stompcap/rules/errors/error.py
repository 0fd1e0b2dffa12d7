"""Errors: what ERROR must tell, and that the connection ends with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import SERVER
from stompcap.columns import I64, take_or, truth
from stompcap.rules.context import RuleContext
from stompcap.rules.errors.consequences import has_ended, must_be_last, must_end, of_heartbeats, refusing, soon_after, untimed, was_last
from stompcap.rules.pending import Pending
from stompcap.rules.record import ALL_VERSIONS, Chapter, Decision, Judged
from stompcap.session.clocks import LAST
from stompcap.session.dialogue import SEND, SUBSCRIBE

ERRORS = Chapter("Errors")
PLAIN = ("message", "content-length", "content-type", "version", "server", "session", "heart-beat")


@ERRORS.rule(
    "ER-01", versions=ALL_VERSIONS, side="server", level="S", observed="F",
    clause="1.2 and 1.1 ERROR; 1.0 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
)
def er_01(ctx: RuleContext) -> Judged:
    """ERROR has message.

    A short description of what went wrong; the body may say more. An empty value counts as missing.
    """
    error = ctx.of("ERROR")
    return Judged(error, ctx.lacks("message", error), "ERROR without message")


def _has_ended(ctx: RuleContext, pending: Pending) -> Decision:
    """As `has_ended`, where the clocks of both directions can be compared."""
    ended = has_ended(ctx, pending)
    comparable = ctx.clocks.comparable(pending.session, pending.other_key, np.full(len(pending), LAST))
    return replace(ended, unevaluable=~comparable if ended.unevaluable is None else ended.unevaluable | ~comparable)


@ERRORS.rule(
    "ER-02", versions="1.1 1.2", side="server", level="M", observed="T", decide=_has_ended,
    clause="1.2 ERROR; 1.1 SEND, SUBSCRIBE",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        wait 5s
        S: ⏎
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
)
def er_02(ctx: RuleContext) -> Judged:
    """The server closes the connection just after ERROR.

    In 1.2 after every ERROR, in 1.1 after one that refuses a SEND or SUBSCRIBE (known by its receipt-id); 1.0 has no
    such rule. Passes where the server's FIN or RST comes within `error_close_s` ({error_close_s}), fails where the server was
    heard, by octets or a FIN, after that. Where the client closed first, the capture ends, or the clocks of both directions cannot be
    compared, it is not evaluable.

    RabbitMQ closes for few errors only, ActiveMQ for fatal ones, Artemis for errors of version and parsing.
    """
    errors = ctx.of("ERROR") & ((ctx.dialogue.version != 1) | refusing(ctx, (SEND, SUBSCRIBE), ctx.none()))
    return must_end(ctx, errors, "the connection stays open after ERROR {message}")


@ERRORS.rule(
    "ER-03", versions="1.2", side="server", level="M", observed="S", decide=was_last,
    clause="1.2 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
)
def er_03(ctx: RuleContext) -> Judged:
    """ERROR is the server's last frame.

    Each ERROR that another frame of the server follows fails, whatever that frame is. Not evaluable where none was
    captured and octets behind it may be missing.

    RabbitMQ, ActiveMQ and Artemis keep many connections open after an ERROR and go on serving them.
    """
    return must_be_last(ctx, ctx.of("ERROR"), "frames follow ERROR {message}")


def _is_answered(ctx: RuleContext, pending: Pending) -> Decision:
    """The request before the ERROR is answered, which acquits it, or never will be."""
    receipts, session = ctx.receipts, pending.session
    row = receipts.of(session, pending.key)
    answered, final = take_or(receipts["answered_ns"], row) >= 0, take_or(receipts["final"], row) == 1
    lost = ~ctx.closing[session] | ctx.ends.cut_off[session] | (ctx.sessions.gaps[session, SERVER] > pending.other_key)
    return Decision(decided=answered | final | (row < 0) | ctx.closing[session], applicable=~answered, unevaluable=lost)


@ERRORS.rule(
    "ER-04", versions="1.1 1.2", side="server", level="S", observed="S", decide=_is_answered,
    clause="1.2 and 1.1 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎message:no destination⏎receipt-id:1⏎⏎␀
        S closes
    """,
)
def er_04(ctx: RuleContext) -> tuple[Judged, Judged]:
    """An ERROR over a frame with a receipt has its receipt-id.

    Passes where the receipt-id names a receipt asked for. Fails where the header is missing, the client's latest frame
    asked for a receipt not longer than `error_cause_s` ({error_cause_s}) before, and nothing ever answered it. Errors about heart-beats
    concern no frame. Not evaluable where octets are missing that could tell better, the capture ended
    while the connection was open, or the clocks of both directions cannot be compared.

    RabbitMQ never sends the header; ActiveMQ and Artemis do.
    """
    facts, error = ctx.facts, ctx.of("ERROR")
    latest = facts.latest_client
    named = ctx.has("receipt-id", error)
    request = np.where(latest >= 0, facts.receipt[latest], -1) if len(latest) else latest
    silent = error & ~named & (request >= 0) & soon_after(ctx, latest) & ~of_heartbeats(ctx)
    ordinal = ctx.receipts["ordinal"][request] if len(ctx.receipts) else request
    return (
        Judged(named, ctx.none()),
        Judged(silent, silent, "ERROR {message} without the receipt-id of the frame before it",
               unevaluable=ctx.missed_any | untimed(ctx, latest),
               pending=True, key=np.stack([ordinal, facts.gaps_s2c], axis=1)),
    )


@ERRORS.rule(
    "ER-05", versions="1.1 1.2", side="server", level="S", observed="F",
    clause="1.2 and 1.1 ERROR, Headers content-length and content-type",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎SEND needs one␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎content-type:text/plain⏎content-length:14⏎⏎SEND needs one␀
        S closes
    """,
)
def er_05(ctx: RuleContext) -> Judged:
    """An ERROR with a body has content-length and content-type.

    Without them the client cannot tell where it ends nor what it is.

    ActiveMQ sends a Java stack trace without content-length.
    """
    error = ctx.of("ERROR") & (ctx.dialogue.body_octets > 0)
    sized, typed = ctx.sized, ctx.has("content-type")

    def say(index: I64) -> pa.Array:
        lacking = pc.if_else(pa.array(sized[index]), "content-type",
                             pc.if_else(pa.array(typed[index]), "content-length", "content-length and content-type"))
        return pc.binary_join_element_wise("ERROR has a body and no", lacking, " ")

    return Judged(error, ~sized | ~typed, say)


@ERRORS.rule(
    "ER-06", versions="1.1 1.2", side="server", level="S", observed="S",
    clause="1.2 and 1.1 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:bad frame⏎content-type:text/plain⏎content-length:4⏎⏎oops␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎transaction:t⏎⏎␀
        S: ERROR⏎message:bad frame⏎transaction:t⏎⏎␀
        S closes
    """,
)
def er_06(ctx: RuleContext) -> Judged:
    """An ERROR over a frame has headers that identify it.

    Advice of the text: a receipt-id, or any other header that helps to find the frame. Judged on an ERROR within
    `error_cause_s` ({error_cause_s}) of a frame of the client, CONNECT apart; any header beside message, content-length,
    content-type, version, server, session and heart-beat passes. Other ERRORs are not evaluable, for nothing says that a
    frame caused them; nor are those where the clocks of both directions cannot be compared.

    Errors about heart-beats concern no frame.
    """
    error = ctx.of("ERROR") & ~of_heartbeats(ctx)
    latest = ctx.facts.latest_client
    index = np.flatnonzero(error)
    helpful = ctx.none()
    if len(index):
        headers = ctx.dialogue.some("headers", index)
        names = pc.struct_field(pc.list_flatten(headers), "name")
        other = ~truth(pc.is_in(names, value_set=pa.array(PLAIN)))
        helpful[index[np.unique(np.asarray(pc.list_parent_indices(headers))[other])]] = True
    opening = ctx.of("CONNECT", "STOMP")[latest] & (latest >= 0) if len(latest) else error
    unclear = ~helpful & (~soon_after(ctx, latest) | untimed(ctx, latest))
    return Judged(error & ~opening, ~helpful, "ERROR {message} does not identify its frame", unevaluable=unclear)
