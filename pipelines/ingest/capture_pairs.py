"""Captures of two points that have one source: noted in table captures, where validations find it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture_point_warnings import MOST, Pair, warning
from stompcap.lake import tables as lakes
from stompcap.quality.wording import ONE_POINT
from stompcap.tables import TABLES
from stompcap.visible import visible


def with_pairs(rows: Iterable[Mapping[str, Any]], pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """New rows of table captures with their `other_points`; a pair stands in one new row of the two."""
    found = {row["capture_id"]: dict(row) for row in rows}
    for first, other, packets in pairs:
        one, two = first["capture_id"], other["capture_id"]
        holder, named = (two, one) if two in found else (one, two)
        if holder in found:
            found[holder].setdefault("other_points", []).append((named, packets))
    return list(found.values())


def result(lake: str, run_id: str) -> pa.Table:
    """The row of `quality_results` that says whether each source is one capture point."""
    columns = ["capture_id", "path", "tcp_segments", "first_ns", "other_points"]
    every = lakes.small(lake, "captures", columns)
    holders = every.filter(pc.is_valid(every.column("other_points"))).to_pylist()
    names = {row["capture_id"] for row in holders} | {name for row in holders for name, _ in row["other_points"]}
    some = every.filter(pc.is_in(every.column("capture_id"), value_set=pa.array(sorted(names), pa.string()))).to_pylist()
    rows = {row["capture_id"]: row for row in some}
    pairs = [
        (*sorted((rows[named], row), key=lambda one: one["first_ns"] or 0), packets)
        for row in rows.values() for named, packets in row["other_points"] or () if named in rows
    ]  # fmt: skip
    pairs.sort(key=lambda pair: -pair[2])
    first = [{"paths": [visible(one["path"]), visible(two["path"])], "shared": packets} for one, two, packets in pairs[:MOST]]
    row = {
        "run_id": run_id, "table_name": "captures", "column_name": "source", "expectation": ONE_POINT, "severity": "warning",
        "success": not pairs, "observed": json.dumps({"rows": every.num_rows, "broken": len(pairs), "first": first}, sort_keys=True),
        "checked_ts": datetime.datetime.now(datetime.UTC), "checked_rows": every.num_rows, "failed_rows": len(pairs),
        "message": f"captures.source: {warning(*pairs[0])}" if pairs else None,
    }  # fmt: skip
    return pa.Table.from_pylist([row], schema=TABLES["quality_results"].arrow)
