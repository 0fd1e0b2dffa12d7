"""Negotiating: what a server makes of the versions a client offers, and how it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import OUTCOME_REFUSED, OUTCOME_UNANSWERED, SERVER
from stompcap.columns import I64, Bools, truth
from stompcap.rules.connecting import offers
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.rules.text_masks import decided, matched, unicode
from stompcap.session.clocks import LAST

NEGOTIATING = Chapter("Negotiating")

UNKNOWN_COMMAND = (
    r"(?i)\b(un(known|supported|defined|expected|recogni[sz]ed)|invalid|not supported)\b"
    r"[^\n]{0,40}\b(command|action|STOMP)\b"
)


def _names_command(ctx: RuleContext) -> Bools:
    """Sessions whose first ERROR complains of a command it does not know."""
    error = ctx.first["error"]
    return matched(error.header("message"), UNKNOWN_COMMAND) | matched(error.column("body_preview"), UNKNOWN_COMMAND)


def _pairs(ctx: RuleContext) -> pa.Array:
    """Per session "accept-version;version" of its CONNECT and CONNECTED."""
    accept, version = ctx.first["connect"].header("accept-version"), ctx.first["connected"].header("version")
    return pc.binary_join_element_wise(unicode(accept), unicode(version), ";")


def _choice(ctx: RuleContext) -> Callable[[I64], pa.Array]:
    def say(index: I64) -> pa.Array:
        pairs = _pairs(ctx).take(pa.array(ctx.dialogue.session[index]))
        return pc.binary_join_element_wise("accept-version and version:", pc.utf8_slice_codeunits(pairs, 0, 80), " ")

    return say


@NEGOTIATING.rule(
    "CN-09", versions="1.1 1.2", side="server", level="M", observed="F", negotiated=False,
    clause="1.2 and 1.1 CONNECTED Frame",
    breaks="""
        C: CONNECT⏎accept-version:1.1,1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎session:1⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.1,1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎session:1⏎⏎␀
    """,
)
def cn_09(ctx: RuleContext) -> Judged:
    """CONNECTED has version.

    Without the header the session is 1.0. That is a correct answer of a 1.0 server to a client that offers 1.0,
    which is then not judged; it fails where the client offered later versions only.
    """
    accept = ctx.first["connect"].header("accept-version")
    newer_only = decided(accept, lambda text: "1.0" not in offers.offered(text) and offers.offers_new(text))
    has = ctx.has("version", ctx.greeting)
    unseen = ctx.facts.connects_before == 0
    return Judged(ctx.greeting & (has | unseen | newer_only[ctx.dialogue.session]), ~has, "CONNECTED without version",
                  unevaluable=~has & unseen)


@NEGOTIATING.rule(
    "CN-09b", versions=ALL_VERSIONS, side="server", level="M", observed="S",
    clause="1.2 and 1.1 Protocol Negotiation",
    breaks="""
        C: CONNECT⏎login:a⏎⏎␀
        S: CONNECTED⏎version:1.1⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎login:a⏎⏎␀
        S: CONNECTED⏎version:1.0⏎⏎␀
    """,
)
def cn_09b(ctx: RuleContext) -> Judged:
    """The version chosen is one the client offered.

    A CONNECT without accept-version offers 1.0 and nothing else; RabbitMQ and ActiveMQ answer it with version:1.0,
    which is fine.
    """
    wrong = ~decided(_pairs(ctx), offers.chosen_is_offered)
    unseen = ctx.facts.connects_before == 0
    return Judged(ctx.has("version", ctx.greeting), wrong[ctx.dialogue.session], _choice(ctx), unevaluable=unseen)


@NEGOTIATING.rule(
    "CN-10", versions="1.1 1.2", side="server", level="M", observed="X",
    clause="1.2 and 1.1 Protocol Negotiation",
    keeps="""
        C: CONNECT⏎accept-version:1.0,1.1,1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_10(ctx: RuleContext) -> Judged:
    """The version chosen is the highest that both sides have.

    Passes where the server takes the highest version offered. Where it takes a lower one, a session does not tell
    what the server can do: not evaluable.
    """
    highest = decided(_pairs(ctx), offers.chosen_is_highest)
    seen = ctx.facts.connects_before > 0
    return Judged(ctx.has("version", ctx.greeting), ctx.none(), unevaluable=~(highest[ctx.dialogue.session] & seen))


def _lingers(ctx: RuleContext) -> Bools:
    """Sessions that were certainly open a good while after the server's first ERROR."""
    error = ctx.first["error"]
    late = ctx.ends.open_ns[:, SERVER] - error.last_ns > ctx.limits.ns("refusal_close_s")
    every = np.arange(len(late))
    comparable = ctx.clocks.comparable(every, error.ordinal, np.full(len(every), LAST), SERVER)
    return np.asarray(error.there & late & comparable)


