"""The state to go on from after a step."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, Bools, flat, integers, with_integers
from stompcap.session import counters, firsts
from stompcap.session.layout import Records
from stompcap.session.lifetime import EMITTED, known
from stompcap.session.options import Options
from stompcap.session.state import EMPTY, FRAMES, ROWS, SEGMENTS, State, in_schema
from stompcap.session.step import Step
from stompcap.session.wire import EARLIER, PLACE, WIRE_ORDER, directions
from stompcap.wire_order import END


def carry(done: Step, options: Options) -> State:
    """The state of the sessions that go on."""
    analysis, ids = done.analysis, done.analysis.dialogue.ids
    going = ~analysis.closing
    if not going.any():
        return EMPTY
    rows, counted = done.records, done.counters
    evicted = _evicts(done)
    counters.set_both(counted, "gaps", counters.both(counted, "gaps") + evicted[:, None])
    masks = known(rows, going & ~evicted, analysis.sessions.frames.sum(axis=1), options.retention)
    names = ("subscriptions", "transactions", "receipts", "deliveries", "sends")
    tables = {
        "frames": _frames(done, going), "rows": _rows(done, going), "segments": _of_sessions(done.segments, SEGMENTS, ids, going),
        "stalls": _stalls(done, going), "first": firsts.state(analysis.first, ids, going),
        "counters": counted.table(ids, going), "clocks": analysis.clocks.rows.table(ids, going[analysis.clocks.rows["session"]]),
        "heartbeats": done.heartbeats.table(ids, going[done.heartbeats["session"]]),
        **{name: _between(getattr(rows, name), done).table(ids, mask) for name, mask in zip(names, masks, strict=True)},
    }
    return State({name: tables[name] for name in EMPTY.tables})


def _evicts(done: Step) -> Bools:
    """Sessions of which this step evicted what they left open."""
    found: Bools = done.counters["given_up"] > done.given_up_before
    return found


def _between(records: Records, done: Step) -> Records:
    """Records as the state has them: what was emitted is marked, and rows are named by the ordinal of their frame."""
    numbers = records.numbers | {"final": np.where(records["final"] > 0, EMITTED, 0)}
    if records is done.records.deliveries:
        for name, of in (("subscription", done.records.subscriptions), ("transaction", done.records.transactions)):
            row = records[name]
            numbers[name] = np.where(row >= 0, of["ordinal"][row] if len(of) else -1, row)
    return Records(records.layout, numbers, records.text)


def _latest(direction: I64, offset: I64, count: int) -> I64:
    """The row of each direction that has the highest offset."""
    order = np.lexsort((offset, direction))
    last = np.full(count, -1, np.int64)
    last[direction[order]] = order
    return last[last >= 0]


def _rows(done: Step, going: Bools) -> pa.Table:
    """Rows that wait, and the last of each direction that does not."""
    raw = done.analysis.dialogue.rows
    waits = (raw.offset >= done.released.cut[raw.direction]) & going[raw.session]
    passed = np.flatnonzero(~waits & going[raw.session])
    last = passed[_latest(raw.direction[passed], raw.offset[passed], 2 * len(going))]
    at = np.concatenate([last, np.flatnonzero(waits)])
    table = done.rows.take(pa.array(raw.row[at]))
    earlier = np.arange(len(at)) < len(last)
    order = np.where(raw.wire_order[at] < END, raw.wire_order[at], -1)
    for name, values in ((WIRE_ORDER, order), (PLACE, np.where(earlier, raw.rising_order[at], -1)), (EARLIER, earlier.astype(np.int64))):
        table = with_integers(table, name, values)
    return in_schema(ROWS, table)


def _frames(done: Step, going: Bools) -> pa.Table:
    """Frames that wait, and the last of each direction that does not."""
    d = done.analysis.dialogue
    own = np.flatnonzero(going[d.session])
    last = own[_latest(d.session[own] * 2 + d.side[own], d.offset[own], 2 * len(going))]
    table = d.frames.take(pa.array(d.row[last]))
    for name, values in ((PLACE, d.wire_order[last]), ("ordinal", d.ordinal[last]), (EARLIER, np.ones(len(last), np.int64))):
        table = with_integers(table, name, values)
    return pa.concat_tables([in_schema(FRAMES, table), in_schema(FRAMES, done.waiting_frames)]).combine_chunks()


def _of_sessions(table: pa.Table, schema: pa.Schema, ids: pa.Array, going: Bools) -> pa.Table:
    own = pa.compute.is_in(flat(table.column("stream_id")), value_set=ids.filter(pa.array(going)))
    return in_schema(schema, table.filter(own))


def _stalls(done: Step, going: Bools) -> pa.Table:
    """Stalls that may excuse a silence that is not judged yet."""
    table = done.stalls
    direction = directions(table, done.analysis.dialogue.ids)
    since = np.full(2 * len(going), -1, np.int64)
    since[done.heartbeats["session"] * 2 + done.heartbeats["side"]] = done.heartbeats["now_ns"]
    wanted = (direction >= 0) & going[np.maximum(direction, 0) // 2]
    wanted &= integers(table.column("end_ns")) >= since[np.maximum(direction, 0)]
    return in_schema(EMPTY["stalls"].schema, table.filter(pa.array(wanted)))
