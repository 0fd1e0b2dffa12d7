"""Sending and subscribing: SEND, SUBSCRIBE."""

from __future__ import annotations

from stompcap.rules.case import Case
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.notes import ACTIVE

SENDING = Chapter("Sending and subscribing")


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
def sn_01(case: Case) -> Judged:
    """SEND has destination.

    An empty value names nothing and counts as missing; brokers answer it with an ERROR.
    """
    return Judged(case.of("SEND"), case.lacks("destination"), "SEND without destination")


@SENDING.rule(
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
def sb_01(case: Case) -> Judged:
    """SUBSCRIBE has destination.

    An empty value counts as missing.
    """
    return Judged(case.of("SUBSCRIBE"), case.lacks("destination"), "SUBSCRIBE without destination")


@SENDING.rule(
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
def sb_02(case: Case) -> Judged:
    """SUBSCRIBE has id.

    Optional in 1.0. An empty value counts as missing.
    """
    return Judged(case.of("SUBSCRIBE"), case.lacks("id"), "SUBSCRIBE to {destination} without id")


@SENDING.rule(
    "SB-03", versions="1.2", side="client", level="M", observed="S",
    clause="1.2 SUBSCRIBE id Header",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: SUBSCRIBE⏎id:0⏎destination:/queue/b⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        C: UNSUBSCRIBE⏎id:0⏎⏎␀
        C: SUBSCRIBE⏎id:0⏎destination:/queue/b⏎⏎␀
    """,
)
def sb_03(case: Case) -> Judged:
    """Active subscriptions of a connection have different ids.

    To use an id again after UNSUBSCRIBE is common and fine. RabbitMQ closes on duplicates. Not evaluable where an
    UNSUBSCRIBE may have been lost, or an ERROR before it may have meant the first SUBSCRIBE.
    """
    twice = case.n.subscription_state == ACTIVE
    subscribe = case.of("SUBSCRIBE")
    return Judged(subscribe & ~case.lacks("id", subscribe), twice, "id:{id} is in use",
                  unevaluable=twice & (case.n.missed_c2s | (case.n.error_before >= 0)))
