"""The whole way from captures to per-session tables in one process, without Spark: the same machines in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from stompcap import capture
from stompcap.assembly import Assembly, Part, SessionAnalyser
from stompcap.assembly.windows import WINDOW
from stompcap.capture.ranking import ranked
from stompcap.options import Options
from stompcap.tcp import WIRE_ORDER
from stompcap.tcp.finality import BLOCK
from tests.e2e.truth import captures


@dataclass(frozen=True)
class Wire:
    """The packets of captures: rows of table captures in order, TCP segments (stompcap.capture.SEGMENTS), and the captures' clocks."""

    surveyed: Sequence[Mapping[str, Any]]
    segments: pa.Table
    clocks: Sequence[int] = ()

    def parts(
        self, options: Options | None = None, window: int = WINDOW, block: int = BLOCK, assembly: type[Assembly] = Assembly
    ) -> Iterator[Part]:
        """What is made of them stream by stream."""
        captures = [(row["path"], row["capture_id"]) for row in self.surveyed]
        now_ns = max((row["last_ns"] or 0 for row in self.surveyed), default=0)
        made = assembly(captures, "batch", options or Options(), window, block=block, now_ns=now_ns)
        return made.with_clocks(self.clocks).parts(self.segments)

    def tables(
        self,
        options: Options | None = None,
        window: int = WINDOW,
        wanted: Callable[[str], bool] = lambda _: True,
        block: int = BLOCK,
        assembly: type[Assembly] = Assembly,
    ) -> dict[str, pa.Table]:
        """All tables made stream by stream and session by session, or of the latter those wanted, by name."""
        options = options or Options()
        order = {row["capture_id"]: rank for rank, row in enumerate(self.surveyed)}
        analyser = SessionAnalyser(order, options, wanted)
        found: dict[str, list[pa.Table]] = {}
        for part in analyser.analysed(self.parts(options, window, block, assembly)):
            _add(found, part.tables.items())
        return {name: pa.concat_tables(tables) for name, tables in found.items()}


def wire_of(paths: Sequence[str], options: Options | None = None) -> Wire:
    """The packets of these captures."""
    options = options or Options()
    surveyed = [row for path in paths if (row := capture.survey(path, options.source, tunnels=options.tunnels))]
    found = ranked(surveyed)
    batches = [
        batch
        for rank, row in enumerate(found.rows)
        for batch in capture.read_segments(row["path"], rank, vlan=options.vlan, tunnels=options.tunnels)
    ]
    return Wire(found.rows, pa.Table.from_batches(batches, capture.SEGMENTS).sort_by(WIRE_ORDER), found.clocks)


def tables_of(paths: Sequence[str], options: Options | None = None, window: int = WINDOW) -> dict[str, pa.Table]:
    """All tables made session by session of these captures, by name."""
    options = options or Options()
    return wire_of(paths, options).tables(options, window)


@cache
def recorded_tables() -> Mapping[str, pa.Table]:
    """All tables of all recorded captures, read as one body of packets; made once in a process."""
    return MappingProxyType(tables_of(captures()))


def _add(found: dict[str, list[pa.Table]], more: Iterable[tuple[str, pa.Table]]) -> None:
    for name, table in more:
        if name == "stream_state":
            continue  # tests/e2e/test_open_connections.py
        found.setdefault(name, []).append(table)
