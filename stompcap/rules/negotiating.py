"""Negotiating: what a server makes of the versions a client offers, and how it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules import offers
from stompcap.rules.case import Case
from stompcap.rules.columns import decided, matched, unicode
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import I64, SERVER, Bools
from stompcap.tables import words

NEGOTIATING = Chapter("Negotiating")

REFUSED, UNANSWERED = words.OUTCOMES.index("refused"), words.OUTCOMES.index("unanswered")
UNKNOWN_COMMAND = (
    r"(?i)\b(un(known|supported|defined|expected|recogni[sz]ed)|invalid|not supported)\b"
    r"[^\n]{0,40}\b(command|action|STOMP)\b"
)


def _names_command(case: Case) -> Bools:
    """Sessions whose first ERROR complains of a command it does not know."""
    error = case.s.error
    texts = [case.at(error, name) for name in ("message", "body_preview")]
    return (error >= 0) & (matched(texts[0], UNKNOWN_COMMAND) | matched(texts[1], UNKNOWN_COMMAND))


def _pairs(case: Case) -> pa.Array:
    """Per session "accept-version;version" of its CONNECT and CONNECTED."""
    accept, version = case.at(case.s.connect, "accept-version"), case.at(case.s.connected, "version")
    return pc.binary_join_element_wise(unicode(accept), unicode(version), ";")


def _choice(case: Case) -> Callable[[I64], pa.Array]:
    def say(index: I64) -> pa.Array:
        pairs = _pairs(case).take(pa.array(case.d.session[index]))
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
def cn_09(case: Case) -> Judged:
    """CONNECTED has version.

    Without the header the session is 1.0. That is a correct answer of a 1.0 server to a client that offers 1.0,
    which is then not judged; it fails where the client offered later versions only.
    """
    accept = case.at(case.s.connect, "accept-version")
    newer_only = decided(accept, lambda text: "1.0" not in offers.offered(text) and offers.offers_new(text))
    has = case.has("version", case.greeting)
    unseen = (case.s.connect < 0)[case.d.session]
    return Judged(case.greeting & (has | newer_only[case.d.session] | unseen), ~has, "CONNECTED without version",
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
def cn_09b(case: Case) -> Judged:
    """The version chosen is one the client offered.

    A CONNECT without accept-version offers 1.0 and nothing else; RabbitMQ and ActiveMQ answer it with version:1.0,
    which is fine.
    """
    wrong = ~decided(_pairs(case), offers.chosen_is_offered)
    unseen = (case.s.connect < 0)[case.d.session]
    return Judged(case.has("version", case.greeting), wrong[case.d.session], _choice(case), unevaluable=unseen)


@NEGOTIATING.rule(
    "CN-10", versions="1.1 1.2", side="server", level="M", observed="X",
    clause="1.2 and 1.1 Protocol Negotiation",
    keeps="""
        C: CONNECT⏎accept-version:1.0,1.1,1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def cn_10(case: Case) -> Judged:
    """The version chosen is the highest that both sides have.

    Passes where the server takes the highest version offered. Where it takes a lower one, a session does not tell
    what the server can do: not evaluable.
    """
    highest = decided(_pairs(case), offers.chosen_is_highest)
    seen = (case.s.connect >= 0)[case.d.session]
    return Judged(case.has("version", case.greeting), case.none(), unevaluable=~(highest[case.d.session] & seen))


def _lingers(case: Case) -> Bools:
    """Frames of sessions that were certainly open a good while after the server's first ERROR."""
    s = case.s
    said = case.d.last_ns[np.maximum(s.error, 0)] if len(case.d) else s.error
    late = case.ends.open_ns[:, SERVER] - said > case.limits.ns("refusal_close_s")
    return ((s.error >= 0) & late)[case.d.session]


def _closed_after_error(case: Case) -> Bools:
    """Frames of sessions with an ERROR that someone then ended."""
    return ((case.s.error >= 0) & (case.s.closed_ns >= 0))[case.d.session]


