"""Data Docs: what the last validation of a lake expected and found, as one page that needs neither network nor scripts.

Great Expectations' own pages load style and scripts from the network and are blank without it.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stompcap.quality import failure
from stompcap.report.page import render
from stompcap.report.writing import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def checks(lake: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The page for the rows of `quality_results` of one run; failures come first, in words."""
    ordered = sorted(rows, key=lambda row: (row["table_name"], row["success"], row["column_name"] or "", row["expectation"]))
    failed = [{**row, "words": failure(row)} for row in ordered if not row["success"]]
    return render(
        "checks.html",
        "Data Docs",
        lake=lake,
        run_id=rows[0]["run_id"],
        checked=f"{max(row['checked_ts'] for row in rows):%Y-%m-%d %H:%M:%S}",
        total=len(rows),
        failed=sorted(failed, key=lambda row: row["severity"] != "error"),
        tables=[(name, list(group)) for name, group in groupby(ordered, key=lambda row: row["table_name"])],
    )


def write_checks(lake: str, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the page, and its folder if missing; raises OSError where they cannot be written."""
    Path(path).parent.mkdir(exist_ok=True)
    replace(Path(path), checks(lake, rows))
