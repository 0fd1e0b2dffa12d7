"""Sessions: how each began, what it agreed on, how it ended."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import (
    CLIENT,
    CLOSE_OPEN,
    CLOSE_RST,
    END_DISCONNECT,
    OUTCOME_CONNECTED,
    OUTCOME_MIDSTREAM,
    OUTCOME_REFUSED,
    OUTCOME_UNANSWERED,
    SERVER,
)
from stompcap.columns import I64, coded, flat, integers, or_null, timestamps, truth, worded
from stompcap.session import close_causes, counters
from stompcap.session.clocks import Clocks, Moment
from stompcap.session.dialogue import Dialogue
from stompcap.session.facts import SessionFacts
from stompcap.session.firsts import OfSessions
from stompcap.session.gaps import Gaps
from stompcap.session.heartbeats.header import intervals
from stompcap.session.layout import Records
from stompcap.session.products import identify, traits
from stompcap.session.products.quirks import Quirks, quirks_of
from stompcap.stomp.grammar import MASK
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words
from stompcap.tables.silver import SESSIONS

NEVER = np.int64(2**62)
FINISHED = "^[^Rr]*(F[^Rr]*f|f[^Rr]*F)"  # in the history: a FIN of either side, before any RST
Firsts = Mapping[str, OfSessions]


def _moment(streams: pa.Table, name: str) -> I64:
    """A column of times that only some tables of streams have; -1 where not known."""
    if name not in streams.column_names:
        return np.full(streams.num_rows, -1, np.int64)
    return integers(streams.column(name))


def _earliest(*moments: I64) -> I64:
    """The earliest of the times known; -1 where none is."""
    least = np.minimum.reduce([np.where(t < 0, NEVER, t) for t in moments])
    return np.where(least == NEVER, -1, least)


def _closed(close_kind: I64, closed_by: I64, fins: I64, reset: I64, last: I64) -> I64:
    """When a connection was closed: by its RST, the closer's FIN or, where that is not known, the earliest; -1 while open."""
    of = np.minimum(np.maximum(closed_by, 0), SERVER)
    own = np.where((closed_by == CLIENT) | (closed_by == SERVER), fins[np.arange(len(fins)), of], -1)
    closed = np.where(close_kind == CLOSE_RST, reset, np.where(own >= 0, own, _earliest(fins[:, CLIENT], fins[:, SERVER])))
    return np.where(close_kind == CLOSE_OPEN, -1, np.where(closed < 0, last, closed))


def _resets(streams: pa.Table, close_kind: I64, closed_by: I64) -> I64:
    """Whose RST came before both sides had sent a FIN; -1 where none did."""
    if "rst_by" not in streams.column_names:
        return np.where(close_kind == CLOSE_RST, closed_by, -1)
    by = coded(streams.column("rst_by"), words.SIDES)
    return np.where(truth(pc.match_substring_regex(flat(streams.column("history")), FINISHED)), -1, by)


def _asked(streams: pa.Table) -> I64:
    """Who sent the first Close of WebSocket or close_notify of TLS; -1 where nobody did, or a lake of an older version does not say."""
    there = "asked_by" in streams.column_names
    return coded(streams.column("asked_by"), words.SIDES) if there else np.full(streams.num_rows, -1, np.int64)


