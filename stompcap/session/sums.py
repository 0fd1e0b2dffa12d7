"""What adds up over the pieces of a session, so that the frames it came from need not be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session.dialogue import I64
from stompcap.session.lookup import flat
from stompcap.session.wire import integers
from stompcap.tables import words


@dataclass(frozen=True)
class Sums:
    """Sums so far; arrays of shape (sessions, 2), the second index a side code.

    frames    frames sent
    leaks     1 where a passcode was seen
    rows      raw rows
    now       heart-beats: arrival of the last octet judged, -1 where watching has not begun
    lengthy   offset of the frame under way that holds back nothing any more (stompcap.session.placing), -1 where there is none
    freed     the place behind which such a frame stands
    turns     how often it was looked at what is open (stompcap.session.turns), the first number of each session
    cut       heart-beats: how long a side had been silent when the other cut it off, in nanoseconds; 0 where it did not
    beats, gaps, longest, late, violations, dead, excused, worst  heart-beats so far: as table heartbeats, times in nanoseconds
    """

    frames: I64
    leaks: I64
    rows: I64
    now: I64
    cut: I64
    lengthy: I64
    freed: I64
    turns: I64
    beats: I64
    gaps: I64
    longest: I64
    late: I64
    violations: I64
    dead: I64
    excused: I64
    worst: I64

    def added(self, at: I64, more: Mapping[str, I64], most: Mapping[str, I64]) -> Sums:
        """With `more` added and the larger of `most` taken at the places `at` (session * 2 + side)."""
        changed = {}
        for name in (*more, *most):
            values = getattr(self, name).copy()
            flat_values = values.reshape(-1)
            flat_values[at] = flat_values[at] + more[name] if name in more else np.maximum(flat_values[at], most[name])
            changed[name] = values
        return replace(self, **changed)


NAMES = tuple(field.name for field in fields(Sums))
NONE = {"now": -1, "lengthy": -1, "freed": -1}
SCHEMA = pa.schema([("stream_id", pa.string()), *((f"{name}_{way}", pa.int64()) for name in NAMES for way in words.DIRECTIONS)])


def of(table: pa.Table, streams: pa.Table) -> Sums:
    """The sums of the sessions of `streams`, in their order; of those not in the table, none."""
    at = pc.index_in(flat(streams.column("stream_id")), value_set=flat(table.column("stream_id")))

    def columns(name: str) -> I64:
        both = [integers(flat(table.column(f"{name}_{way}")).take(at), NONE.get(name, 0)) for way in words.DIRECTIONS]
        return np.stack(both, axis=1)

    return Sums(*(columns(name) for name in NAMES))


def table(sums: Sums, streams: pa.Table) -> pa.Table:
    """The sums as a table."""
    columns = {f"{name}_{way}": getattr(sums, name)[:, side] for name in NAMES for side, way in enumerate(words.DIRECTIONS)}
    return pa.table({"stream_id": streams.column("stream_id"), **columns}, schema=SCHEMA)
