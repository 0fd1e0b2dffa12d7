"""Connected: CONNECTED's headers, heart-beat offers, and what the first exchange tells an operator."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import OUTCOME_REFUSED, SERVER
from stompcap.rules.connecting import offers
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.rules.text_masks import matched
from stompcap.session.clocks import LAST

GREETING = Chapter("Greeting")

PRODUCT = r"^[^\s/]+(/\S+)?( [^\r\n]+)*$"
HEART_BEAT = r"^[0-9]+,[0-9]+$"
NO_BEATS = r"^\s*0\s*,\s*0\s*$"
HOST_REFUSED = r"(?i)\b(virtual[ -]?host|vhost|host)\b"


@GREETING.rule(
    "CN-14", versions="1.1 1.2", side="server", level="M", observed="H",
    clause="1.2 and 1.1 CONNECTED Frame (server)",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎server:/1.0⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎server:ActiveMQ-Artemis/2.42.0 ActiveMQ Artemis Messaging Engine⏎⏎␀
    """,
)
def cn_14(ctx: RuleContext) -> Judged:
    """The server header is a name, perhaps a version, perhaps comments.

    Name, a slash and a version if there is one, then comments, each behind one space. Artemis' long header is
    legal.
    """
    named = ctx.has("server", ctx.of("CONNECTED"))
    return Judged(named, ~ctx.matches("server", PRODUCT, named), "server:{server}")


@GREETING.rule(
    "CN-15", versions="1.0", side="server", level="I", observed="F",
    clause="1.0 Protocol",
    breaks="""
        C: CONNECT⏎login:a⏎⏎␀
        S: CONNECTED⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎login:a⏎⏎␀
        S: CONNECTED⏎session:1⏎⏎␀
    """,
)
def cn_15(ctx: RuleContext) -> Judged:
    """A 1.0 CONNECTED carries session.

    The only header 1.0 gives CONNECTED. RabbitMQ, ActiveMQ and Artemis all send it.
    """
    connected = ctx.of("CONNECTED")
    return Judged(connected, ctx.lacks("session", connected), "CONNECTED without session")