def survey(dialogue: Dialogue, counted: Records, gaps: Gaps, version: I64) -> SessionFacts:
    """The facts of one entry per session."""
    streams = dialogue.streams
    close_kind = coded(streams.column("close_kind"), words.CLOSE_KINDS)
    closed_by = np.where(close_kind == CLOSE_OPEN, -1, coded(streams.column("closed_by"), words.CLOSERS))
    last, reset = integers(streams.column("last_ns")), _moment(streams, "rst_ns")
    fins = np.stack([_moment(streams, f"fin_ns_{suffix}") for suffix in words.DIRECTIONS], axis=1)
    ends = np.stack([_earliest(fin, reset) for fin in fins.T], axis=1)
    dated = "rst_ns" in streams.column_names
    reset_by = _resets(streams, close_kind, closed_by)

    return SessionFacts(
        version=version,
        start=gaps.start,
        gaps=gaps.total,
        close_kind=close_kind,
        closed_by=closed_by,
        asked_by=_asked(streams),
        closed_ns=_closed(close_kind, closed_by, fins, reset, last),
        reset_by=reset_by,
        reset_ns=np.where(reset_by >= 0, reset, -1),
        opened_ns=integers(streams.column("first_ns")),
        last_ns=last,
        transport=coded(streams.column("transport"), words.TRANSPORTS),
        end_ns=np.where(ends < 0, last[:, None], ends),
        shut=(ends >= 0) if dated else np.repeat(close_kind != CLOSE_OPEN, 2).reshape(-1, 2),
        fin=np.stack([truth(pc.match_substring(flat(streams.column("history")), letter)) for letter in "Ff"], axis=1),
        close_order=np.stack([_moment(streams, f"close_order_{suffix}") for suffix in words.DIRECTIONS], axis=1),
        frames=counters.both(counted, "frames"),
        spoke_ns=counters.both(counted, "spoke_ns"),
        heard_ns=counted["heard_ns"],
    )


def quirks(first: Firsts, ack_scope: str) -> Quirks:
    """The quirks of each session's broker, as far as it shows before a delivery can be acknowledged; `ack_scope` is Options.ack_scope."""
    product, _ = identify.servers(first["connected"].header("server"), traits.of_broker(first))
    return quirks_of(product, ack_scope)


def outcomes(first: Firsts, facts: SessionFacts) -> I64:
    """What became of CONNECT, index in words.OUTCOMES; MIDSTREAM also where a gap may have swallowed the answer."""
    served = first["message"].there | first["receipt"].there
    asked = first["connect"].there
    whole = facts.start[:, CLIENT] & ~facts.missing(CLIENT)
    blank = facts.missing(SERVER) | ~(facts.start[:, SERVER] | asked)
    return np.select(
        [first["connected"].there, ~asked & ~whole, served, blank, first["error"].there],
        [OUTCOME_CONNECTED, OUTCOME_MIDSTREAM, OUTCOME_CONNECTED, OUTCOME_MIDSTREAM, OUTCOME_REFUSED],
        OUTCOME_UNANSWERED,
    )


def _version(dialogue: Dialogue, first: Firsts) -> dict[str, pa.Array]:
    """Columns that all frames of a session have alike, from the first that is at hand."""
    known = list(first.values())
    columns = {}
    own = np.where(dialogue.starts[1:] > dialogue.starts[:-1], dialogue.starts[:-1], -1)
    for name in ("version", "version_source", "possible_versions"):
        columns[name] = pc.coalesce(dialogue.some(name, own), *(one.column(name) for one in known))
    return columns


def version_of(dialogue: Dialogue, first: Firsts) -> I64:
    """Per session 0, 1, 2 for 1.0, 1.1, 1.2; -1 where not known."""
    return coded(_version(dialogue, first)["version"], words.VERSIONS)


def _login(first: Firsts, version: I64) -> pa.Array:
    """The user named in CONNECT, of a JSON Web Token that it is one; one document of 1.0 has the header `username` for it."""
    opening = first["connect"]
    login, username = (opening.header(name) for name in ("login", "username"))
    login = pc.if_else(pa.array(version == 0), pc.coalesce(login, username), login)
    token = (integers(opening.column("syntax"), 0) & int(Syntax.TOKEN_LOGIN)) != 0
    return pc.if_else(pc.and_(pa.array(token), pc.equal(login, MASK)), f"jwt:{MASK}", login) if token.any() else login


def missing_octets(streams: pa.Table, direction: str) -> I64:
    """Octets of STOMP that are missing from a direction of rows of table streams, or unreadable there."""
    inner, outer = (flat(streams.column(f"{name}_{direction}")) for name in ("inner_gap_octets", "gap_octets"))
    return integers(pc.coalesce(inner, outer), 0)


