"""Subscribing: SUBSCRIBE and UNSUBSCRIBE."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN

SUBSCRIBING = Chapter("Subscribing")
DURABLE = ("durable-subscription-name", "durable-subscriber-name", "activemq.subscriptionName", "durable", "persistent")


@SUBSCRIBING.rule(
    "SB-01", versions=ALL_VERSIONS, side="client", level="M", observed="F",
    clause="1.2 and 1.1 SUBSCRIBE; 1.0 SUBSCRIBE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
    """,
)
def sb_01(ctx: RuleContext) -> Judged:
    """SUBSCRIBE has destination.

    An empty value counts as missing.
    """
    return Judged(ctx.of("SUBSCRIBE"), ctx.lacks("destination"), "SUBSCRIBE without destination")


@SUBSCRIBING.rule(
    "SB-02", versions="1.1 1.2", side="client", level="M", observed="F",
    clause="1.2 and 1.1 SUBSCRIBE id Header",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎destination:/queue/a⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
    """,
)
def sb_02(ctx: RuleContext) -> Judged:
    """SUBSCRIBE has id.

    Optional in 1.0. An empty value counts as missing.
    """
    return Judged(ctx.of("SUBSCRIBE"), ctx.lacks("id"), "SUBSCRIBE to {destination} without id")


@SUBSCRIBING.rule(
    "SB-03", versions="1.2", side="client", level="M/I", observed="S",
    clause="1.2 SUBSCRIBE id Header",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: SUBSCRIBE⏎id:0⏎destination:/queue/b⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: SUBSCRIBE⏎id:1⏎destination:/queue/b⏎⏎␀
    """,
)
def sb_03(ctx: RuleContext) -> Judged:
    """Subscriptions of a connection have different ids.

    Two codes: "duplicate" where a subscription of that id is active, and "reuse" where one of that id was unsubscribed
    not more than 65,536 frames before. Not evaluable where an UNSUBSCRIBE may have been lost, or an ERROR before may have meant the first
    SUBSCRIBE.

    Reuse after UNSUBSCRIBE is common and brokers accept it: informational. RabbitMQ closes on duplicates.
    """
    state = ctx.facts.subscription_state
    twice, again = state == ACTIVE, state == ENDED
    subscribe = ctx.of("SUBSCRIBE")

    def say(index: I64) -> pa.Array:
        kind = pc.if_else(pa.array(twice[index]), "duplicate: an active subscription has", "reuse: an earlier subscription had")
        return pc.binary_join_element_wise(kind, ctx.say("id:{id}", index), " ")

    return Judged(subscribe & ~ctx.lacks("id", subscribe), twice | again, say, lenient=again,
                  unevaluable=(twice | again) & (ctx.facts.missed_c2s | (twice & (ctx.facts.errors_before > 0))))


@SUBSCRIBING.rule(
    "SB-04", versions=ALL_VERSIONS, side="client", level="M", observed="H",
    clause="1.2 and 1.1 SUBSCRIBE ack Header; 1.0 SUBSCRIBE",
    breaks="""
        in 1.0
        C: SUBSCRIBE⏎destination:/queue/a⏎ack:client-individual⏎⏎␀
    """,
    keeps="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client-individual⏎⏎␀
    """,
)
def sb_04(ctx: RuleContext) -> Judged:
    """The ack mode is one of the version's.

    auto, client and, from 1.1 on, client-individual. Without the header the mode is auto.

    stompest uses client-individual in 1.0. Of a mode it does not know ActiveMQ makes auto, RabbitMQ an ERROR.
    """
    asked = ctx.has("ack", ctx.of("SUBSCRIBE"))
    individual = ctx.matches("ack", "^client-individual$", asked)
    known = ctx.matches("ack", "^(auto|client)$", asked) | (individual & (ctx.dialogue.version != 0))
    return Judged(asked, ~known, "ack:{ack}", unevaluable=individual & (ctx.dialogue.version < 0))


@SUBSCRIBING.rule(
    "SB-06", versions="1.1 1.2", side="client", level="M", observed="F",
    clause="1.2 and 1.1 UNSUBSCRIBE",
    breaks="""
        in 1.2
        C: UNSUBSCRIBE⏎destination:/queue/a⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: UNSUBSCRIBE⏎id:0⏎⏎␀
    """,
)
def sb_06(ctx: RuleContext) -> Judged:
    """UNSUBSCRIBE has id.

    An empty value counts as missing.

    In 1.0 a destination does as well, so the rule begins with 1.1.
    """
    unsubscribe = ctx.of("UNSUBSCRIBE")
    return Judged(unsubscribe, ctx.lacks("id", unsubscribe), "UNSUBSCRIBE without id")


@SUBSCRIBING.rule(
    "SB-07", versions="1.1 1.2", side="client", level="M", observed="S",
    clause="1.2 and 1.1 UNSUBSCRIBE",
    breaks="""
        in 1.2
        C: UNSUBSCRIBE⏎id:0⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: UNSUBSCRIBE⏎id:0⏎⏎␀
    """,
)
def sb_07(ctx: RuleContext) -> Judged:
    """UNSUBSCRIBE names an active subscription.

    Fails where the id was never subscribed, or was unsubscribed before. Not evaluable where the SUBSCRIBE may have been
    lost, as in a capture that starts mid-stream.

    On ActiveMQ and Artemis a durable subscription may be removed by a connection that is not subscribed: an
    UNSUBSCRIBE with one of the headers for that is not judged.
    """
    state = ctx.facts.subscription_state
    unsubscribe = ctx.of("UNSUBSCRIBE")
    durable = ctx.none()
    for name in DURABLE:
        durable |= ctx.has(name, unsubscribe)
    stray = (state == UNKNOWN) | (state == ENDED)
    return Judged(unsubscribe & ~ctx.lacks("id", unsubscribe) & ~durable, stray, "id:{id} is no active subscription",
                  unevaluable=stray & ctx.facts.missed_c2s)


@SUBSCRIBING.rule(
    "SB-09", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2, 1.1 and 1.0 SUBSCRIBE (by silence)",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: SUBSCRIBE⏎id:1⏎destination:/queue/a⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: SUBSCRIBE⏎id:1⏎destination:/queue/b⏎⏎␀
    """,
)
def sb_09(ctx: RuleContext) -> Judged:
    """A destination is subscribed to once.

    Two subscriptions of one connection to one destination are legal, but explain why a topic's messages come twice. Not
    evaluable where an UNSUBSCRIBE may have been lost, or an ERROR before may have refused the first SUBSCRIBE.
    """
    twice = ctx.facts.same_destination > 0
    subscribe = ctx.of("SUBSCRIBE")
    return Judged(subscribe & ~ctx.lacks("destination", subscribe), twice, "{destination} is subscribed to already",
                  unevaluable=twice & (ctx.facts.missed_c2s | (ctx.facts.errors_before > 0)))
