"""Connecting: what the client's CONNECT or STOMP frame says, and when."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.codes import CLIENT
from stompcap.columns import truth
from stompcap.rules.connecting import offers
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.clocks import Moment

CONNECTING = Chapter("Connecting")


@CONNECTING.rule(
    "CN-01", versions="1.1 1.2", side="client", level="M", observed="F", negotiated=False,
    clause="1.2 and 1.1 CONNECT or STOMP Frame, Protocol Negotiation",
    breaks="""
        C: STOMP⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.1⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.1⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.1⏎⏎␀
    """,
)
def cn_01(ctx: RuleContext) -> tuple[Judged, Judged]:
    """CONNECT has accept-version.

    CONNECT without the header is what a 1.0 client sends, so it fails only if the command is STOMP, which 1.0 does
    not have, or the server answers with 1.1 or later (its fault too: CN-09b).
    """
    again = ctx.of("CONNECT", "STOMP") & ~ctx.opening
    has = ctx.has("accept-version", again)
    first, evidence = ctx.first["connect"], "{command} without accept-version"
    session = np.flatnonzero(ctx.closing & first.there)
    newer = (ctx.sessions.version > 0) & ctx.first["connected"].there
    offers_it = truth(first.header("accept-version").is_valid())
    stomp = truth(pc.equal(first.column("command"), "STOMP"))
    return (
        Judged(again & (ctx.of("STOMP") | has), ~has, evidence),
        Judged((stomp | offers_it | newer)[session], ~offers_it[session],
               lambda index: ctx.say_of("connect", evidence, session[index]), units=ctx.units_of("connect", session)),
    )


@CONNECTING.rule(
    "CN-02", versions="1.1 1.2", side="client", level="M", observed="F", negotiated=False,
    clause="1.2 and 1.1 CONNECT or STOMP Frame",
    breaks="""
        C: CONNECT⏎accept-version:1.1,1.2⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.1,1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_02(ctx: RuleContext) -> Judged:
    """A client that offers 1.1 or later sends host.

    The name of the virtual host. stompjs omits it by default, stomp.py for 1.1, and most brokers do not mind; a
    wrong one is refused by some.
    """
    offer = ctx.distinct("accept-version", offers.offers_new, ctx.of("CONNECT", "STOMP"))
    return Judged(offer, ~ctx.has("host", offer), "{command} offers {accept-version} and has no host")


@CONNECTING.rule(
    "CN-03", versions="1.1 1.2", side="client", level="S", observed="H", negotiated=False,
    clause="1.1 Protocol Negotiation; 1.2 Protocol Negotiation",
    breaks="""
        C: CONNECT⏎accept-version:1.2,1.1,1.0⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.0,1.1,1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_03(ctx: RuleContext) -> Judged:
    """Accept-version lists versions in incrementing order.

    stompjs and webstomp list the highest version first. What is no version at all is CN-04's.
    """
    offer = ctx.has("accept-version", ctx.of("CONNECT", "STOMP"))
    return Judged(offer, ~ctx.distinct("accept-version", offers.incrementing, offer), "accept-version:{accept-version}")


@CONNECTING.rule(
    "CN-04", versions="1.1 1.2", side="client", level="M", observed="H", negotiated=False,
    clause="1.1 Protocol Negotiation; 1.2 Protocol Negotiation",
    breaks="""
        C: CONNECT⏎accept-version:1.1, 1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.1⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.1,1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_04(ctx: RuleContext) -> Judged:
    """Accept-version has versions and commas, nothing else.

    RabbitMQ, ActiveMQ and Artemis compare whole tokens: behind a blank a version is lost without a word.
    """
    offer = ctx.has("accept-version", ctx.of("CONNECT", "STOMP"))
    return Judged(offer, ~ctx.distinct("accept-version", offers.well_formed, offer), "accept-version:{accept-version}")


@CONNECTING.rule(
    "CN-05", versions="1.1 1.2", side="client", level="S", observed="F", negotiated=False,
    clause="1.1 CONNECT or STOMP Frame; 1.2 CONNECT or STOMP Frame",
    breaks="""
        C: STOMP⏎accept-version:1.0,1.1⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.1⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.0,1.1⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.1⏎⏎␀
    """,
)
def cn_05(ctx: RuleContext) -> Judged:
    """Clients connect by CONNECT rather than STOMP.

    Servers of 1.1 and later take either, those of 1.0 know CONNECT alone, so clients should keep to it. Judged once a
    session, by the frame that opens it, whatever the server answers. stomp.py opens by STOMP unless it is told to speak 1.0.
    """
    stomp = ctx.of("STOMP")
    return Judged(ctx.opening & (stomp | ctx.has("accept-version")), stomp, "the session is opened by STOMP")


@CONNECTING.rule(
    "CN-06", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2, 1.1 and 1.0 Connecting (by silence)",
    breaks="""
        in 1.2
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_06(ctx: RuleContext) -> Judged:
    """One CONNECT per connection.

    The texts do not speak of a second one; for ActiveMQ it is fatal.
    """
    again = ctx.facts.connects_before > 0
    return Judged(ctx.of("CONNECT", "STOMP"), again, "another {command} on the same connection",
                  unevaluable=~again & ctx.facts.missed_c2s)


@CONNECTING.rule(
    "CN-07", versions="1.1 1.2", side="client", level="I", observed="S",
    clause="1.2 and 1.1 Connecting, Once Connected",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
    """,
)
def cn_07(ctx: RuleContext) -> Judged:
    """No frames before CONNECTED has come.

    A frame that passes the capture point before CONNECTED does was sent before the client could know that it is
    connected, wherever the capture was taken; the reverse order proves nothing. Pipelining works with most brokers.
    """
    later = (ctx.dialogue.side == CLIENT) & ~ctx.of("CONNECT", "STOMP")
    d, connected = ctx.dialogue, ctx.first["connected"]
    before, _ = ctx.clocks.order(
        d.session, Moment(d.ordinal, d.first_ns), Moment(connected.ordinal[d.session], ctx.facts.connected_ns)
    )
    early = later & ((ctx.facts.connected_ns < 0) | (before & (d.first_ns < d.last_ns)))  # a frame in one packet came behind as a whole
    return Judged(later, early, "{command} before CONNECTED", unevaluable=early & ctx.facts.missed_s2c)


@CONNECTING.rule(
    "CN-08", versions=ALL_VERSIONS, side="client", level="M", observed="F",
    clause="1.2 and 1.1 Header receipt; 1.0 Receipt",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎receipt:1⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_08(ctx: RuleContext) -> Judged:
    """CONNECT asks for no receipt.

    CONNECTED is its answer already. STOMP, of which the texts do not speak here, is treated alike.

    ActiveMQ copies the value into CONNECTED as receipt-id, which is no stray receipt (RC-02).
    """
    opening = ctx.of("CONNECT", "STOMP")
    return Judged(opening, ctx.has("receipt", opening), "{command} with receipt:{receipt}")