@NEGOTIATING.rule(
    "CN-11", versions="1.1 1.2", side="server", level={"1.1": "S", "1.2": "M"}, observed="S", negotiated=False,
    settles="at close",
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
def cn_11(case: Case) -> Judged:
    """Without a common version the server says ERROR and closes.

    Judged where the client offers no version that exists, or the answer is an ERROR that lists versions. Fails
    where the server closes without a word or keeps the connection for more than `refusal_close_s` (15 s) after
    its ERROR (RabbitMQ takes up to ten); what a capture shows less of is not evaluable. An unfit CONNECTED is CN-09b's.
    """
    s = case.s
    listed = ((s.error >= 0) & (s.connected < 0) & _valid(case.at(s.error, "version")))[case.d.session]
    offer = case.has("accept-version", case.opening)
    foreign = offer & ~case.distinct("accept-version", offers.offers_known, offer)
    return _refusal(case, case.opening & (listed | foreign), "no common version, but no ERROR and close")


def _valid(values: pa.Array) -> Bools:
    return np.asarray(values.is_valid())


def _closed_by_server(case: Case) -> Bools:
    """Frames of sessions that the server ended without a word, with nothing of what it may have said missing."""
    silent: Bools = case.ends.closed_by_server & case.ends.whole[:, SERVER] & (case.ends.spoke_ns[:, SERVER] < 0)
    return silent[case.d.session]


def _refusal(case: Case, applicable: Bools, evidence: str) -> Judged:
    """A CONNECT not accepted: ERROR and close pass, silence or a lingering connection fail, else not evaluable."""
    outcome = case.outcome[case.d.session]
    rejected = (outcome == REFUSED) | (outcome == UNANSWERED)
    silent = (outcome == UNANSWERED) & _closed_by_server(case)
    lingers = (outcome == REFUSED) & _lingers(case)
    told = (outcome == REFUSED) & _closed_after_error(case)
    return Judged(applicable & rejected, silent | lingers, evidence, unevaluable=~silent & ~lingers & ~told)


@NEGOTIATING.rule(
    "CN-12", versions=ALL_VERSIONS, side="server", level="S", observed="S",
    settles="at close",
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
def cn_12(case: Case) -> Judged:
    """A CONNECT refused is answered by ERROR, then a close.

    1.0 goes further: the server always acknowledges. Fails on silence, or where the connection lives on for more than
    `refusal_close_s` (15 s) after the ERROR; not evaluable where the client gave up or the capture ends first.

    A silent close is also what a plain connection to another service's port looks like. Where that answers in a language
    of its own, as a TLS port does with an alert, it is no STOMP server: not evaluable.
    """
    return _refusal(case, case.opening, "the server closes or lingers without ERROR and close")


@NEGOTIATING.rule(
    "CN-13", versions="1.2", side="server", level="M", observed="S", negotiated=False,
    settles="at close",
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
def cn_13(case: Case) -> Judged:
    """STOMP is treated as CONNECT.

    A 1.2 server must (a 1.1 server should) take STOMP for CONNECT. Passes where a 1.2 session comes of it, fails
    where the server says it does not know the command and lists 1.2 among its versions. A server that refuses
    otherwise may be an older one, or have another reason: not evaluable. Sessions that settle on an earlier version
    are not judged.
    """
    s, d = case.s, case.d
    speaks = matched(case.at(s.error, "version"), r"\b1\.2\b")
    wrong = (_names_command(case) & speaks & (s.connected < 0))[d.session]
    stomp = case.of("STOMP") & case.opening
    offered = case.distinct("accept-version", lambda text: "1.2" in offers.offered(text), stomp)
    due = offered & ((d.version == 2) | (d.version < 0))
    return Judged(due, wrong, "the server does not take STOMP", unevaluable=~wrong & (d.version != 2))
