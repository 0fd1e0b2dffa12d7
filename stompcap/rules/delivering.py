"""Delivering: MESSAGE."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.columns import truth
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import I64, Bools
from stompcap.session.notes import MODE_CLIENT, MODE_INDIVIDUAL, MODE_UNKNOWN, UNKNOWN

DELIVERING = Chapter("Delivering")

REPLY_QUEUE = r"^/?(temp-queue|temp-topic|reply-queue)/"


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
        differs = (length[again] != length[before]) | ~_equal(case, "body_preview", again, before)
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

    Fails where the header is missing, or names an id that was never subscribed; whether the id is still active then
    is SB-08's matter. Not evaluable where the SUBSCRIBE may have been lost, or the client gave an earlier
    SUBSCRIBE no id (SB-02), which leaves the server nothing to name. Reply and temporary queues need no SUBSCRIBE: RabbitMQ
    makes up a subscription of that name. In 1.0 the header is advice, for clients that gave an id.
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
    unclear = (nameless[case.d.session] < np.arange(len(case.d))) | (strange & case.n.missed_c2s)
    return Judged(message, missing | strange, say, unevaluable=unclear & (missing | strange))


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

    For subscriptions in mode client and client-individual. Spring's simple broker leaves it out. Not evaluable
    where the mode is not known, for the SUBSCRIBE was not captured.
    """
    mode, missing = case.n.ack_mode, case.lacks("ack", case.of("MESSAGE"))
    asked = (mode == MODE_CLIENT) | (mode == MODE_INDIVIDUAL)
    unknown = (mode == MODE_UNKNOWN) & case.n.missed_c2s
    unsure = (mode == MODE_UNKNOWN) & ~unknown & ~case.clear
    return Judged(case.of("MESSAGE") & (asked | unknown | unsure), missing,
                  "MESSAGE {message-id} of subscription {subscription} without ack", unevaluable=unknown, pending=unsure)
