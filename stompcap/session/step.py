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
from stompcap.session import (
    annotate,
    clocks,
    counters,
    firsts,
    gaps,
    queue,
    sessions,
    trust,
)
from stompcap.session.analysis import Analysis, Batch
from stompcap.session.deliveries import follow as deliveries
from stompcap.session.heartbeats import arrivals
from stompcap.session.heartbeats import follow as heartbeats
from stompcap.session.heartbeats import header as heartbeat_header
from stompcap.session.layout import Records, opened
from stompcap.session.lifetime import Open, finish
from stompcap.session.options import Options
from stompcap.session.receipts import follow as receipts
from stompcap.session.state import EMPTY, FRAMES, ROWS, SCHEMAS, SEGMENTS, State, joined
from stompcap.session.subscriptions import follow as subscriptions
from stompcap.session.transactions import follow as transactions
from stompcap.session.wire import WIRE_ORDER, build, directions, earlier, raw_rows, speaking, wire_order
from stompcap.wire_order import END


@dataclass(frozen=True)
class Step:
    """The analysis of a step, and what the state to go on from is made of (stompcap.session.carry).

    `given_up_before` per session: how much was given up before this step.
    """

    analysis: Analysis
    open: Open
    counters: Records
    heartbeats: Records
    rows: pa.Table
    waiting_frames: pa.Table
    segments: pa.Table
    stalls: pa.Table
    released: queue.Release
    given_up_before: I64


def analyse(
    streams: pa.Table, rows: pa.Table, frames: pa.Table, segments: pa.Table, order: Mapping[str, int], stalls: pa.Table | None = None,
    options: Options | None = None,
) -> Analysis:
    """What the sessions of whole streams meant; tables as in Batch, `order` gives each capture its rank in time.

    Raises ValueError for a frame of no stream.
    """
    stalls = EMPTY["stalls"] if stalls is None else stalls
    count = streams.num_rows
    batch = Batch(streams, rows, frames, segments, stalls, np.full(count, END), np.ones(count, np.bool_))
    return step(batch, EMPTY, order, options or Options()).analysis


