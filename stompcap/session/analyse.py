"""The analysis of sessions: frames in, what they meant out. No Spark, no files, no clock."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session import (
    annotate,
    heartbeats,
    losses,
    missing,
    outcomes,
    placing,
    progress,
    receipts,
    sessions,
    settling,
    subscriptions,
    sums,
)
from stompcap.session import transactions as dealings
from stompcap.session.analysis import Analysis, Options
from stompcap.session.dialogue import CLIENT, SERVER, Bools, Dialogue
from stompcap.session.progress import Progress
from stompcap.session.sums import Sums
from stompcap.session.wire import build, integers
from stompcap.stomp.syntax import Syntax


def _products(table: pa.Table, *names: str) -> Bools:
    """Per session: the broker is one of those."""
    found: Bools = pc.is_in(
        table.column("server_product").combine_chunks(), value_set=pa.array(names)
    ).to_numpy(zero_copy_only=False)
    return found


def _habits(table: pa.Table, scope: str) -> settling.Habits:
    """How each session's broker settles; `scope` is Options.ack_scope."""
    rabbitmq, activemq = _products(table, "RabbitMQ"), _products(table, "ActiveMQ")
    wide = {"subscription": np.zeros_like(rabbitmq), "connection": np.ones_like(rabbitmq), "auto": rabbitmq}
    return settling.Habits(wide[scope], activemq, _products(table, "RabbitMQ", "CoilMQ"), activemq)


def analyse(
    streams: pa.Table,
    rows: pa.Table,
    frames: pa.Table,
    segments: pa.Table,
    order: Mapping[str, int],
    stalls: pa.Table | None = None,
    options: Options | None = None,
) -> Analysis:
    """What the sessions of whole streams meant.

    `streams`, `rows` (raw_frames, `raw` is not needed), `frames` and `segments` have the columns of the tables of those names;
    the times of FIN and RST may stand in `streams` as `fin_ns_c2s`, `fin_ns_s2c` and `rst_ns`. `order` gives each capture its rank
    in time. `stalls` (stream_id, direction, kind zero_window or retransmission, begin_ns, end_ns) excuses heart-beat gaps.
    Raises ValueError for an unknown ack_scope or a frame of no stream.
    """
    options, none = options or Options(), sums.SCHEMA.empty_table()
    rows, frames = placing.whole(streams, rows, frames, segments, order, options.memory)
    dialogue = build(streams, rows, frames, order)
    every = np.ones(segments.num_rows, np.bool_)
    told = progress.whole(dialogue, options.memory)
    return examine(dialogue, rows, segments, every, order, stalls, none, told, options)


def examine(
    dialogue: Dialogue, rows: pa.Table, segments: pa.Table, ready: Bools, order: Mapping[str, int], stalls: pa.Table | None,
    earlier: pa.Table, told: Progress, options: Options,
) -> Analysis:
    """What the sessions of a dialogue meant, be they whole or pieces; `earlier` has the sums of the pieces before.

    `ready` tells which segments heart-beats may be judged by: all before them are there.
    """
    if options.ack_scope not in ("auto", "subscription", "connection"):
        raise ValueError(f"ack_scope is auto, subscription or connection, not {options.ack_scope}")
    gone = missing.find(dialogue, rows, order, told.closing)
    notes = sessions.survey(dialogue, gone)
    total = _summed(dialogue, told, sums.of(earlier, dialogue.streams))
    table = sessions.table(dialogue, notes, total)

    held = subscriptions.follow(dialogue, options.memory, gone.known_before(dialogue, CLIENT, told.lapse))
    later_c2s, later_s2c = gone.after(dialogue, CLIENT), gone.after(dialogue, SERVER)
    dealt = dealings.follow(dialogue, options.memory, outcomes.over(notes), gone.before(dialogue, CLIENT), later_c2s)
    habits, shown = _habits(table, options.ack_scope), np.maximum(gone.shown_by(dialogue, CLIENT), gone.shown_by(dialogue, SERVER))
    guessed = held.guessed & gone.known_before(dialogue, CLIENT, dialogue.position)
    settled = settling.follow(dialogue, options.memory, held, dealt, habits, shown, guessed)
    machine = outcomes.Machine(
        dialogue, notes, held, dealt, settled, receipts.follow(dialogue, options.memory), later_c2s, later_s2c,
        losses.find(dialogue, gone, held, settled, dealt, told), outcomes.tallies(dialogue, held.opened),
    )
    status = outcomes.delivery_status(machine)

    intervals = np.stack([integers(table.column(f"heartbeat_{way}_ms"), 0) for way in ("c2s", "s2c")], axis=1)
    beats, silences, total = heartbeats.tables(dialogue, notes, intervals, segments, ready, stalls, total, told, options)
    tables = {
        "sessions": table,
        "subscriptions": outcomes.subscriptions(machine, status),
        "deliveries": outcomes.deliveries(machine, status),
        "transactions": outcomes.transactions(machine),
        "receipts": outcomes.receipts(machine),
        "heartbeats": beats,
        "heartbeat_violations": silences,
    }
    return Analysis(tables, dialogue, annotate.annotate(machine, gone), told, machine, total, options.memory)


def _summed(dialogue: Dialogue, told: Progress, before: Sums) -> Sums:
    """The sums with the frames and rows that are new."""
    raw, count = dialogue.rows, dialogue.sessions
    fresh = np.flatnonzero((told.told & progress.SEEN) == 0)
    new = raw.way[(told.row_told & progress.SEEN) == 0]
    ways = (dialogue.session.astype(np.int64) * 2 + dialogue.side)[fresh]
    leaks = np.zeros(2 * count, np.int64)
    leaks[ways[(dialogue.syntax[fresh] & int(Syntax.PASSCODE)) != 0]] = 1
    leaks[raw.way[raw.redacted]] = 1
    every = np.arange(2 * count)
    counts = {name: np.bincount(which, minlength=2 * count).astype(np.int64) for name, which in (("frames", ways), ("rows", new))}
    return before.added(every, counts, {"leaks": leaks})
