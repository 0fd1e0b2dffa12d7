"""Sessions: how each began, what it agreed on, how it ended."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session import heartbeat_header, products, traits
from stompcap.session.columns import listed, times, timestamps
from stompcap.session.dialogue import (
    CLIENT,
    CONNECT,
    CONNECTED,
    DISCONNECT,
    ERROR,
    I8,
    I64,
    MESSAGE,
    RECEIPT,
    SERVER,
    STOMP,
    Dialogue,
)
from stompcap.session.firsts import OfSessions, first_of
from stompcap.session.lookup import flat
from stompcap.session.missing import Missing
from stompcap.session.notes import SessionNotes
from stompcap.session.sums import Sums
from stompcap.session.wire import integers, repeated_codes
from stompcap.tables import words
from stompcap.tables.silver import SESSIONS

FIN, RST, OPEN = range(3)  # index in words.CLOSE_KINDS
CONNECTED_OUTCOME, REFUSED, UNANSWERED, MIDSTREAM = range(4)  # index in words.OUTCOMES
END_DISCONNECT = 0  # index in words.END_KINDS; the others follow in the order of words.CLOSE_KINDS


def _moment(streams: pa.Table, name: str) -> I64:
    """A column of times that only some tables of streams have; -1 where not known."""
    if name not in streams.column_names:
        return np.full(streams.num_rows, -1, np.int64)
    return integers(streams.column(name))


def _earliest(*times: I64) -> I64:
    """The earliest of the times known; -1 where none is."""
    never = np.int64(2**62)
    least = np.minimum.reduce([np.where(t < 0, never, t) for t in times])
    return np.where(least == never, -1, least)


def survey(dialogue: Dialogue, missing: Missing) -> SessionNotes:
    """The facts of one entry per session."""
    streams = dialogue.streams
    close_kind = repeated_codes(streams.column("close_kind"), pa.array(words.CLOSE_KINDS)).astype(np.int8)
    closed_by = repeated_codes(streams.column("closed_by"), pa.array(words.CLOSERS)).astype(np.int8)
    last = integers(streams.column("last_ns"))
    reset = _moment(streams, "rst_ns")
    fins = [_moment(streams, f"fin_ns_{way}") for way in words.DIRECTIONS]
    ends = [_earliest(fin, reset) for fin in fins]
    told = "rst_ns" in streams.column_names
    shut = [(end >= 0) if told else (close_kind != OPEN) for end in ends]
    closed = _earliest(*fins, reset)
    version = np.full(dialogue.sessions, -1, np.int8)
    spoken = dialogue.starts[1:] > dialogue.starts[:-1]
    version[spoken] = dialogue.version[dialogue.starts[:-1][spoken]]
    transport = flat(streams.column("transport"))
    return SessionNotes(
        connect=first_of(dialogue, CLIENT, CONNECT, STOMP),
        connected=first_of(dialogue, SERVER, CONNECTED),
        disconnect=first_of(dialogue, CLIENT, DISCONNECT),
        error=first_of(dialogue, SERVER, ERROR),
        version=version,
        start_c2s=missing.start[:, CLIENT],
        start_s2c=missing.start[:, SERVER],
        gaps_c2s=missing.gaps[:, CLIENT],
        gaps_s2c=missing.gaps[:, SERVER],
        close_kind=close_kind,
        closed_by=closed_by,
        closed_ns=np.where(close_kind == OPEN, -1, np.where(closed < 0, last, closed)),
        end_c2s=np.where(ends[CLIENT] < 0, last, ends[CLIENT]),
        end_s2c=np.where(ends[SERVER] < 0, last, ends[SERVER]),
        shut_c2s=shut[CLIENT],
        shut_s2c=shut[SERVER],
        opened_ns=integers(streams.column("first_ns")),
        last_ns=last,
        encrypted=pc.is_in(transport, value_set=pa.array(["tls", "wss"])).to_numpy(zero_copy_only=False),
    )


def outcomes(dialogue: Dialogue, notes: SessionNotes) -> I8:
    """What became of CONNECT, index in words.OUTCOMES; MIDSTREAM also where a gap may have swallowed the answer."""
    served = first_of(dialogue, SERVER, MESSAGE, RECEIPT) >= 0
    asked = notes.connect >= 0
    whole = notes.start_c2s & ~notes.gaps_c2s
    blank = notes.gaps_s2c | ~(notes.start_s2c | asked)
    return np.select(
        [
            notes.connected >= 0,
            ~asked & ~whole,
            served,
            blank,
            notes.error >= 0,
        ],
        [CONNECTED_OUTCOME, MIDSTREAM, CONNECTED_OUTCOME, MIDSTREAM, REFUSED],
        UNANSWERED,
    ).astype(np.int8)


def _login(login: pa.Array, username: pa.Array, notes: SessionNotes) -> pa.Array:
    """The user named in CONNECT; one document of 1.0 has the header `username` for it."""
    return pc.if_else(pa.array(notes.version == 0), pc.coalesce(login, username), login)


def table(dialogue: Dialogue, notes: SessionNotes, sums: Sums) -> pa.Table:
    """Table sessions, one row per stream in the dialogue's order; `sums` of all frames, also those no longer at hand."""
    streams, count = dialogue.streams, dialogue.sessions
    spoken = np.where(dialogue.starts[1:] > dialogue.starts[:-1], dialogue.starts[:-1], -1)
    first, asked = OfSessions(dialogue, spoken), OfSessions(dialogue, notes.connect)
    answer = OfSessions(dialogue, notes.connected)

    client_can, client_wants = heartbeat_header.parse(asked.header("heart-beat"))
    server_can, server_wants = heartbeat_header.parse(answer.header("heart-beat"))
    beating = notes.version != 0  # 1.0 knows no heart-beats, whatever the headers say
    c2s = np.where(beating, heartbeat_header.negotiate(client_can, server_wants), 0)
    s2c = np.where(beating, heartbeat_header.negotiate(server_can, client_wants), 0)
    no_ask, no_answer = notes.connect < 0, notes.connected < 0
    outcome = outcomes(dialogue, notes)
    not_known = (no_ask | no_answer) & ~np.isin(outcome, [REFUSED, UNANSWERED])  # without CONNECTED nothing is agreed
    c2s[no_answer], s2c[no_answer] = 0, 0

    latency = np.full(count, -1, np.int64)
    both = np.flatnonzero(~no_ask & ~no_answer)
    latency[both] = (dialogue.last_ns[notes.connected[both]] - dialogue.first_ns[notes.connect[both]]) // 1000

    product, product_version = products.servers(answer.header("server"), traits.of_server(dialogue, notes))
    ended = np.where(notes.disconnect >= 0, END_DISCONNECT, notes.close_kind + 1).astype(np.int8)
    gaps = integers(streams.column("gap_octets_c2s"), 0) + integers(streams.column("gap_octets_s2c"), 0)
    columns = {name: flat(streams.column(name)) for name in
               ("stream_id", "client_ip", "client_port", "server_ip", "server_port", "transport")}
    columns |= {
        "opened_ns": times(notes.opened_ns),
        "closed_ns": times(notes.closed_ns),
        "opened_ts": timestamps(notes.opened_ns),
        "closed_ts": timestamps(notes.closed_ns),
        "connect_command": asked.column("command"),
        "accept_version": asked.header("accept-version"),
        "version": first.column("version"),
        "version_source": pc.coalesce(first.column("version_source"), pa.scalar("unknown")),
        "possible_versions": first.column("possible_versions"),
        "host": asked.header("host"),
        "login": _login(asked.header("login"), asked.header("username"), notes),
        "session": answer.header("session"),
        "server": answer.header("server"),
        "server_product": product,
        "server_version": product_version,
        "client_product": products.clients(traits.of_client(dialogue, notes)),
        "client_can_send_ms": pa.array(client_can, mask=no_ask),
        "client_wants_ms": pa.array(client_wants, mask=no_ask),
        "server_can_send_ms": pa.array(server_can, mask=no_answer),
        "server_wants_ms": pa.array(server_wants, mask=no_answer),
        "heartbeat_c2s_ms": pa.array(c2s, mask=not_known),
        "heartbeat_s2c_ms": pa.array(s2c, mask=not_known),
        "connect_latency_us": times(latency),
        "outcome": listed(outcome, words.OUTCOMES),
        "error_message": OfSessions(dialogue, notes.error).header("message"),
        "end_kind": listed(ended, words.END_KINDS),
        "ended_by": listed(np.where(ended == END_DISCONNECT, CLIENT, notes.closed_by).astype(np.int8), words.CLOSERS),
        "frames_c2s": pa.array(sums.frames[:, CLIENT]),
        "frames_s2c": pa.array(sums.frames[:, SERVER]),
        "complete_start": pc.and_(
            flat(streams.column("syn_seen")).fill_null(False), flat(streams.column("synack_seen")).fill_null(False)
        ),
        "complete_end": pa.array(notes.close_kind != OPEN),
        "gap_octets": pa.array(gaps),
        "cleartext_credentials": pa.array(sums.leaks.any(axis=1) & ~notes.encrypted),
    }
    return pa.table(columns, schema=SESSIONS.arrow)