def step(batch: Batch, state: State, order: Mapping[str, int], options: Options) -> Step:
    """Take new rows of some streams, with the `state` of these; `order` ranks captures behind those of earlier steps."""
    batch = _speaking(batch)
    streams, closing, retention = batch.streams, batch.closing, options.retention
    ids = flat(streams.column("stream_id"))
    if (directions(batch.frames, ids) < 0).any():
        raise ValueError("a frame belongs to none of the streams given")
    counted = _counters(state["counters"], ids)
    rows_table = _after(ROWS, state["rows"], batch.rows)
    raw = raw_rows(rows_table, ids, order)
    segments = _after(SEGMENTS, state["segments"], batch.segments)
    came = arrivals.come(segments, wire_order(segments, "", order), raw, ids)
    bare = arrivals.first_bare(came, 2 * len(ids)).reshape(-1, 2).min(axis=1)
    released = queue.release(raw, batch.upto, bare, closing, retention)
    raw = replace(raw, beside=~released.rows)
    trusted_before = counters.both(counted, "untrusted") == 0
    raw = replace(raw, unheard=queue.unheard(raw, len(ids), retention), trusted=trust.trusted(raw, trusted_before))
    counters.keep(counted, "untrusted", ~trust.at_end(raw, trusted_before))
    frames = _after(FRAMES, state["frames"], batch.frames)
    waits = ~earlier(frames) & (integers(frames.column("stream_offset")) >= released.cut[directions(frames, ids)])
    dialogue = build(streams, raw, filtered(frames, ~waits), order, counters.both(counted, "frames").sum(axis=1))

    trusted = dialogue.of_rows(raw.trusted)
    started = (counters.both(counted, "greeted") == 1) | gaps.greeted(dialogue)
    counters.keep(counted, "greeted", started)
    found = gaps.find(dialogue, counters.both(counted, "gaps"), counted["hidden"], started, closing)
    counters.keep(counted, "gaps", found.total)
    counted["hidden"] = found.all_hidden
    before = counters.follow(dialogue, counted)
    first = firsts.follow(dialogue, found, trusted, state["first"])
    counters.heard(dialogue, counted, first["error"].first_ns)
    facts = sessions.survey(dialogue, counted, found, sessions.version_of(dialogue, first))
    brokers = sessions.brokers(first, options.ack_scope)
    watches = clocks.follow(dialogue, batch.stalls, state["clocks"], counted["unmeasured"])

    subs = subscriptions.follow(dialogue, found, trusted, state["subscriptions"], retention)
    txns = transactions.follow(dialogue, found, trusted, state["transactions"], retention)
    requests = receipts.follow(dialogue, found, trusted, (txns.rows, txns.row), state["receipts"], retention)
    hung = deliveries.Opened(subs.rows, subs.row, subs.possible, txns.rows, txns.row)
    delivered = deliveries.follow(dialogue, found, hung, brokers, counted, state["deliveries"], retention)
    given_up = counted["given_up"].copy()
    open_ = Open(subs.rows, txns.rows, requests.rows, delivered.rows)
    tables = finish(open_, dialogue, facts, first, counted, watches, brokers.wide, closing, options)

    ready, arrived = arrivals.ready(came, raw, released.until, retention, watches.steps_before(came.direction, came.place))
    stalls = joined(SCHEMAS["stalls"], state["stalls"], clocks.without_steps(batch.stalls))
    _, _, agreed = heartbeat_header.intervals(first["connect"], first["connected"], facts.version)
    watched = heartbeats.Session(agreed, facts, first["connected"], first["disconnect"], first["error"], closing, watches)
    beats, violations = heartbeats.follow(dialogue, watched, arrived, stalls, state["heartbeats"], options.thresholds)
    tables |= {
        "sessions": sessions.table(dialogue, first, facts, counted, watches),
        "heartbeats": heartbeats.table(beats, ids, watched),
        "heartbeat_violations": violations,
    }
    said = annotate.facts(dialogue, found, before, subs, txns, requests, delivered, _round_trip(first), watches, options.thresholds)
    analysis = Analysis(tables, dialogue, said, facts, first, closing, watches, subs.rows, txns.rows, requests.rows, delivered.rows)
    left = filtered(with_integers(segments, WIRE_ORDER, came.place), ~ready)
    return Step(analysis, open_, counted, beats, rows_table, filtered(frames, waits), left, stalls, released, given_up)


def _after(schema: pa.Schema, before: pa.Table, new: pa.Table) -> pa.Table:
    """New rows behind those of the state; alone as they are."""
    return joined(schema, before, new) if before.num_rows else new


def _speaking(batch: Batch) -> Batch:
    """The streams that speak STOMP."""
    streams = speaking(batch.streams, batch.frames)
    if streams.num_rows == batch.streams.num_rows:
        return replace(batch, streams=streams)
    own = np.isin(
        np.asarray(batch.streams.column("stream_id").to_pylist(), object), np.asarray(streams.column("stream_id").to_pylist(), object)
    )
    return replace(batch, streams=streams, upto=batch.upto[own], closing=batch.closing[own])


def _counters(before: pa.Table, ids: pa.Array) -> Records:
    """One row per session."""
    known = np.isin(np.arange(len(ids)), integers(pa.compute.index_in(before.column("stream_id"), ids)))
    return opened(counters.LAYOUT, before, ids, {"session": np.flatnonzero(~known)}, {})


def _round_trip(first: Mapping[str, firsts.OfSessions]) -> I64:
    """Per session, how long CONNECT took, 0 where that is not known."""
    asked, answer = first["connect"], first["connected"]
    return np.where(asked.there & answer.there, np.maximum(answer.last_ns - asked.first_ns, 0), 0)
