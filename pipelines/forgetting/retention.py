"""What remains in a lake of captures, runs and validations when connections are forgotten.

The digests of a capture remain, so that it is not read again. If it ended before the moment up to which all is forgotten, its path is cut
down to the file name, by which a file that still grows is recognised. Rows of runs, batches and validations are deleted by their age. The
last validation remains, because the gate of the next run depends on it.
"""

from __future__ import annotations

import datetime
import json
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.unfinished import unfinished
from pipelines.validation.validate import data_docs
from stompcap.lake import data_files, open_tables, query
from stompcap.lake import tables as lakes
from stompcap.lake.commits import CommitInfo, read, replace_files
from stompcap.lake.paths import location
from stompcap.lake.query import Query
from stompcap.lake.table_writer import write

if TYPE_CHECKING:
    from stompcap.lake.removal import Streams

Moment = datetime.datetime


def outdated(lake: str, before: Moment | None) -> dict[str, int]:
    """How many rows of captures, runs, batches and quality_results `drop_outdated` would change or delete; none without a moment."""
    if before is None:
        return {}
    stale = {"captures": _captures(lake, before)[1], **{name: gone for name, (_, gone) in _aged(lake, before).items()}}
    return {name: rows for name, rows in stale.items() if rows}


def drop_outdated(lake: str, before: Moment | None, run_id: str) -> dict[str, int]:
    """Delete rows older than a moment, and cut paths of captures down to file names; returns how many rows of each table changed."""
    if before is None:
        return {}
    done = {}
    captures, changed = _captures(lake, before)
    if changed:
        lakes.replace(lake, "captures", captures, run_id)
        done["captures"] = changed
    for name, (rows, gone) in _aged(lake, before).items():
        if gone:
            _replace(lake, name, rows, run_id)
            done[name] = gone
    return done


def _captures(lake: str, before: Moment) -> tuple[pa.Table, int]:
    """Table captures with only the file names of captures older than a moment, and how many these are.

    A capture is older if it ended before any remaining connection of its source began: until then its packets may be exported.
    """
    held = lakes.small(lake, "captures")
    moment = _ns(before)
    sql = f"SELECT source, min(first_ns) AS first FROM streams WHERE last_ns >= {moment} GROUP BY source"  # noqa: S608  a number
    files = query.all_files(lake, "streams")
    remain = {row["source"]: row["first"] for row in query.in_process({"streams": files}, [Query("first", (), sql)])["first"].to_pylist()}
    paths, changed = [], 0
    for row in held.select(["path", "source", "last_ns"]).to_pylist():
        last, path = row["last_ns"], row["path"]
        if last is not None and last < min(moment, remain.get(row["source"], moment)):
            path = path.rstrip("/").rpartition("/")[2]
        changed += path != row["path"]
        paths.append(path)
    index = held.schema.get_field_index("path")
    return held.set_column(index, held.schema.field(index), pa.array(paths, pa.string())), changed


def _ns(moment: Moment) -> int:
    return (moment - Moment(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1) * 1000


def _aged(lake: str, before: Moment) -> dict[str, tuple[pa.Table, int]]:
    """Tables runs, batches and quality_results without the rows older than a moment, and how many rows that removes."""
    found = {}
    pending = pa.array([batch.batch_id for batch in unfinished(lake)], pa.string())
    for name, column in (("runs", "ended_ts"), ("batches", "begun_ts"), ("quality_results", "checked_ts")):
        rows = lakes.small(lake, name)
        old = pc.fill_null(pc.less(rows.column(column), pa.scalar(before, rows.schema.field(column).type)), False)
        if name == "batches":
            old = pc.and_(old, pc.invert(pc.is_in(rows.column("batch_id"), value_set=pending)))
        if name == "quality_results" and rows.num_rows:
            last = rows.sort_by([("checked_ts", "descending")]).column("run_id")[0]
            old = pc.and_(old, pc.not_equal(rows.column("run_id"), last))
        stay = rows.filter(pc.invert(old))
        found[name] = stay, rows.num_rows - stay.num_rows
    return found


def _replace(lake: str, table: str, rows: pa.Table, run_id: str) -> None:
    """Replace a small table by a file with the time of its newest file: validations depend on that time."""
    delta = open_tables.table(location(lake, table))
    made = [write(lake, table, rows)] if rows.num_rows else []
    replace_files(delta, made, data_files.of(delta), CommitInfo(run_id), age_stays=True)


def clear_examples(lake: str, streams: Streams, run_id: str) -> None:
    """Remove examples of these streams from results and messages of validations, and the reports kept for the next validation."""
    from stompcap.quality import failure, kept

    kept.forget(lake)
    table = "quality_results"
    held = read(table, data_files.of(open_tables.table(location(lake, table))))
    gone = set(streams.ids.filter(pc.is_in(streams.ids, value_set=_named(held))).to_pylist())
    observed = [_without_examples(text, gone) for text in held.column("observed").to_pylist()]
    if observed == held.column("observed").to_pylist():
        return
    rows = [row | {"observed": text} for row, text in zip(held.to_pylist(), observed, strict=True)]
    changed = [row | {"message": failure(row)} if row.get("message") else row for row in rows]
    _replace(lake, table, pa.Table.from_pylist(changed, schema=held.schema), run_id)


def _examples(text: str | None) -> list[dict[str, Any]]:
    """The rows that a result has as examples."""
    found: list[dict[str, Any]] = (json.loads(text).get("first") or []) if text and '"first"' in text else []
    return found


def _named(held: pa.Table) -> pa.Array:
    """The streams of the examples of all results."""
    return pa.array([one["stream_id"] for text in held.column("observed").to_pylist() for one in _examples(text) if "stream_id" in one],
                    pa.string())  # fmt: skip


def _without_examples(text: str | None, gone: set[str]) -> str | None:
    """A result without the examples of some streams."""
    examples = _examples(text)
    rest = [one for one in examples if one.get("stream_id") not in gone]
    if len(rest) == len(examples):
        return text
    return json.dumps(json.loads(text or "{}") | {"first": rest}, sort_keys=True)


def show_checks(lake: str) -> None:
    """Rewrite the page of the last validation, if there is one, from its remaining results."""
    from stompcap.quality import last
    from stompcap.report.checks import write_checks

    docs = data_docs(lake)
    if docs and os.path.exists(docs):
        rows = last(lake)
        if rows:
            write_checks(lake, docs, rows)
