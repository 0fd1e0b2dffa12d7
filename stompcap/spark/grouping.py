"""Batches of sorted rows to groups that never cut a key in two: bounded in rows and octets, but for a single large key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Limits:
    """A group is handed on when it has reached either."""

    rows: int
    octets: int


def whole_groups(
    batches: Iterator[pa.RecordBatch], key: Sequence[str], octets: str | None, limits: Limits
) -> Iterator[pa.Table]:
    """Tables of whole keys from batches in which equal keys stand together.

    `octets` names a column that says how many octets a row stands for; without it the rows' own size counts.
    """
    held: list[pa.RecordBatch] = []
    rows = size = 0
    patience = 1  # doubled while one key fills all that is held, so that looking for its end stays linear
    for batch in batches:
        if batch.num_rows == 0:
            continue
        held.append(batch)
        rows += batch.num_rows
        size += (pc.sum(batch.column(octets)).as_py() or 0) if octets else batch.nbytes
        if rows < limits.rows * patience and size < limits.octets * patience:
            continue
        table = pa.Table.from_batches(held)
        cut = _last_change(table, key)
        if cut == 0:
            patience *= 2
            continue
        patience = 1
        yield table.slice(0, cut)
        rest = table.slice(cut)
        held = rest.to_batches()
        rows = rest.num_rows
        size = (pc.sum(rest.column(octets)).as_py() or 0) if octets else rest.nbytes
    if held:
        yield pa.Table.from_batches(held)


def _last_change(table: pa.Table, key: Sequence[str]) -> int:
    """Index of the first row of the last key; 0 where all rows have one key."""
    last = table.num_rows
    differs = np.zeros(last - 1, bool) if last > 1 else np.zeros(0, bool)
    for name in key:
        column = table.column(name)
        changed = pc.not_equal(column.slice(1), column.slice(0, last - 1))
        differs |= changed.to_numpy()
    changes = np.flatnonzero(differs)
    return int(changes[-1]) + 1 if changes.size else 0
