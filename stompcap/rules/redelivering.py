"""Redelivering: what becomes of messages after ACK and NACK, as far as one session tells."""

from __future__ import annotations

import numpy as np

from stompcap.rules.case import Case
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged, until_close
from stompcap.session.dialogue import ACK, CLIENT
from stompcap.session.notes import MODE_CLIENT, MODE_INDIVIDUAL

REDELIVERING = Chapter("Redelivering")
DELIVERED = """
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client-individual⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """


@REDELIVERING.rule(
    "AK-09", versions="1.1 1.2", side="client", level="M", observed="S", settles="at close",
    clause="1.2 and 1.1 SUBSCRIBE ack Header",
    keeps=DELIVERED,
)
def ak_09(case: Case) -> Judged:
    """In the client modes every message processed is acknowledged.

    ACK for what was processed, NACK (should) for what was not. Judged at each MESSAGE of mode client and
    client-individual: passes where it is settled.

    Whether a client processed a message is not on the wire. One that is unsettled at the close is therefore no breach
    but not evaluable; `deliveries` (status unsettled) and `subscriptions` (unsettled) count them.
    """
    mode = case.n.ack_mode
    asked = case.of("MESSAGE") & ((mode == MODE_CLIENT) | (mode == MODE_INDIVIDUAL))
    return Judged(asked, case.none(), unevaluable=~case.n.settled, told=until_close(~case.n.settled & ~case.n.replaced))


@REDELIVERING.rule(
    "AK-12", versions="1.1 1.2", side="server", level="M", observed="X",
    clause="1.2 and 1.1 SUBSCRIBE ack Header",
    keeps=DELIVERED,
)
def ak_12(case: Case) -> Judged:
    """An ACK in mode client-individual settles no other message.

    Would show only by a message that is not delivered again, later, perhaps to another client: no capture proves it,
    and rules see one session at a time. Every ACK and NACK of that mode counts as not evaluable.
    """
    answers = case.of("ACK", "NACK") & (case.n.ack_mode == MODE_INDIVIDUAL)
    return Judged(answers, case.none(), unevaluable=answers)


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
def ak_13(case: Case) -> Judged:
    """A message acknowledged is not delivered again.

    Judged at each MESSAGE whose message-id came before on the same subscription, or that says redelivered:true. Fails
    where the earlier one was settled by an ACK outside a transaction before; passes where it was not. A redelivery of
    what an earlier connection got cannot be judged: rules see one session at a time, so that the answer does not
    depend on how a run is split.

    The message-id must be the message's own for it to show: ActiveMQ keeps it, RabbitMQ's names the delivery.
    """
    d, message = case.d, case.of("MESSAGE")
    before = case.n.message_id_before
    index = np.flatnonzero(message & (before >= 0))
    again, acked = case.none(), case.none()
    if len(index):
        earlier = before[index]
        same = case.n.subscription_row[index] == case.n.subscription_row[earlier]
        by = case.n.acknowledged_by[earlier]
        outside = ~case.has("transaction")[by] & case.n.settled[earlier]
        again[index] = same
        acked[index] = same & (by >= 0) & (by < index) & (d.command[by] == ACK) & outside
    said = case.matches("redelivered", "(?i)^true$", message)
    return Judged(again | (message & said), acked, "message-id:{message-id} comes again after its ACK", unevaluable=~again)


@REDELIVERING.rule(
    "AK-14", versions="1.1", side="both", level="I", observed="S", settles="when clear",
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
def ak_14(case: Case) -> Judged:
    """A NACK in mode client leaves no doubt about the messages before it.

    The text makes NACK the opposite of ACK, and so cumulative in mode client: all messages before it that were not
    acknowledged. Peers do not agree, so a NACK with unsettled messages before it on its subscription means different
    things to different servers; it is told for information. Not evaluable where octets may be missing before it.

    ActiveMQ refuses the one message named, Artemis takes NACK for ACK, RabbitMQ refuses all.
    """
    d, n = case.d, case.n
    nacks = case.of("NACK") & (n.ack_mode == MODE_CLIENT) & (n.delivery_row >= 0)
    return Judged(nacks, n.unsettled_earlier, "NACK in mode client with unsettled messages before it",
                  unevaluable=n.missed_c2s | n.missed_s2c, told=case.clear, blamed=np.full(len(d), CLIENT, np.int8))