@GREETING.rule(
    "CN-16", versions="1.1 1.2", side="server", level="I", observed="X",
    clause="1.2 and 1.1 CONNECTED Frame (session)",
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎session:1⏎⏎␀
    """,
)
def cn_16(ctx: RuleContext) -> Judged:
    """A session id is unique on its server.

    It takes all sessions of a server to tell, and rules see one at a time: not evaluable. A query over the table
    sessions finds repeated ids; ActiveMQ repeats the client's own client-id.
    """
    return Judged(ctx.has("session", ctx.of("CONNECTED")), ctx.none(), unevaluable=~ctx.none())


@GREETING.rule(
    "CN-17", versions="1.1 1.2", side="both", level="M", observed="H", negotiated=False,
    clause="1.2 and 1.1 Heart-beating",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:10000, 10000⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:0,10000⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_17(ctx: RuleContext) -> Judged:
    """Heart-beat is two numbers and a comma.

    Non-negative integers: the text says positive and then explains 0. ActiveMQ refuses malformed ones, a blank once
    crashed RabbitMQ. In a session that settles on 1.0 the header is CN-18's; where no version was agreed, the
    client's offer decides.
    """
    d = ctx.dialogue
    meant = ctx.distinct("accept-version", offers.offers_new, ctx.of("CONNECT", "STOMP"))
    has = ctx.has("heart-beat", ctx.handshake)
    unknown = (d.version < 0) & ~meant
    malformed = ~ctx.matches("heart-beat", HEART_BEAT, has)
    return Judged(has & (d.version != 0), malformed, "heart-beat:{heart-beat}", unevaluable=unknown)


@GREETING.rule(
    "CN-18", versions="1.0", side="both", level="I", observed="H",
    clause="1.1 Heart-beating (new in 1.1)",
    breaks="""
        C: CONNECT⏎login:a⏎heart-beat:10000,10000⏎⏎␀
        S: CONNECTED⏎session:1⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.0,1.1⏎host:h⏎heart-beat:10000,10000⏎⏎␀
        S: CONNECTED⏎version:1.0⏎session:1⏎⏎␀
    """,
)
def cn_18(ctx: RuleContext) -> Judged:
    """Heart-beat means nothing in 1.0.

    A client that also offers later versions may well ask for heart-beats; one that offers only 1.0, or a server
    that has chosen it, asks in vain; 0,0 asks for nothing. RabbitMQ beats in 1.0 sessions all the same.
    """
    offer = ctx.distinct("accept-version", offers.offers_new, ctx.of("CONNECT", "STOMP"))
    asks = ctx.has("heart-beat", ctx.handshake) & ~ctx.matches("heart-beat", NO_BEATS, ctx.handshake)
    return Judged(ctx.handshake, asks & ~offer, "heart-beat:{heart-beat} in a 1.0 session")


@GREETING.rule(
    "CN-19", versions=ALL_VERSIONS, side="server", level="I", observed="T",
    clause="1.2, 1.1 and 1.0 Connecting",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        wait 11s
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        wait 1s
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_19(ctx: RuleContext) -> Judged:
    """CONNECT is answered in time.

    By CONNECTED or ERROR, within `connect_answer_s`, {connect_answer_s} by default. Not evaluable where the server was not heard of
    after that time, octets of its side are missing, or the clocks of both directions cannot be compared.

    Brokers give a login 10 s (RabbitMQ) to 30 s (ActiveMQ) themselves.
    """
    asked, connected, error = (ctx.first[kind] for kind in ("connect", "connected", "error"))
    session = np.flatnonzero(ctx.closing & asked.there)
    answered = connected.there | error.there
    until = np.where(connected.there, connected.last_ns, np.where(error.there, error.last_ns, ctx.ends.open_ns[:, SERVER]))
    end = np.where(connected.there, connected.ordinal, np.where(error.there, error.ordinal, LAST))
    timed = ctx.clocks.comparable(session, asked.ordinal[session], end[session])
    late = until - asked.first_ns > ctx.limits.ns("connect_answer_s")
    return Judged(np.ones(len(session), bool), late[session],
                  lambda index: ctx.say_of("connect", "no answer to {command} in time", session[index]),
                  unevaluable=np.where(late, ctx.ends.lost[:, SERVER], ~answered)[session] | ~timed, units=ctx.units_of("connect", session))


@GREETING.rule(
    "CN-20", versions=ALL_VERSIONS, side="client", level="I", observed="H",
    clause="1.2 and 1.1 CONNECT or STOMP Frame (login, passcode); 1.0 Protocol",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎login:alice⏎passcode:secret⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_20(ctx: RuleContext) -> Judged:
    """Credentials do not cross the network in the clear.

    No rule of the protocol, but of security: login or passcode on a connection without TLS.
    """
    opening = ctx.of("CONNECT", "STOMP")
    credentials = ctx.has("login", opening) | ctx.has("passcode", opening)
    return Judged(opening, credentials & ~ctx.sessions.encrypted[ctx.dialogue.session],
                  lambda index: _credentials(ctx, index))


def _credentials(ctx: RuleContext, index: np.ndarray) -> pa.Array:
    """Evidence that says which headers were there, never what a passcode was."""
    return pc.if_else(ctx.at(index, "passcode").is_valid(), "login and passcode unencrypted", "login unencrypted")


@GREETING.rule(
    "CN-21", versions="1.1 1.2", side="server", level="I", observed="F", negotiated=False,
    clause="1.2 and 1.1 CONNECT or STOMP Frame (host)",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: ERROR⏎message:Bad CONNECT⏎⏎Virtual host 'h' access denied␀
        S closes
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: ERROR⏎message:Bad CONNECT⏎⏎Access refused for user 'a'␀
        S closes
    """,
)
def cn_21(ctx: RuleContext) -> Judged:
    """A client is not refused for its host.

    Sorts refusals: the text of the ERROR that answers CONNECT speaks of the host or virtual host. A server may
    choose a default host instead of refusing.
    """
    error = ctx.first["error"]
    session = np.flatnonzero(ctx.closing & (ctx.outcome == OUTCOME_REFUSED) & error.there)
    named = matched(error.header("message"), HOST_REFUSED) | matched(error.column("body_preview"), HOST_REFUSED)
    return Judged(np.ones(len(session), bool), named[session],
                  lambda index: ctx.say_of("error", "{message} {body_preview}", session[index]), units=ctx.units_of("error", session))
