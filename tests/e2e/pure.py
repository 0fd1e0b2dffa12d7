"""The whole way from captures to per-session tables in one process, without Spark: the same machines in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from stompcap import capture
from stompcap.assembly import Assembly, Meaning
from stompcap.assembly.windows import WINDOW
from stompcap.options import Options
from stompcap.tcp import WIRE_ORDER


def tables_of(paths: Sequence[str], options: Options | None = None, window: int = WINDOW) -> dict[str, pa.Table]:
    """All tables made session by session of these captures, by name."""
    options = options or Options()
    surveyed = [row for path in paths if (row := capture.survey(path, options.source, tunnels=options.tunnels))]
    surveyed.sort(key=lambda row: (row["first_ns"] or 0, row["capture_id"]))
    segments = pa.Table.from_batches(
        [
            batch
            for rank, row in enumerate(surveyed)
            for batch in capture.read_segments(row["path"], rank, vlan=options.vlan, tunnels=options.tunnels)
        ],
        capture.SEGMENTS,
    ).sort_by(WIRE_ORDER)
    order = {row["capture_id"]: rank for rank, row in enumerate(surveyed)}
    assembly = Assembly([(row["path"], row["capture_id"]) for row in surveyed], "batch", options, window)
    meaning = Meaning(order, options, lambda _: True)
    found: dict[str, list[pa.Table]] = {}
    for part in assembly.parts(segments):
        _add(found, part.tables.items())
        if part.sessions is not None:
            _add(found, meaning(part.sessions).items())
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def _add(found: dict[str, list[pa.Table]], more: Iterable[tuple[str, pa.Table]]) -> None:
    for name, table in more:
        found.setdefault(name, []).append(table)
