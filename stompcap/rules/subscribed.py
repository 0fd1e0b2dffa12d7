"""Subscribed: whether what a server delivers was asked for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import CLIENT, GAP, I64
from stompcap.session.notes import ACTIVE, ENDED, UNKNOWN
from stompcap.session.wire import integers

SUBSCRIBED = Chapter("Deliveries and subscriptions")

REPLY_QUEUE = r"^/?(temp-queue|temp-topic|reply-queue)/"


@SUBSCRIBED.rule(
    "SB-08", versions=ALL_VERSIONS, side="server", level="M", observed="S",
    settles="when clear",
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
def sb_08(case: Case) -> Judged:
    """No MESSAGE comes for a subscription once its UNSUBSCRIBE is processed.

    Judged at each MESSAGE that names an ended subscription, and at each UNSUBSCRIBE that no such MESSAGE follows, by what
    comes within 65,536 frames of it. Not evaluable where a SUBSCRIBE of the same id may have been lost.

    Messages under way when UNSUBSCRIBE was sent are legal: until its RECEIPT, or where it asked for none until
    `unsubscribe_grace_s` (2 s) and the round trip, as long as CONNECT took, have passed. Not evaluable after that where the
    RECEIPT that it asked for was not captured.
    """
    d, n = case.d, case.n
    left = n.unsubscribed_by
    late = case.of("MESSAGE") & (n.subscription_state == ENDED) & (left >= 0)
    trip = np.maximum(integers(case.tables["sessions"].column("connect_latency_us")), 0) * 1000
    overdue = late & (d.last_ns > d.last_ns[left] + trip[d.session] + case.limits.ns("unsubscribe_grace_s"))
    receipt = np.where(late, n.answered_by[left], -1)
    after = np.where(receipt >= 0, late & (d.last_ns > d.last_ns[receipt]), overdue)
    asked = case.has("receipt", case.of("UNSUBSCRIBE"))[left]
    told = np.where(overdue & asked, case.place(receipt), -1)

    ends, until = case.of("UNSUBSCRIBE") & (n.subscription_state == ACTIVE), np.minimum(n.gap_later_s2c, case.lapse)
    known = case.place(receipt) < until[left]  # by when the UNSUBSCRIBE is told
    follows = np.where(known, after, overdue) & (d.position < until[left])
    followed = case.none()
    followed[left[follows]] = True
    return Judged(late | (ends & ~followed), after, "MESSAGE {message-id} of subscription {subscription}, which was unsubscribed",
                  unevaluable=np.where(late, after & (n.missed_c2s | (receipt < 0) & asked), case.unseen()),
                  told=np.where(ends, until, np.where(after, np.maximum(told, case.clear), told)))


@SUBSCRIBED.rule(
    "MS-04", versions="1.1 1.2", side="server", level="M", observed="S",
    settles="when clear",
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
def ms_04(case: Case) -> Judged:
    """MESSAGE names a subscription of this connection.

    Fails where the header is missing, or names an id that was never subscribed, or was unsubscribed more than 65,536
    frames before; whether the id is still active within those is SB-08's matter. Not evaluable where the SUBSCRIBE may
    have been lost, or the client gave an earlier SUBSCRIBE no id (SB-02), which leaves the server nothing to name. In
    1.0 the header is advice, for clients that gave an id.

    Reply and temporary queues need no SUBSCRIBE: RabbitMQ makes up a subscription of that name. CoilMQ omits the
    header.
    """
    message = case.of("MESSAGE")
    missing = case.lacks("subscription", message)
    strange = message & ~missing & (case.n.subscription_state == UNKNOWN)
    strange &= ~case.matches("subscription", REPLY_QUEUE, strange) & ~case.matches("destination", REPLY_QUEUE, strange)

    def say(index: I64) -> pa.Array:
        without = case.say("MESSAGE {message-id} of {destination} without subscription", index)
        unknown = case.say("subscription:{subscription} was never subscribed", index)
        return pc.if_else(pa.array(missing[index]), without, unknown)

    nameless = np.full(case.d.sessions, len(case.d))
    without = np.flatnonzero(case.lacks("id", case.of("SUBSCRIBE")))[::-1]
    nameless[case.d.session[without]] = without
    raw = case.d.rows
    gap = np.flatnonzero((raw.kind == GAP) & (raw.side == CLIENT))
    since = np.full(case.d.sessions, np.iinfo(np.int64).max)  # when what the first gap hides may have been sent
    np.minimum.at(since, raw.session[gap], np.where(case.row_follows[gap], raw.last_ns[gap - 1], -1))
    unclear = (nameless[case.d.session] < np.arange(len(case.d))) | (case.d.last_ns > since[case.d.session])
    unclear |= strange & case.n.missed_c2s
    return Judged(message, missing | strange, say, unevaluable=unclear & (missing | strange))


@SUBSCRIBED.rule(
    "MS-06", versions=ALL_VERSIONS, side="server", level="M", observed="S",
    settles="when clear",
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
def ms_06(case: Case) -> Judged:
    """A MESSAGE comes only where something was subscribed to.

    Fails where the client sent no SUBSCRIBE before. Whether that is still active is SB-08's matter, which one is meant
    MS-04's. Not evaluable where the SUBSCRIBE may have been lost.

    A SEND with a reply-to of a temporary queue makes RabbitMQ deliver the answers without a SUBSCRIBE: such queues are
    let pass.
    """
    d, message = case.d, case.of("MESSAGE")
    subscribes = np.concatenate([[0], np.cumsum(case.of("SUBSCRIBE"))])
    never = message & (subscribes[:-1] == subscribes[d.starts[d.session]])
    never &= ~case.matches("subscription", REPLY_QUEUE, never) & ~case.matches("destination", REPLY_QUEUE, never)
    return Judged(message, never, "MESSAGE of {destination}, but nothing was subscribed to",
                  unevaluable=never & case.n.missed_c2s)
