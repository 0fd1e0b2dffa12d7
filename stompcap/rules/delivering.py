"""Delivering: MESSAGE."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.columns import truth
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import I64, Bools
from stompcap.session.notes import MODE_AUTO, MODE_CLIENT, MODE_INDIVIDUAL, MODE_UNKNOWN
from stompcap.session.previews import previews

DELIVERING = Chapter("Delivering")


@DELIVERING.rule(
    "MS-01", versions=ALL_VERSIONS, side="server", level="M", observed="F",
    clause="1.2 and 1.1 MESSAGE; 1.0 MESSAGE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
)
def ms_01(case: Case) -> Judged:
    """MESSAGE has destination.

    An empty value counts as missing.
    """
    return Judged(case.of("MESSAGE"), case.lacks("destination"), "MESSAGE {message-id} without destination")


@DELIVERING.rule(
    "MS-02", versions=ALL_VERSIONS, side="server", level="M", observed="F",
    clause="1.2 and 1.1 MESSAGE; 1.0 MESSAGE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
)
def ms_02(case: Case) -> Judged:
    """MESSAGE has message-id.

    An empty value counts as missing.
    """
    return Judged(case.of("MESSAGE"), case.lacks("message-id"), "MESSAGE of {destination} without message-id")


@DELIVERING.rule(
    "MS-03", versions="1.2", side="server", level="I", observed="S",
    clause="1.2 MESSAGE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎one␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎two␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎one␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:2⏎⏎two␀
    """,
)
def ms_03(case: Case) -> Judged:
    """A message-id belongs to one message.

    The same message may come again, after a NACK or on a second subscription, so a repeated id fails only where it
    names the same subscription and destination, no `redelivered:true` explains it and the body's length or
    beginning differs.
    """
    again = np.flatnonzero(case.n.message_id_before >= 0)
    before = case.n.message_id_before[again]
    repeated = case.none()
    if len(again):
        same = np.ones(len(again), bool)
        for name in ("subscription", "destination"):
            same &= _equal(case, name, again, before)
        length = case.d.body_octets
        differs = (length[again] != length[before]) | (previews(case.d, again) != previews(case.d, before))
        repeated[again] = same & differs
    message = case.of("MESSAGE")
    return Judged(message & ~case.lacks("message-id", message),
                  repeated & ~case.matches("redelivered", "(?i)^true$", repeated),
                  "message-id:{message-id} again, with another body")


def _equal(case: Case, name: str, left: I64, right: I64) -> Bools:
    """Whether two lists of frames have the same value, pair by pair; absent equals absent."""
    one, other = (pc.fill_null(case.at(index, name), "") for index in (left, right))
    return truth(pc.equal(one, other))


@DELIVERING.rule(
    "MS-05", versions="1.2", side="server", level="M", observed="S",
    settles="when clear",
    clause="1.2 MESSAGE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:1⏎⏎␀
    """,
)
def ms_05(case: Case) -> Judged:
    """MESSAGE has ack where the client must acknowledge.

    For subscriptions in mode client and client-individual. Not evaluable where the mode is not known, for the
    SUBSCRIBE was not captured, or another SUBSCRIBE of the same id may have been lost.

    Spring's simple broker leaves the header out.
    """
    mode, missing = case.n.ack_mode, case.lacks("ack", case.of("MESSAGE"))
    asked = (mode == MODE_CLIENT) | (mode == MODE_INDIVIDUAL)
    unknown = (mode == MODE_UNKNOWN) & case.n.missed_c2s
    unsure = (mode == MODE_UNKNOWN) & ~unknown & ~case.decided(case.clear)
    return Judged(case.of("MESSAGE") & (asked | unknown | unsure), missing,
                  "MESSAGE {message-id} of subscription {subscription} without ack",
                  unevaluable=unknown | (missing & case.n.missed_c2s), told=np.where(unsure | (asked & missing), case.clear, -1))


@DELIVERING.rule(
    "MS-07", versions="1.2", side="server", level="I", observed="F",
    settles="when clear",
    clause="1.2 MESSAGE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:auto⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:auto⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
)
def ms_07(case: Case) -> Judged:
    """In mode auto MESSAGE has no ack.

    The header is meant for the client modes. In mode auto it is harmless, as nothing is to be acknowledged. Not
    evaluable where another SUBSCRIBE of the same id may have been lost.
    """
    automatic, told = case.of("MESSAGE") & (case.n.ack_mode == MODE_AUTO), case.has("ack", case.of("MESSAGE"))
    return Judged(automatic, told, "MESSAGE of a subscription in mode auto with ack:{ack}",
                  unevaluable=told & case.n.missed_c2s)


@DELIVERING.rule(
    "MS-08", versions="1.2", side="server", level="I", observed="S",
    settles="when clear",
    clause="1.2 MESSAGE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:2⏎ack:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:1⏎⏎␀
        C: ACK⏎id:1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:2⏎ack:1⏎⏎␀
    """,
)
def ms_08(case: Case) -> Judged:
    """An ack value names one unsettled MESSAGE.

    Fails where an earlier MESSAGE with the same ack value waits to be settled: an ACK could mean either. Not evaluable
    where an ACK, NACK or SUBSCRIBE may have been lost.
    """
    doubled = case.n.ack_id_before >= 0
    message = case.of("MESSAGE")
    asked = (case.n.ack_mode == MODE_CLIENT) | (case.n.ack_mode == MODE_INDIVIDUAL)
    return Judged(message & asked & ~case.lacks("ack", message), doubled, "ack:{ack} of MESSAGE {message-id} is in use",
                  unevaluable=doubled & case.n.missed_c2s)


@DELIVERING.rule(
    "MS-09", versions=ALL_VERSIONS, side="server", level="I", observed="F",
    clause="none: an extension of brokers",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:1⏎redelivered:true⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:1⏎redelivered:false⏎⏎␀
    """,
)
def ms_09(case: Case) -> Judged:
    """A MESSAGE is delivered for the first time.

    No rule of the protocol: RabbitMQ and ActiveMQ mark with redelivered:true what was delivered before and not
    acknowledged. The failure rate is the rate of redelivery.

    Other brokers mark nothing, so a rate of 0 says little there.
    """
    message = case.of("MESSAGE")
    return Judged(message, case.matches("redelivered", "(?i)^true$", message), "MESSAGE {message-id} of {destination} was delivered before")
