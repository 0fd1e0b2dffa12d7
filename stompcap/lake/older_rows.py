"""Connections of a lake whose rows an older version wrote, where rows have come to mean something else since."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from stompcap.lake import open_tables
from stompcap.lake.paths import location
from stompcap.lake.query import Query, all_files, in_process
from stompcap.options import Options
from stompcap.tables import changes
from stompcap.units import count

DEFAULT = Options().source
BY_VERSION = """
    SELECT b.tool_version AS version, s.source, count(*) AS connections
    FROM streams s LEFT JOIN batches b ON s.batch_id = b.batch_id GROUP BY ALL"""


def older_rows(lake: str) -> str | None:
    """A line on connections whose rows an older version wrote, what these say otherwise, and what mends it; None where there are none."""
    tables = ("streams", "batches")
    if not all(open_tables.is_there(location(lake, name)) for name in tables):
        return None
    [found] = in_process({name: all_files(lake, name) for name in tables}, [Query("versions", tables, BY_VERSION)]).values()
    older = [row for row in found.to_pylist() if changes.since(row["version"])]
    if not older:
        return None
    number = sum(row["connections"] for row in older)
    versions = ", ".join(sorted({row["version"] or "a version before 0.1.0" for row in older}))
    what = "; ".join(dict.fromkeys(change.what for row in older for change in changes.since(row["version"])))
    which = f"{count(number)} {'connection of version' if number == 1 else 'connections of version'} {versions}"
    return f"{which} {'has' if number == 1 else 'have'} rows from before these changes: {what}. To compute them anew: {_mends(lake, older)}"


def _mends(lake: str, older: Sequence[Mapping[str, Any]]) -> str:
    """The command, for one source; what to do about others."""
    first, *others = sorted({str(row["source"]) for row in older})
    of = "" if first == DEFAULT else f" --source {shlex.quote(first)}"
    also = f", and so for {count(len(others))} other source{'s' if len(others) > 1 else ''}" if others else ""
    return f"stompcap run --reprocess --lake {shlex.quote(lake)}{of}{also}"
