"""Acknowledged: whether what an ACK or NACK names was delivered, and may still be acknowledged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, Bools, truth
from stompcap.rules.context import RuleContext
from stompcap.rules.frame_view import VALUE_CHARACTERS
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.facts import (
    ACTIVE,
    ENDED,
    TARGET_AUTO,
    TARGET_CUMULATED,
    TARGET_NONE,
    TARGET_OTHER_SUBSCRIPTION,
    TARGET_SETTLED,
    TARGET_UNKNOWN,
)

ACKNOWLEDGED = Chapter("Acknowledged messages")


def _named(ctx: RuleContext) -> Bools:
    """ACK and NACK frames that name a MESSAGE delivered on this connection."""
    target = ctx.facts.target
    named: Bools = (target != TARGET_NONE) & (target != TARGET_UNKNOWN)
    return ctx.of("ACK", "NACK") & named


@ACKNOWLEDGED.rule(
    "AK-04", versions=ALL_VERSIONS, side="client", level="M", observed="S",
    clause="1.2 ACK; 1.1 ACK; 1.0 ACK",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:7⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
)
def ak_04(ctx: RuleContext) -> Judged:
    """ACK and NACK name a MESSAGE delivered on this connection.

    In 1.2 by its ack header, before by its message-id. The most common client bug is to send the message-id as id
    in 1.2. What was settled before is AK-07's, another subscription's is AK-05's. Not evaluable where the MESSAGE may
    have been lost.

    On RabbitMQ and Artemis ack and message-id are equal, so the wrong key does not show there.
    """
    unknown = ctx.facts.target == TARGET_UNKNOWN
    answers = ctx.of("ACK") | (ctx.of("NACK") & (ctx.dialogue.version != 0))  # 1.0 has no NACK: FR-05
    return Judged(answers & (ctx.facts.target != TARGET_NONE), unknown, lambda index: _unknown(ctx, index),
                  unevaluable=unknown & ctx.facts.missed_s2c)


def _unknown(ctx: RuleContext, index: I64) -> pa.Array:
    """Evidence that says so where the value is the message-id of a MESSAGE delivered not long before."""
    version, message_id = ctx.dialogue.version[index], ctx.at(index, "message-id")
    by_id = pa.array((version == 2) | (version < 0))
    key = pc.if_else(by_id, pc.coalesce(ctx.at(index, "id"), message_id), message_id)
    mistaken = pa.array(ctx.facts.is_message_id[index] & (version == 2))
    value = pc.utf8_slice_codeunits(pc.fill_null(key, ""), 0, VALUE_CHARACTERS)
    kind = pc.if_else(mistaken, "is the message-id of a MESSAGE, not its ack", "names no MESSAGE delivered")
    return pc.binary_join_element_wise(ctx.say("{command}", index), value, kind, " ")


@ACKNOWLEDGED.rule(
    "AK-05", versions="1.1", side="client", level="M", observed="S",
    clause="1.1 ACK, NACK",
    breaks="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎⏎␀
        C: ACK⏎subscription:1⏎message-id:7⏎⏎␀
    """,
    keeps="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎⏎␀
        C: ACK⏎subscription:0⏎message-id:7⏎⏎␀
    """,
)
def ak_05(ctx: RuleContext) -> Judged:
    """An ACK's subscription is that of the MESSAGE it names.

    Judged where both have the header. Not evaluable where a MESSAGE of the same message-id to the subscription named
    may have been lost.

    RabbitMQ looks at the message-id alone; Artemis answers with an ERROR.
    """
    answers = _named(ctx) & ~ctx.lacks("subscription", ctx.of("ACK", "NACK"))
    index = np.flatnonzero(answers & (ctx.dialogue.version != 0) & (ctx.dialogue.version != 2))
    due, differs = ctx.none(), ctx.none()
    named = ctx.facts.delivery[index]
    theirs = ctx.deliveries.text["subscription_header"].take(pa.array(named, mask=named < 0))
    due[index] = np.asarray(theirs.is_valid())
    differs[index] = truth(pc.not_equal(theirs, ctx.at(index, "subscription")))
    other = (ctx.facts.target == TARGET_OTHER_SUBSCRIPTION) | differs
    return Judged(answers & due, other, "{command} of {message-id} names subscription {subscription}, not that of the MESSAGE",
                  unevaluable=other & ctx.facts.missed_s2c)


@ACKNOWLEDGED.rule(
    "AK-06", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2 and 1.1 SUBSCRIBE ack Header; 1.0 SUBSCRIBE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:auto⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
)
def ak_06(ctx: RuleContext) -> Judged:
    """What a subscription in mode auto delivers is not acknowledged.

    The server takes it as settled when it is sent, so an ACK has nothing to say. Not evaluable where a SUBSCRIBE with
    another mode may have been lost.

    Apollo ends the connection over it, RabbitMQ answers with an ERROR, others ignore it.
    """
    auto = ctx.facts.target == TARGET_AUTO
    return Judged(_named(ctx), auto, "{command} of a MESSAGE of a subscription in mode auto", unevaluable=auto & ctx.missed_any)


@ACKNOWLEDGED.rule(
    "AK-07", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2 and 1.1 ACK, SUBSCRIBE ack Header; 1.0 ACK",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:8⏎ack:a2⏎⏎␀
        C: ACK⏎id:a2⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client-individual⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:8⏎ack:a2⏎⏎␀
        C: ACK⏎id:a2⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
)
def ak_07(ctx: RuleContext) -> Judged:
    """A MESSAGE is acknowledged once.

    Fails for a second ACK or NACK of the same MESSAGE, and for one of a MESSAGE that a cumulative ACK in mode client
    settled along. Brokers answer it with an ERROR ("Message not found", "Unexpected ACK"). Not evaluable where the
    message may have been delivered again, or its transaction aborted, in octets that are missing.

    How far a cumulative ACK reaches differs: over the subscription by the specification, over the connection on
    RabbitMQ; judged by `--ack-scope`, by the broker's product unless told otherwise.
    """
    target = ctx.facts.target
    along = target == TARGET_CUMULATED
    again = (target == TARGET_SETTLED) | along

    def say(index: I64) -> pa.Array:
        how = pc.if_else(pa.array(along[index]), "that a later ACK settled along", "that was acknowledged before")
        return pc.binary_join_element_wise(ctx.say("{command} of a MESSAGE", index), how, " ")

    return Judged(_named(ctx), again, say, unevaluable=again & ctx.missed_any)


@ACKNOWLEDGED.rule(
    "AK-10", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2 and 1.1 UNSUBSCRIBE, ACK (by silence)",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: UNSUBSCRIBE⏎id:0⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
        C: UNSUBSCRIBE⏎id:0⏎⏎␀
    """,
)
def ak_10(ctx: RuleContext) -> Judged:
    """Messages are acknowledged before UNSUBSCRIBE.

    The texts say nothing of an ACK or NACK for a subscription that has ended. Not evaluable where a SUBSCRIBE of the
    same id may have been lost.

    RabbitMQ accepts it by now, others answer with an ERROR.
    """
    state = ctx.facts.subscription_state
    late = state == ENDED
    return Judged(_named(ctx) & ((state == ACTIVE) | late), late, "{command} after UNSUBSCRIBE", unevaluable=late & ctx.missed_any)
