"""The findings by which the gates must and should of a run go: those of the connections that it wrote.

Of an open connection that went on these are all findings, those from before too. A run that found nothing new wrote nothing.
"""

# ruff: noqa: S608  names of batches are hexadecimal

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stompcap.lake.query import Query, ask
from stompcap.tables.words import LEVELS
from stompcap.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pyspark.sql import SparkSession

LISTED = 1000
"""Findings that are listed, the gravest first; all are counted."""

GATES = {"must": ("M",), "should": ("M", "S")}
"""The levels that trip each gate."""


def findings(
    lake: str, batches: Collection[str], levels: Sequence[str], spark: Callable[[], SparkSession]
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """How many findings of some levels the connections of some batches have, by level, and the first of them."""
    if not batches:
        return {}, []
    streams = f"SELECT stream_id FROM streams WHERE batch_id IN ({_listed(sorted(batches))})"
    mine = f"FROM compliance_findings WHERE level IN ({_listed(levels)}) AND stream_id IN ({streams})"
    rank = " ".join(f"WHEN '{level}' THEN {number}" for number, level in enumerate(LEVELS))
    names = "rule_id, level, side, stream_id, direction, stream_offset, ts_ns, evidence"
    tables = ("streams", "compliance_findings")
    counts = Query("counts", tables, f"SELECT level, count(*) AS findings {mine} GROUP BY level ORDER BY level")
    first = Query("first", tables, f"""
        SELECT {names} {mine} ORDER BY CASE level {rank} END, rule_id, stream_id, direction, stream_offset, ts_ns LIMIT {LISTED}""")
    found = ask(lake, [counts, first], spark)
    rows = [{**row, "evidence": row["evidence"] and visible(row["evidence"])} for row in found["first"].to_pylist()]
    return {row["level"]: row["findings"] for row in found["counts"].to_pylist()}, rows


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)
