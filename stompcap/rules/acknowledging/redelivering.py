"""Redelivering: what becomes of messages after ACK and NACK, as far as one session tells."""

from __future__ import annotations

import numpy as np

from stompcap.codes import CLIENT, DELIVERY_SETTLED, MODE_CLIENT, MODE_CLIENT_INDIVIDUAL, SERVER
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged

REDELIVERING = Chapter("Redelivering")
DELIVERED = """
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client-individual⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """


@REDELIVERING.rule(
    "AK-09", versions="1.1 1.2", side="client", level="M", observed="S",
    clause="1.2 and 1.1 SUBSCRIBE ack Header",
    keeps=DELIVERED,
)
def ak_09(ctx: RuleContext) -> Judged:
    """In the client modes every message processed is acknowledged.

    ACK for what was processed, NACK (should) for what was not. Judged at each MESSAGE of mode client and
    client-individual: passes where it is settled.

    Whether a client processed a message is not on the wire. One that is unsettled at the close is therefore no breach
    but not evaluable; `deliveries` (status unsettled) and `subscriptions` (unsettled) count them.
    """
    deliveries = ctx.deliveries
    asked = np.isin(deliveries["mode"], (MODE_CLIENT, MODE_CLIENT_INDIVIDUAL))
    index = np.flatnonzero(deliveries.final & asked)
    return Judged(np.ones(len(index), bool), np.zeros(len(index), bool), unevaluable=deliveries["status"][index] != DELIVERY_SETTLED,
                  units=ctx.units_among(deliveries, index, SERVER, "offset", "delivered_ns"))


@REDELIVERING.rule(
    "AK-12", versions="1.1 1.2", side="server", level="M", observed="X",
    clause="1.2 and 1.1 SUBSCRIBE ack Header",
    keeps=DELIVERED,
)
def ak_12(ctx: RuleContext) -> Judged:
    """An ACK in mode client-individual settles no other message.

    Would show only by a message that is not delivered again, later, perhaps to another client: no capture proves it,
    and rules see one session at a time. Every ACK and NACK of that mode counts as not evaluable.
    """
    answers = ctx.of("ACK", "NACK") & (ctx.facts.ack_mode == MODE_CLIENT_INDIVIDUAL)
    return Judged(answers, ctx.none(), unevaluable=answers)


@REDELIVERING.rule(
    "AK-13", versions=ALL_VERSIONS, side="server", level="I", observed="X",
    clause="1.2 and 1.1 ACK; 1.0 ACK",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client-individual⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a2⏎redelivered:true⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client-individual⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: NACK⏎id:a1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a2⏎redelivered:true⏎⏎␀
    """,
)
def ak_13(ctx: RuleContext) -> Judged:
    """A message acknowledged is not delivered again.

    Judged at each MESSAGE whose message-id came before on the same subscription, or that says redelivered:true. Fails
    where the earlier one was settled by an ACK outside a transaction before; passes where it was not. A redelivery of
    what an earlier connection got cannot be judged: rules see one session at a time, so that the answer does not
    depend on how a run is split.

    The message-id must be the message's own for it to show: ActiveMQ repeats it, RabbitMQ's names the delivery.
    """
    message, copy, delivery = ctx.of("MESSAGE"), ctx.facts.copy_of, ctx.facts.delivery
    index = np.flatnonzero(message & (copy >= 0) & (delivery >= 0))
    subscription, again = ctx.deliveries["subscription"], ctx.none()
    again[index] = subscription[delivery[index]] == subscription[copy[index]]
    marked = ctx.matches("redelivered", "(?i)^true$", message)
    return Judged(again | (message & marked), again & ctx.facts.copy_acked, "message-id:{message-id} comes again after its ACK",
                  unevaluable=~again)


@REDELIVERING.rule(
    "AK-14", versions="1.1", side="both", level="I", observed="S",
    clause="1.1 NACK, SUBSCRIBE ack Header",
    breaks="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:8⏎⏎␀
        C: NACK⏎subscription:0⏎message-id:8⏎⏎␀
    """,
    keeps="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎⏎␀
        C: NACK⏎subscription:0⏎message-id:7⏎⏎␀
    """,
)
def ak_14(ctx: RuleContext) -> Judged:
    """A NACK in mode client leaves no doubt about the messages before it.

    The text makes NACK the opposite of ACK, and so cumulative in mode client: all messages before it that were not
    acknowledged. Peers do not agree, so a NACK with unsettled messages before it on its subscription means different
    things to different servers; it is reported for information. Not evaluable where octets may be missing before it.

    ActiveMQ refuses the one message named, Artemis takes NACK for ACK, RabbitMQ refuses all.
    """
    facts = ctx.facts
    nacks = ctx.of("NACK") & (facts.ack_mode == MODE_CLIENT) & (facts.delivery >= 0)
    return Judged(nacks, facts.unsettled_earlier, "NACK in mode client with unsettled messages before it",
                  unevaluable=ctx.missed_any, blamed=np.full(len(ctx.dialogue), CLIENT, np.int64))
