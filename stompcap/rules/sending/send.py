"""Sending: SEND, and what comes out at the other end."""

from __future__ import annotations

from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.facts import ENDED, UNKNOWN

SENDING = Chapter("Sending")


@SENDING.rule(
    "SN-01", versions=ALL_VERSIONS, side="client", level="M", observed="F",
    clause="1.2 and 1.1 SEND; 1.0 SEND",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎␀
    """,
)
def sn_01(ctx: RuleContext) -> Judged:
    """SEND has destination.

    An empty value names nothing and counts as missing; brokers answer it with an ERROR.
    """
    return Judged(ctx.of("SEND"), ctx.lacks("destination"), "SEND without destination")


@SENDING.rule(
    "SN-02", versions=ALL_VERSIONS, side="client", level="M", observed="S",
    clause="1.2 and 1.1 SEND, BEGIN; 1.0 SEND, BEGIN",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎transaction:t1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: SEND⏎destination:/queue/a⏎transaction:t1⏎⏎␀
    """,
)
def sn_02(ctx: RuleContext) -> Judged:
    """A SEND's transaction is open.

    Begun on this connection, neither committed nor aborted. Not evaluable where the BEGIN may have been lost, as in a
    capture that starts mid-stream.

    Artemis passes over such a SEND in silence.
    """
    state = ctx.facts.transaction_state
    closed = (state == UNKNOWN) | (state == ENDED)
    sends = ctx.of("SEND")
    return Judged(sends & ~ctx.lacks("transaction", sends), closed, "SEND in transaction {transaction}, which is not open",
                  unevaluable=closed & ctx.facts.missed_c2s)


@SENDING.rule(
    "SN-03", versions="1.1 1.2", side="server", level="M", observed="X",
    clause="1.2 and 1.1 SEND",
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎colour:red⏎⏎␀
    """,
)
def sn_03(ctx: RuleContext) -> Judged:
    """A user's headers reach the receivers.

    The MESSAGE that a SEND becomes mostly crosses another connection, and nothing in the protocol ties the two together.
    Rules see one session at a time, so that the answer does not depend on how a run is split: every SEND counts as not
    evaluable. Where clients set a correlation-id, a query over `frames` can join SEND and MESSAGE by it.

    RabbitMQ drops headers that are no strings in AMQP, JMS brokers mangle names.
    """
    sends = ctx.of("SEND")
    return Judged(sends, ctx.none(), unevaluable=sends)


@SENDING.rule(
    "SN-04", versions="1.2", side="server", level="S", observed="X",
    clause="1.2 MESSAGE",
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: SEND⏎destination:/queue/a⏎⏎hello␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎hello␀
    """,
)
def sn_04(ctx: RuleContext) -> Judged:
    """A MESSAGE's destination is that of its SEND.

    The SEND mostly crosses another connection, if it was one at all (AMQP and JMS clients send too), and nothing in the
    protocol ties the two together. Rules see one session at a time, so that the answer does not depend on how a run is
    split: every MESSAGE counts as not evaluable.

    RabbitMQ rewrites /exchange/amq.topic/k to /topic/k and names temporary queues itself, Artemis strips prefixes.
    """
    messages = ctx.of("MESSAGE")
    return Judged(messages, ctx.none(), unevaluable=messages)


@SENDING.rule(
    "SN-06", versions=ALL_VERSIONS, side="client", level="I", observed="H",
    clause="1.2 and 1.1 SEND; 1.0 SEND (by silence)",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎my-message-id:1⏎⏎␀
    """,
)
def sn_06(ctx: RuleContext) -> Judged:
    """SEND has no message-id.

    The header is the server's, on MESSAGE; what a client puts there collides with it.

    RabbitMQ refuses such a SEND ("not allowed on SEND").
    """
    return Judged(ctx.of("SEND"), ctx.has("message-id", ctx.of("SEND")), "SEND with message-id:{message-id}")
