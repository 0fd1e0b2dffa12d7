"""The ledger of a lake: which captures and batches it holds, which stages each batch has been through.

A batch is the captures of one run that the lake had not seen. It is complete when table captures has it. Whether another table has its rows
is read from that table's own transaction log, so that no second record can disagree. Table runs is for people, and keeps the options
that each stage was given.
"""

from __future__ import annotations

import datetime
import resource
import socket
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture.by_rank import Order
from stompcap.capture.ranking import in_order
from stompcap.columns import flat
from stompcap.lake import tables as lakes
from stompcap.tables import TABLES
from stompcap.tables.unknown_times import capture_with_zero, captures_with_zero
from stompcap.tables.words import UNREADABLE
from stompcap.version import version

KNOWN = [
    "capture_id", "batch_id", "path", "source", "compression", "size_octets", "used_octets", "used_sha256", "first_ns", "last_ns",
    "status", "damage", "continues", "tcp_segments", "packets",
]  # fmt: skip
"""What identifies captures, and the files that go on where they end."""


OF_SOURCE = ["capture_id", "path", "source", "first_ns", "last_ns", "packets", "tcp_segments", "format", "has_secrets"]
"""What orders captures, what is said of two of them, and which may have secrets of TLS connections."""


def known(lake: str, rows: pa.Table | None = None) -> list[dict[str, Any]]:
    """The captures in the lake, or those among some rows of table captures; those that could not be read are left out."""
    found = lakes.small(lake, "captures", KNOWN) if rows is None else rows
    return [capture_with_zero(row) for row in found.to_pylist() if row["status"] != UNREADABLE]


def known_as(lake: str, names: Collection[str], octets: Collection[int]) -> list[dict[str, Any]]:
    """Those of the captures in the lake, however many these are, whose files have one of some names, without folders, or sizes."""
    named, large = pa.array(sorted(names), pa.string()), pa.array(sorted(octets), pa.int64())

    def alike(rows: pa.Table) -> pa.Array:
        last = pc.replace_substring_regex(pc.utf8_rtrim(rows.column("path"), characters="/"), r"(?s)\A.*/", "")
        return pc.or_(pc.is_in(last, named), pc.is_in(rows.column("size_octets"), large))

    return known(lake, lakes.matching(lake, "captures", ["path", "size_octets"], alike, KNOWN))


def of_source(lake: str, source: str) -> pa.Table:
    """The captures in the lake of a source, by the columns OF_SOURCE; those that could not be read are left out."""
    rows = lakes.small(lake, "captures", [*OF_SOURCE, "status"])
    mine = pc.and_(pc.equal(rows.column("source"), source), pc.not_equal(rows.column("status"), UNREADABLE))
    return captures_with_zero((rows if pc.all(mine).as_py() else rows.filter(mine)).select(OF_SOURCE))


def enter(lake: str, rows: Sequence[dict[str, Any]], batch: str, run_id: str) -> int:
    """Enter captures with their batch, which completes it; rows added. Rows that say of them or their files that they are unreadable go."""
    return _replace_unreadable(lake, [{**row, "batch_id": batch, "run_id": run_id} for row in rows], batch, run_id)


def refuse(lake: str, rows: Sequence[dict[str, Any]], run_id: str) -> int:
    """Enter captures that cannot be read, and why; rows added: none where the lake says the same, or has the capture."""
    held = lakes.small(lake, "captures", ["capture_id", "status", "damage"])
    mine = pc.is_in(held.column("capture_id"), value_set=pa.array([row["capture_id"] for row in rows], pa.string()))
    before = {row["capture_id"]: row for row in held.filter(mine).to_pylist()}
    news = {
        row["capture_id"]: {**row, "batch_id": row["capture_id"], "run_id": run_id}
        for row in rows
        if (entered := before.get(row["capture_id"])) is None or (entered["status"] == UNREADABLE and entered["damage"] != row["damage"])
    }
    return _replace_unreadable(lake, list(news.values()), f"{run_id}:{UNREADABLE}:{min(news)}", run_id) if news else 0