@NEGOTIATING.rule(
    "CN-11", versions="1.1 1.2", side="server", level={"1.1": "S", "1.2": "M"}, observed="S", negotiated=False,
    clause="1.2 and 1.1 Protocol Negotiation",
    breaks="""
        C: CONNECT⏎accept-version:2.0⏎host:h⏎⏎␀
        S closes
    """,
    keeps="""
        C: CONNECT⏎accept-version:2.0⏎host:h⏎⏎␀
        S: ERROR⏎version:1.0,1.1,1.2⏎⏎␀
        S closes
    """,
)
def cn_11(ctx: RuleContext) -> Judged:
    """Without a common version the server says ERROR and closes.

    Judged where the client offers no version that exists, or the answer is an ERROR that lists versions. Fails
    where the server closes without a word or keeps the connection for more than `refusal_close_s` ({refusal_close_s}) after
    its ERROR (RabbitMQ takes up to ten); what a capture shows less of is not evaluable. An unfit CONNECTED is CN-09b's.
    """
    accept = ctx.first["connect"].header("accept-version")
    listed = ~ctx.first["connected"].there & truth(ctx.first["error"].header("version").is_valid())
    foreign = truth(accept.is_valid()) & ~decided(accept, offers.offers_known)
    return _refusal(ctx, listed | foreign, "no common version, but no ERROR and close")


def _closed_by_server(ctx: RuleContext) -> Bools:
    """Sessions that the server ended without a word, with nothing of what it may have said missing."""
    silent: Bools = ctx.ends.closed_by_server & ctx.ends.whole[:, SERVER] & (ctx.sessions.spoke_ns[:, SERVER] < 0)
    return silent


def _refusal(ctx: RuleContext, applicable: Bools, evidence: str) -> Judged:
    """The CONNECT of sessions that close, not accepted: ERROR and close pass, silence or a lingering connection fail."""
    refused, unanswered = ctx.outcome == OUTCOME_REFUSED, ctx.outcome == OUTCOME_UNANSWERED
    session = np.flatnonzero(ctx.closing & ctx.first["connect"].there & applicable & (refused | unanswered))
    silent = unanswered & _closed_by_server(ctx)
    lingers = refused & _lingers(ctx)
    explained = refused & ctx.first["error"].there & (ctx.sessions.closed_ns >= 0)
    return Judged(np.ones(len(session), bool), (silent | lingers)[session], evidence,
                  unevaluable=(~silent & ~lingers & ~explained)[session], units=ctx.units_of("connect", session))


@NEGOTIATING.rule(
    "CN-12", versions=ALL_VERSIONS, side="server", level="S", observed="S",
    clause="1.2 and 1.1 Connecting; 1.0 Protocol",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S closes
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: ERROR⏎message:Bad CONNECT⏎⏎␀
        S closes
    """,
)
def cn_12(ctx: RuleContext) -> Judged:
    """A CONNECT refused is answered by ERROR, then a close.

    1.0 goes further: the server always acknowledges. Fails on silence, or where the connection lives on for more than
    `refusal_close_s` ({refusal_close_s}) after the ERROR; not evaluable where the client gave up or the capture ends first.

    A silent close is also what a plain connection to another service's port looks like. Where that answers in a language
    of its own, as a TLS port does with an alert, it is no STOMP server: not evaluable.
    """
    return _refusal(ctx, ctx.closing, "the server closes or lingers without ERROR and close")


@NEGOTIATING.rule(
    "CN-13", versions="1.2", side="server", level="M", observed="S", negotiated=False,
    clause="1.2 CONNECT or STOMP Frame",
    breaks="""
        C: STOMP⏎accept-version:1.1,1.2⏎host:h⏎⏎␀
        S: ERROR⏎version:1.0,1.1,1.2⏎message:Unknown command STOMP⏎⏎␀
        S closes
    """,
    keeps="""
        C: STOMP⏎accept-version:1.1,1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_13(ctx: RuleContext) -> Judged:
    """STOMP is treated as CONNECT.

    A 1.2 server must (a 1.1 server should) take STOMP for CONNECT. Passes where a 1.2 session comes of it, fails
    where the server says it does not know the command and lists 1.2 among its versions. A server that refuses
    otherwise may be an older one, or have another reason: not evaluable. Sessions that settle on an earlier version
    are not judged.
    """
    first, version = ctx.first["connect"], ctx.sessions.version
    speaks = matched(ctx.first["error"].header("version"), r"\b1\.2\b")
    wrong = _names_command(ctx) & speaks & ~ctx.first["connected"].there
    stomp = truth(pc.equal(first.column("command"), "STOMP"))
    offered = decided(first.header("accept-version"), lambda text: "1.2" in offers.offered(text))
    session = np.flatnonzero(ctx.closing & stomp & offered & ((version == 2) | (version < 0)))
    return Judged(np.ones(len(session), bool), wrong[session], "the server does not take STOMP",
                  unevaluable=(~wrong & (version != 2))[session], units=ctx.units_of("connect", session))
