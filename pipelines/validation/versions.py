"""Which version of each table a validation has judged, and what other programs have taken away since.

A validation records the versions in its own commit to quality_results. A table with another version has something new, whoever wrote it. It
records by which suites of the user it judged, too.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stompcap.lake import data_files, delta_log, open_tables, query
from stompcap.lake.commits import SOURCE
from stompcap.lake.data_files import Files
from stompcap.lake.paths import filesystem, location
from stompcap.quality.last import last
from stompcap.quality.ranges import EXAMPLES, harmless_key, plain_rows
from stompcap.quality.wording import STAY, failure
from stompcap.tables import TABLES

WRITTEN_BY_VALIDATION = ("quality_results", "runs")
"""Tables that every validation writes itself, so that their versions tell nothing."""

SUITES = "own suites"
"""What stands for a user's suites among the versions that a validation records."""

OF_TRAFFIC = tuple(name for name, table in TABLES.items() if table.layer in ("bronze", "silver"))
UNKNOWN_SINCE = 100
"""Commits that are looked at where no validation has recorded a version."""


def current(lake: str) -> dict[str, int]:
    """The version of each table now."""
    return {name: open_tables.table(location(lake, name)).version() for name in TABLES if name not in WRITTEN_BY_VALIDATION}


def validated(lake: str) -> dict[str, int]:
    """The version of each table that was judged last; nothing of tables, or lakes, that no validation has recorded."""
    recorded = delta_log.transactions(open_tables.table(location(lake, "quality_results")))
    return {name: recorded[SOURCE + name] for name in TABLES if SOURCE + name in recorded}


def suites(chosen: Sequence[tuple[str, str]]) -> int:
    """A number that stands for a user's own suites, table and file of each: another where what one of them expects has changed."""
    digest = hashlib.sha256()
    for table, path in chosen:
        try:
            octets = Path(path).read_bytes()
        except OSError:  # whoever judges by it says so
            octets = b""
        digest.update(f"{table} {len(octets)} ".encode() + octets)
    return int.from_bytes(digest.digest()[:7], "big") if chosen else 0


def judged_suites(lake: str) -> int:
    """That of the suites by which a lake was judged last; 0 for none."""
    return delta_log.transactions(open_tables.table(location(lake, "quality_results"))).get(SOURCE + SUITES, 0)


def rows_gone(lake: str, run_id: str, since: Mapping[str, int]) -> pa.Table:
    """Rows of `quality_results`: whether each table of traffic has all rows that other programs' commits removed after some versions.

    To put files together is no fault, for the rows are still there.
    """
    failing = {
        row["table_name"]: json.loads(row["observed"])["since"]
        for row in last(lake) if row["expectation"] == STAY and not row["success"]
    }  # fmt: skip
    rows = []
    for name in OF_TRAFFIC:
        table = open_tables.table(location(lake, name))
        begin = failing.get(name, since.get(name, max(0, table.version() - UNKNOWN_SINCE)))
        gone, first = _gone(name, table, begin)
        held = sum(file.rows for file in data_files.of(table))
        row = {
            "run_id": run_id, "table_name": name, "column_name": None, "expectation": STAY, "severity": "error", "success": not gone,
            "observed": json.dumps({"rows": held, "broken": gone, "first": first, "since": begin}, sort_keys=True),
            "checked_ts": datetime.datetime.now(datetime.UTC), "checked_rows": held, "failed_rows": gone, "message": None,
        }  # fmt: skip
        rows.append(row | {"message": failure(row) if gone else None})
    return pa.Table.from_pylist(rows, schema=TABLES["quality_results"].arrow)


def _gone(name: str, table: Any, since: int) -> tuple[int, list[dict[str, Any]]]:
    """How many rows other programs have removed since a version, and the keys of the first of them."""
    commits = [(uris, rows) for uris, rows in delta_log.by_others(table, since) if _rows(uris) > rows]
    files = [uri for uris, _ in commits for uri in uris if data_files.exist([uri])]
    if not files:
        return 0, []
    keys = ", ".join(TABLES[name].key)
    held = {"held": Files(name, tuple(file.uri for file in data_files.of(table))), "removed": Files(name, tuple(files))}
    with query.opened(held) as database:
        sql = f"SELECT DISTINCT {keys} FROM removed EXCEPT SELECT {keys} FROM held"  # noqa: S608  our own names
        lost = database.sql(sql).to_arrow_table().sort_by([(key, "ascending") for key in TABLES[name].key])
    return lost.num_rows, plain_rows(lost, harmless_key(TABLES[name]))[:EXAMPLES]


def _rows(uris: list[str]) -> int:
    """The rows of files that are still there."""
    found = 0
    for system, path in map(filesystem, uris):
        if system.get_file_info(path).is_file:
            with pq.ParquetFile(path, filesystem=system) as file:
                found += file.metadata.num_rows
    return found