def _replace_unreadable(lake: str, rows: Sequence[dict[str, Any]], app_id: str, run_id: str) -> int:
    """Add rows to table captures, in the place of those that say of the same capture or file that it is unreadable."""
    table = pa.Table.from_pylist(rows, schema=TABLES["captures"].arrow)
    held = lakes.small(lake, "captures", ["status", "capture_id", "path", "source"])
    unreadable = pc.indices_nonzero(pc.equal(held.column("status"), UNREADABLE))
    names, files = {row["capture_id"] for row in rows}, {(row["path"], row["source"]) for row in rows}
    gone = [
        at for at, row in zip(unreadable.to_pylist(), held.take(unreadable).to_pylist(), strict=True)
        if row["capture_id"] in names or (row["path"], row["source"]) in files
    ]  # fmt: skip
    if not gone:
        return lakes.append(lake, "captures", table, [app_id], run_id)
    rest = lakes.small(lake, "captures").filter(pa.array(~np.isin(np.arange(held.num_rows), gone)))
    lakes.replace(lake, "captures", pa.concat_tables([rest, table]), run_id, [app_id])
    return len(table)


def captures(lake: str) -> Mapping[str, int]:
    """The ids of all captures in the lake, ranked in order (stompcap.capture.rotation)."""
    rows = captures_with_zero(lakes.small(lake, "captures", OF_SOURCE))
    return Order(flat(rows.column("capture_id")).take(pa.array(in_order(rows).rows)))


def pending(lake: str, tables: Sequence[str]) -> list[str]:
    """The batches in the lake that one of the tables lacks, by its own transactions, in the order of their runs."""
    rows = lakes.small(lake, "captures", ["batch_id", "status"])
    known = frozenset(rows.column("batch_id").filter(pc.not_equal(rows.column("status"), UNREADABLE)).unique().to_pylist())
    found = frozenset[str]().union(*(lakes.lacking(lake, table, known) for table in tables))
    if not found:
        return []
    begun = lakes.small(lake, "batches", ["batch_id", "begun_ts"]).sort_by("begun_ts").column("batch_id").to_pylist()
    number = {batch: index for index, batch in enumerate(begun)}
    return sorted(found, key=lambda batch: (batch in number, number.get(batch, 0), batch))


def computed_again(lake: str, table: str) -> list[str]:
    """The batches that only computed connections again and that a table lacks."""
    rows = lakes.small(lake, "batches", ["batch_id", "slice"])
    names = rows.column("batch_id").filter(pc.is_valid(rows.column("slice"))).to_pylist()
    return [name for name in names if lakes.has_committed(lake, "captures", name) and not lakes.has_committed(lake, table, name)]


def record(
    lake: str,
    run_id: str,
    stage: str,
    started: datetime.datetime,
    inputs: Sequence[str],
    rows: dict[str, int],
    options: Mapping[str, str],
    error: str | None = None,
) -> None:
    """Enter a stage of a run, ended now, into table runs; `options` as `pipelines.ingest.recorded_options` has them."""
    entry: dict[str, Any] = {
        "run_id": run_id,
        "stage": stage,
        "started_ts": started,
        "ended_ts": now(),
        "status": "failed" if error else "done",
        "inputs": list(inputs),
        "rows": list(rows.items()),
        "options": list(options.items()),
        "tool_version": version(),
        "error": error,
        "peak_memory_octets": _peak_octets(),
        "host": socket.gethostname(),
        **_read(lake, inputs),
    }
    table = pa.Table.from_pylist([entry], schema=TABLES["runs"].arrow)
    lakes.append(lake, "runs", table, [f"{run_id}:{stage}"], run_id)


def _read(lake: str, inputs: Sequence[str]) -> dict[str, int | None]:
    """Octets and packets of the captures that are named by their ids."""
    rows = lakes.small(lake, "captures", ["capture_id", "used_octets", "packets"])
    mine = rows.filter(pc.is_in(rows.column("capture_id"), pa.array(inputs, pa.string())))
    return {"octets": pc.sum(mine.column("used_octets")).as_py(), "packets": pc.sum(mine.column("packets")).as_py()}


def _peak_octets() -> int:
    """The most memory that this process has held: macOS counts it in octets, Linux in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def now() -> datetime.datetime:
    """The present moment, UTC."""
    return datetime.datetime.now(datetime.UTC)
