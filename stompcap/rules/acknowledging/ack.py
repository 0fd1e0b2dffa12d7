"""Acknowledging: which headers ACK and NACK must have, and in which version."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64
from stompcap.rules.context import RuleContext
from stompcap.rules.record import Chapter, Judged

ACKING = Chapter("Acknowledging")


@ACKING.rule(
    "AK-01", versions="1.0", side="client", level="M", observed="F",
    clause="1.0 ACK",
    breaks="""
        in 1.0
        C: ACK⏎id:1⏎⏎␀
    """,
    keeps="""
        in 1.0
        C: ACK⏎message-id:1⏎⏎␀
    """,
)
def ak_01(ctx: RuleContext) -> Judged:
    """A 1.0 ACK has message-id.

    It names the MESSAGE by its message-id; an empty value counts as missing. 1.0 has no NACK.
    """
    return Judged(ctx.of("ACK"), ctx.lacks("message-id"), "ACK without message-id")


@ACKING.rule(
    "AK-02", versions="1.1", side="client", level="M", observed="F",
    clause="1.1 ACK, NACK",
    breaks="""
        in 1.1
        C: ACK⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.1
        C: ACK⏎subscription:0⏎message-id:1⏎⏎␀
    """,
)
def ak_02(ctx: RuleContext) -> Judged:
    """A 1.1 ACK or NACK has message-id and subscription.

    Both headers together name the delivery.

    RabbitMQ makes do with the message-id, so the fault does not show there.
    """
    nameless, homeless = ctx.lacks("message-id"), ctx.lacks("subscription")

    def say(index: I64) -> pa.Array:
        return pc.if_else(pa.array(nameless[index]), ctx.say("{command} without message-id", index),
                          ctx.say("{command} of {message-id} without subscription", index))

    return Judged(ctx.of("ACK", "NACK"), nameless | homeless, say)


@ACKING.rule(
    "AK-03", versions="1.2", side="client", level="M", observed="F",
    clause="1.2 ACK, NACK",
    breaks="""
        in 1.2
        C: ACK⏎subscription:0⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: ACK⏎id:1⏎⏎␀
    """,
)
def ak_03(ctx: RuleContext) -> Judged:
    """A 1.2 ACK or NACK has id.

    The id is the value of the MESSAGE's ack header.

    More headers do no harm: stompjs and webstomp add subscription. CoilMQ wants message-id as well.
    """
    return Judged(ctx.of("ACK", "NACK"), ctx.lacks("id"), "{command} without id")


@ACKING.rule(
    "AK-08", versions="1.0", side="client", level="M", observed="F",
    clause="1.0 Client Commands",
    breaks="""
        in 1.0
        C: NACK⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.0
        C: ACK⏎message-id:1⏎⏎␀
    """,
)
def ak_08(ctx: RuleContext) -> Judged:
    """A 1.0 client does not use NACK.

    The command came with 1.1. Judged at every ACK and NACK.

    RabbitMQ accepts it in 1.0 all the same; others answer with an ERROR.
    """
    return Judged(ctx.of("ACK", "NACK"), ctx.of("NACK"), "NACK of {message-id} in a 1.0 session")


@ACKING.rule(
    "AK-11", versions="1.2", side="client", level="M", observed="F",
    clause="1.2 ACK, NACK",
    breaks="""
        in 1.2
        C: ACK⏎subscription:0⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: ACK⏎id:1⏎subscription:0⏎message-id:1⏎⏎␀
    """,
)
def ak_11(ctx: RuleContext) -> Judged:
    """A 1.2 ACK or NACK does not rely on the headers of 1.1.

    Fails where message-id or subscription are there and id is not: a client that was written for 1.1 and negotiated
    1.2. Every such frame fails AK-03 too; this rule has its own id because its cause and its cure are others.
    """
    answers = ctx.of("ACK", "NACK")
    old = ~ctx.lacks("message-id", answers) | ~ctx.lacks("subscription", answers)
    return Judged(answers, ctx.lacks("id", answers) & old, "{command} of message-id {message-id} has no id, as if this were 1.1")
