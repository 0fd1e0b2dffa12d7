"""Delivering: MESSAGE."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import MODE_AUTO, MODE_CLIENT, MODE_CLIENT_INDIVIDUAL, MODE_UNKNOWN
from stompcap.columns import I64, Bools, truth
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged

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
def ms_01(ctx: RuleContext) -> Judged:
    """MESSAGE has destination.

    An empty value counts as missing.
    """
    return Judged(ctx.of("MESSAGE"), ctx.lacks("destination"), "MESSAGE {message-id} without destination")


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
def ms_02(ctx: RuleContext) -> Judged:
    """MESSAGE has message-id.

    An empty value counts as missing.
    """
    return Judged(ctx.of("MESSAGE"), ctx.lacks("message-id"), "MESSAGE of {destination} without message-id")


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
def ms_03(ctx: RuleContext) -> Judged:
    """A message-id belongs to one message.

    The same message may come again, after a NACK or on a second subscription, so a repeated id fails only where it
    names the same subscription and destination, no `redelivered:true` explains it and the body's length or
    beginning differs.
    """
    again = np.flatnonzero((ctx.facts.copy_of >= 0) & (ctx.facts.delivery >= 0))
    delivery, copy = ctx.facts.delivery[again], ctx.facts.copy_of[again]
    same = [_equal(ctx.deliveries.text[name], delivery, copy) for name in ("subscription_header", "destination")]
    differs = [ctx.deliveries[name][delivery] != ctx.deliveries[name][copy] for name in ("body_octets", "body_hash")]
    repeated = ctx.none()
    repeated[again] = same[0] & same[1] & (differs[0] | differs[1])
    message = ctx.of("MESSAGE")
    return Judged(message & ~ctx.lacks("message-id", message),
                  repeated & ~ctx.matches("redelivered", "(?i)^true$", repeated),
                  "message-id:{message-id} again, with another body")


def _equal(values: pa.Array, left: I64, right: I64) -> Bools:
    """Whether two lists of rows have the same value, pair by pair; absent equals absent."""
    one, other = (pc.fill_null(values.take(pa.array(index)), "") for index in (left, right))
    return truth(pc.equal(one, other))


@DELIVERING.rule(
    "MS-05", versions="1.2", side="server", level="M", observed="S",
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
def ms_05(ctx: RuleContext) -> Judged:
    """MESSAGE has ack where the client must acknowledge.

    For subscriptions in mode client and client-individual. Not evaluable where the mode is not known, for the
    SUBSCRIBE was not captured, or another SUBSCRIBE of the same id may have been lost.

    Spring's simple broker leaves the header out.
    """
    mode, missing = ctx.facts.ack_mode, ctx.lacks("ack", ctx.of("MESSAGE"))
    asked = (mode == MODE_CLIENT) | (mode == MODE_CLIENT_INDIVIDUAL)
    unknown = (mode == MODE_UNKNOWN) & ctx.facts.missed_c2s
    return Judged(ctx.of("MESSAGE") & (asked | unknown), missing, "MESSAGE {message-id} of subscription {subscription} without ack",
                  unevaluable=unknown | (missing & ctx.facts.missed_c2s))


@DELIVERING.rule(
    "MS-07", versions="1.2", side="server", level="I", observed="F",
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
def ms_07(ctx: RuleContext) -> Judged:
    """In mode auto MESSAGE has no ack.

    The header is meant for the client modes. In mode auto it is harmless, as nothing is to be acknowledged. Not
    evaluable where another SUBSCRIBE of the same id may have been lost.
    """
    automatic, has = ctx.of("MESSAGE") & (ctx.facts.ack_mode == MODE_AUTO), ctx.has("ack", ctx.of("MESSAGE"))
    return Judged(automatic, has, "MESSAGE of a subscription in mode auto with ack:{ack}", unevaluable=has & ctx.facts.missed_c2s)


@DELIVERING.rule(
    "MS-08", versions="1.2", side="server", level="I", observed="S",
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
def ms_08(ctx: RuleContext) -> Judged:
    """An ack value names one unsettled MESSAGE.

    Fails where an earlier MESSAGE with the same ack value waits to be settled: an ACK could mean either. Not evaluable
    where an ACK, NACK or SUBSCRIBE may have been lost.
    """
    doubled = ctx.facts.ack_in_use
    message = ctx.of("MESSAGE")
    asked = (ctx.facts.ack_mode == MODE_CLIENT) | (ctx.facts.ack_mode == MODE_CLIENT_INDIVIDUAL)
    return Judged(message & asked & ~ctx.lacks("ack", message), doubled, "ack:{ack} of MESSAGE {message-id} is in use",
                  unevaluable=doubled & ctx.facts.missed_c2s)


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
def ms_09(ctx: RuleContext) -> Judged:
    """A MESSAGE is delivered for the first time.

    No rule of the protocol: RabbitMQ and ActiveMQ mark with redelivered:true what was delivered before and not
    acknowledged. The failure rate is the rate of redelivery.

    Other brokers mark nothing, so a rate of 0 says little there.
    """
    message = ctx.of("MESSAGE")
    return Judged(message, ctx.matches("redelivered", "(?i)^true$", message), "MESSAGE {message-id} of {destination} was delivered before")
