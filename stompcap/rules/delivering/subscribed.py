"""Subscribed: whether what a server delivers was asked for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, SERVER
from stompcap.columns import I64
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.facts import ENDED, UNKNOWN

SUBSCRIBED = Chapter("Deliveries and subscriptions")

REPLY_QUEUE = r"^/?(temp-queue|temp-topic|reply-queue)/"


@SUBSCRIBED.rule(
    "SB-08", versions=ALL_VERSIONS, side="server", level="M", observed="S",
    clause="1.2 and 1.1 UNSUBSCRIBE; 1.0 UNSUBSCRIBE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: UNSUBSCRIBE⏎id:0⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: UNSUBSCRIBE⏎id:0⏎receipt:1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def sb_08(ctx: RuleContext) -> tuple[Judged, Judged]:
    """No MESSAGE comes for a subscription once its UNSUBSCRIBE is processed.

    Judged at each MESSAGE that names an ended subscription, and at each UNSUBSCRIBE that no such MESSAGE follows, by what
    comes within 65,536 frames of it. Not evaluable where a SUBSCRIBE of the same id may have been lost.

    Messages under way when UNSUBSCRIBE was sent are legal: until its RECEIPT, or where it asked for none until
    `unsubscribe_grace_s` ({unsubscribe_grace_s}) and the round trip, as long as CONNECT took, have passed. Not evaluable
    after that where the RECEIPT that it asked for had not been captured by then, nor where the clocks of both directions
    cannot be compared.
    """
    facts = ctx.facts
    late = ctx.of("MESSAGE") & (facts.subscription_state == ENDED)
    return (
        Judged(late, facts.too_late, "MESSAGE {message-id} of subscription {subscription}, which was unsubscribed",
               unevaluable=facts.untimed | (facts.too_late & (facts.missed_c2s | facts.unanswered))),
        _obeyed(ctx),
    )


def _obeyed(ctx: RuleContext) -> Judged:
    """The UNSUBSCRIBEs of subscriptions that are final, and for which no MESSAGE came too late."""
    ended = ctx.subscriptions
    index = np.flatnonzero(ended.final & (ended["ended_ns"] >= 0) & (ended["by_name"] != 0) & (ended["late"] == 0))
    session = ended["session"][index]
    until = ended["gaps_until"][index]
    lost = np.where(until < 0, ctx.sessions.gaps[session, SERVER], until) > ended["gaps_s2c"][index]
    return Judged(np.ones(len(index), bool), np.zeros(len(index), bool),
                  unevaluable=lost | ((until < 0) & ctx.ends.cut_off[session]),
                  units=ctx.units_among(ended, index, CLIENT, "ended_offset", "ended_ns"))


@SUBSCRIBED.rule(
    "MS-04", versions="1.1 1.2", side="server", level="M", observed="S",
    clause="1.2 and 1.1 MESSAGE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
)
def ms_04(ctx: RuleContext) -> Judged:
    """MESSAGE names a subscription of this connection.

    Fails where the header is missing, or names an id that was never subscribed, or was unsubscribed more than 65,536
    frames before; whether the id is still active within those is SB-08's matter. Not evaluable where the SUBSCRIBE may
    have been lost, or the client gave an earlier SUBSCRIBE no id (SB-02), which leaves the server nothing to name. In
    1.0 the header is advice, for clients that gave an id.

    Reply and temporary queues need no SUBSCRIBE: RabbitMQ makes up a subscription of that name. CoilMQ omits the
    header.
    """
    message = ctx.of("MESSAGE")
    missing = ctx.lacks("subscription", message)
    unknown_id = message & ~missing & (ctx.facts.subscription_state == UNKNOWN)
    unknown_id &= ~ctx.matches("subscription", REPLY_QUEUE, unknown_id) & ~ctx.matches("destination", REPLY_QUEUE, unknown_id)

    def say(index: I64) -> pa.Array:
        without = ctx.say("MESSAGE {message-id} of {destination} without subscription", index)
        never = ctx.say("subscription:{subscription} was never subscribed", index)
        return pc.if_else(pa.array(missing[index]), without, never)

    begun = ctx.sessions.start[ctx.dialogue.session, CLIENT]
    gap = ctx.facts.missed_c2s & (begun | (ctx.facts.gaps_c2s > 0))
    unclear = (ctx.facts.nameless_before > 0) | gap | (unknown_id & ctx.facts.missed_c2s)
    return Judged(message, missing | unknown_id, say, unevaluable=unclear & (missing | unknown_id))


@SUBSCRIBED.rule(
    "MS-06", versions=ALL_VERSIONS, side="server", level="M", observed="S",
    clause="1.2 and 1.1 SUBSCRIBE, MESSAGE; 1.0 SUBSCRIBE",
    breaks="""
        in 1.2
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
)
def ms_06(ctx: RuleContext) -> Judged:
    """A MESSAGE comes only where something was subscribed to.

    Fails where the client sent no SUBSCRIBE before. Whether that is still active is SB-08's matter, which one is meant
    MS-04's. Not evaluable where the SUBSCRIBE may have been lost.

    A SEND with a reply-to of a temporary queue makes RabbitMQ deliver the answers without a SUBSCRIBE: such queues are
    let pass.
    """
    message = ctx.of("MESSAGE")
    never = message & (ctx.facts.subscribes_before == 0)
    never &= ~ctx.matches("subscription", REPLY_QUEUE, never) & ~ctx.matches("destination", REPLY_QUEUE, never)
    return Judged(message, never, "MESSAGE of {destination}, but nothing was subscribed to",
                  unevaluable=never & ctx.facts.missed_c2s)
