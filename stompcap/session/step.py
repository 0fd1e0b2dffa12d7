"""A step of the session machine: frames in, what they meant out, and the state to go on from. No Spark, no files, no clock.

A whole session is one step from an empty state that closes it. A session in pieces, or one that goes on from run to run, takes a step
for each piece. No frame is read twice, and rows come out once, as soon as nothing to come can change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, filtered, flat, integers, with_integers
from stompcap.session import clocks, counters, firsts, gaps, queue, sessions, trust
from stompcap.session.analysis import Analysis, StepInput
from stompcap.session.annotate import annotated
from stompcap.session.counters import COUNTERS
from stompcap.session.deliveries.follow import follow_deliveries
from stompcap.session.heartbeats import arrivals
from stompcap.session.heartbeats.follow import WatchedSessions, follow_heartbeats
from stompcap.session.heartbeats.header import intervals
from stompcap.session.heartbeats.table import heartbeat_violations_table, heartbeats_table
from stompcap.session.layout import Records, opened
from stompcap.session.lifetime import SessionRecords, finish
from stompcap.session.options import Options
from stompcap.session.receipts.follow import follow_receipts
from stompcap.session.sends.follow import follow_sends
from stompcap.session.state import EMPTY, FRAMES, ROWS, SCHEMAS, SEGMENTS, State, joined
from stompcap.session.subscriptions.follow import follow_subscriptions
from stompcap.session.transactions.follow import follow_transactions
from stompcap.session.wire import WIRE_ORDER, build, directions, earlier, raw_rows, speaking, wire_order
from stompcap.wire_order import END


@dataclass(frozen=True)
class Step:
    """The analysis of a step, and what the state to go on from is made of (stompcap.session.carry)."""

    analysis: Analysis
    records: SessionRecords
    counters: Records
    heartbeats: Records
    rows: pa.Table
    waiting_frames: pa.Table
    segments: pa.Table
    stalls: pa.Table
    released: queue.Release
    given_up_before: I64  # per session, how much was evicted before this step


def analyse(
    streams: pa.Table, rows: pa.Table, frames: pa.Table, segments: pa.Table, order: Mapping[str, int], stalls: pa.Table | None = None,
    options: Options | None = None,
) -> Analysis:
    """What the sessions of whole streams meant; tables as in StepInput, `order` gives each capture its rank in time.

    Raises ValueError for a frame of no stream.
    """
    stalls = EMPTY["stalls"] if stalls is None else stalls
    count = streams.num_rows
    new = StepInput(streams, rows, frames, segments, stalls, np.full(count, END), np.ones(count, np.bool_))
    return step(new, EMPTY, order, options or Options()).analysis


def step(new: StepInput, state: State, order: Mapping[str, int], options: Options) -> Step:
    """Take new rows of some streams, with the `state` of these; `order` ranks captures behind those of earlier steps."""
    new = _speaking(new)
    streams, closing, retention = new.streams, new.closing, options.retention
    ids = flat(streams.column("stream_id"))
    if (directions(new.frames, ids) < 0).any():
        raise ValueError("a frame belongs to none of the streams given")
    counted = _counters(state["counters"], ids)
    rows = _after(ROWS, state["rows"], new.rows)
    raw = raw_rows(rows, ids, order)
    segments = _after(SEGMENTS, state["segments"], new.segments)
    arrived = arrivals.arrived_segments(segments, wire_order(segments, "", order), raw, ids)
    unframed = arrivals.first_unframed(arrived, 2 * len(ids)).reshape(-1, 2).min(axis=1)
    released = queue.release(raw, new.upto, unframed, closing, retention)
    raw = replace(raw, context=~released.rows)
    trusted_before = counters.both(counted, "untrusted") == 0
    raw = replace(raw, peer_unseen=queue.peer_unseen(raw, len(ids), retention), trusted=trust.trusted(raw, trusted_before))
    counters.set_both(counted, "untrusted", ~trust.at_end(raw, trusted_before))
    frames = _after(FRAMES, state["frames"], new.frames)
    waits = ~earlier(frames) & (integers(frames.column("stream_offset")) >= released.cut[directions(frames, ids)])
    dialogue = build(streams, raw, filtered(frames, ~waits), order, counters.both(counted, "frames").sum(axis=1))

    trusted = dialogue.of_rows(raw.trusted)
    started = (counters.both(counted, "greeted") == 1) | gaps.greeted(dialogue)
    counters.set_both(counted, "greeted", started)
    found = gaps.find_gaps(dialogue, counters.both(counted, "gaps"), counted["hidden"], started, closing)
    counters.set_both(counted, "gaps", found.total)
    counted["hidden"] = found.all_hidden
    before = counters.follow_counters(dialogue, counted)
    first = firsts.first_frames(dialogue, found, trusted, state["first"])
    counters.count_heard(dialogue, counted, first["error"].first_ns)
    counters.count_stalls(counted, new.stalls, ids)
    facts = sessions.survey(dialogue, counted, found, sessions.version_of(dialogue, first))
    quirks = sessions.quirks(first, options.ack_scope)
    watches = clocks.follow_clocks(dialogue, new.stalls, state["clocks"], counted["unmeasured"])

    subs = follow_subscriptions(dialogue, found, trusted, state["subscriptions"], retention)
    txns = follow_transactions(dialogue, found, trusted, state["transactions"], retention)
    requests = follow_receipts(dialogue, found, trusted, txns, state["receipts"], retention)
    delivered = follow_deliveries(dialogue, found, subs, txns, quirks, counted, state["deliveries"], retention)
    sent = follow_sends(dialogue, found, txns, counted, before, state["sends"])
    given_up = counted["given_up"].copy()
    records = SessionRecords(subs.rows, txns.rows, requests.rows, delivered.rows, sent)
    tables = finish(records, dialogue, facts, first, counted, watches, quirks, closing, options)

    ready, judged = arrivals.ready(arrived, raw, released.until, retention, watches.steps_before(arrived.direction, arrived.wire_order))
    stalls = joined(SCHEMAS["stalls"], state["stalls"], clocks.without_steps(new.stalls))
    _, _, agreed = intervals(first["connect"], first["connected"], facts.version)
    watched = WatchedSessions(agreed, facts, first["connected"], first["disconnect"], first["error"], closing, watches)
    beats = follow_heartbeats(dialogue, watched, judged, stalls, state["heartbeats"], options.thresholds)
    tables |= {
        "sessions": sessions.sessions_table(dialogue, first, facts, counted, watches, beats.rows),
        "heartbeats": heartbeats_table(beats.rows, ids, watched),
        "heartbeat_violations": heartbeat_violations_table(ids, watched, beats),
    }
    of_frames = annotated(dialogue, found, before, subs, txns, requests, delivered, _round_trip(first), watches, options.thresholds)
    analysis = Analysis(tables, dialogue, of_frames, facts, first, closing, watches, *records)
    left = filtered(with_integers(segments, WIRE_ORDER, arrived.wire_order), ~ready)
    return Step(analysis, records, counted, beats.rows, rows, filtered(frames, waits), left, stalls, released, given_up)


def _after(schema: pa.Schema, before: pa.Table, new: pa.Table) -> pa.Table:
    """New rows behind those of the state; alone as they are."""
    return joined(schema, before, new) if before.num_rows else new


def _speaking(new: StepInput) -> StepInput:
    """The streams that speak STOMP."""
    streams = speaking(new.streams, new.frames)
    if streams.num_rows == new.streams.num_rows:
        return replace(new, streams=streams)
    own = np.isin(
        np.asarray(new.streams.column("stream_id").to_pylist(), object), np.asarray(streams.column("stream_id").to_pylist(), object)
    )
    return replace(new, streams=streams, upto=new.upto[own], closing=new.closing[own])


def _counters(before: pa.Table, ids: pa.Array) -> Records:
    """One row per session."""
    known = np.isin(np.arange(len(ids)), integers(pa.compute.index_in(before.column("stream_id"), ids)))
    return opened(COUNTERS, before, ids, {"session": np.flatnonzero(~known)}, {})


def _round_trip(first: Mapping[str, firsts.OfSessions]) -> I64:
    """Per session, how long CONNECT took, 0 where that is not known."""
    asked, answer = first["connect"], first["connected"]
    return np.where(asked.there & answer.there, np.maximum(answer.last_ns - asked.first_ns, 0), 0)