def sessions_table(
    dialogue: Dialogue, first: Firsts, facts: SessionFacts, counted: Records, clocks: Clocks, beats: Records
) -> pa.Table:
    """Table sessions, one row per stream in the dialogue's order, as they stand; `beats` are the records of heart-beats."""
    streams, asked, answer = dialogue.streams, first["connect"], first["connected"]
    client, server, agreed = intervals(asked, answer, facts.version)
    outcome = outcomes(first, facts)
    no_ask, no_answer = ~asked.there, ~answer.there
    not_known = (no_ask | no_answer) & ~np.isin(outcome, [OUTCOME_REFUSED, OUTCOME_UNANSWERED])  # without CONNECTED nothing is agreed
    every, connecting = np.arange(dialogue.sessions), Moment(asked.ordinal, asked.first_ns)
    latency = clocks.elapsed(every, connecting, Moment(answer.ordinal, answer.last_ns), counts=False)
    unmeasured = asked.there & answer.there & np.asarray(latency.is_null())
    product, product_version = identify.servers(answer.header("server"), traits.of_server(first))
    ends = close_causes.survey_ends(dialogue, first, facts, counted, beats, clocks)
    left = first["disconnect"].there & ~ends.late
    ended = np.where(left, END_DISCONNECT, facts.close_kind + 1)
    cause = close_causes.causes(first, facts, ends, outcome, agreed)
    missing = missing_octets(streams, "c2s") + missing_octets(streams, "s2c")
    names = ("stream_id", "client_ip", "client_port", "server_ip", "server_port", "origin_ip", "origin_port", "origin_source", "transport")
    columns = {name: flat(streams.column(name)) for name in names} | _version(dialogue, first)
    columns["version_source"] = pc.coalesce(columns["version_source"], pa.scalar("unknown"))
    columns |= {
        "opened_ns": or_null(facts.opened_ns),
        "closed_ns": or_null(facts.closed_ns),
        "last_ns": or_null(facts.last_ns),
        "opened_ts": timestamps(facts.opened_ns),
        "closed_ts": timestamps(facts.closed_ns),
        "last_ts": timestamps(facts.last_ns),
        "connect_command": asked.column("command"),
        "accept_version": asked.header("accept-version"),
        "host": asked.header("host"),
        "login": _login(first, facts.version),
        "session": answer.header("session"),
        "server": answer.header("server"),
        "server_product": product,
        "server_version": product_version,
        "client_product": identify.clients(asked.header("user-agent"), traits.of_client(first)),
        "client_id": asked.header("client-id"),
        "user_agent": asked.header("user-agent"),
        "client_can_send_ms": pa.array(client[:, 0], mask=no_ask),
        "client_wants_ms": pa.array(client[:, 1], mask=no_ask),
        "server_can_send_ms": pa.array(server[:, 0], mask=no_answer),
        "server_wants_ms": pa.array(server[:, 1], mask=no_answer),
        "heartbeat_c2s_ms": pa.array(agreed[:, 0], mask=not_known),
        "heartbeat_s2c_ms": pa.array(agreed[:, 1], mask=not_known),
        "connect_latency_us": latency,
        "outcome": worded(outcome, words.OUTCOMES),
        "error_message": first["error"].header("message"),
        "error_detail": first["error"].column("body_preview"),
        "end_kind": worded(ended, words.END_KINDS),
        "ended_by": worded(np.where(left, CLIENT, facts.ended_by), words.CLOSERS),
        "close_cause": worded(cause, words.CLOSE_CAUSES),
        "close_evidence": close_causes.evidence(cause, first, facts, ends, agreed),
        "frames_c2s": pa.array(facts.frames[:, 0]),
        "frames_s2c": pa.array(facts.frames[:, 1]),
        "complete_start": pc.and_(*(flat(streams.column(name)).fill_null(False) for name in ("syn_seen", "synack_seen"))),
        "complete_end": pa.array(facts.close_kind != CLOSE_OPEN),
        "gap_octets": pa.array(missing),
        "cleartext_credentials": pa.array(counters.both(counted, "leaks").any(axis=1) & ~facts.encrypted),
        "given_up": pa.array(counted["given_up"]),
        "unmeasured": pa.array(counted["unmeasured"] + unmeasured),
    }
    return pa.table(columns, schema=SESSIONS.arrow)
