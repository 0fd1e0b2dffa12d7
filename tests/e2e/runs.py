"""Captures in several runs, one after the other, without Spark: what a run leaves open, the next one goes on with and replaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc

from stompcap import capture
from stompcap.assembly import Assembly, SessionAnalyser, segments_of
from stompcap.assembly.resume import open_flows
from stompcap.assembly.resume.open_flows import FEW_PACKETS
from stompcap.capture.payload_spill import PayloadSpill
from stompcap.capture.ranking import ranked
from stompcap.options import Options
from stompcap.tables import TABLES
from stompcap.tcp import WIRE_ORDER
from stompcap.tcp.finality import BLOCK

LINEAGE = ("batch_id", "run_id", "source", "first_capture_id", "first_packet", "last_capture_id", "last_packet", "capture_id", "packet",
           "packets")  # fmt: skip


class Lake:
    """The tables that captures come to, run by run."""

    def __init__(
        self, options: Options | None = None, *, kept: bool = True, block: int = BLOCK, most: int = FEW_PACKETS, states: bool = True
    ) -> None:
        """`kept`: earlier captures are still there; `most`: packets of an open flow of which no state is kept; `states`: whether any is."""
        self.options, self.block, self.most, self.states = options or Options(), block, most, states
        self.kept = kept
        self.final: dict[str, list[pa.Table]] = {}
        self.open: dict[str, list[pa.Table]] = {}
        self.captures: list[Mapping[str, Any]] = []
        self.lost: dict[bytes, str] = {}  # of the latest run
        self.unread: set[bytes] = set()  # too

    def run(self, paths: Sequence[str]) -> None:
        """Take in captures."""
        empty = {name: TABLES[name].arrow.empty_table() for name in ("stream_state", "raw_frames")}
        state, raw = (pa.concat_tables([table, *self.open.get(name, [])]) for name, table in empty.items())
        raw = raw.filter(raw.column("raw").is_valid())
        before = [row["capture_id"] for row in self.captures]
        new = [row for path in paths if (row := capture.survey(path, self.options.source))]
        found = ranked([*self.captures, *new])
        self.captures, order = list(found.rows), found.order
        spill = PayloadSpill()
        named = [(row["path"] if self.kept or row in new else "", row["capture_id"]) for row in self.captures]
        segments = [segments_of(state, order, [path for path, _ in named], lambda _: [raw])]
        for row in new:
            segments += [pa.Table.from_batches([batch]) for batch in capture.read_segments(row["path"], order[row["capture_id"]])]
        together = pa.concat_tables([spill.take(some) for some in segments]).sort_by(WIRE_ORDER)
        self.open = {}
        analyser = SessionAnalyser(order, self.options, lambda _: True)
        machine = Assembly(
            named, "batch", self.options, spilled=lambda: spill.octets, block=self.block, now_ns=found.now_ns,
            analyser=analyser if self.states else None,
            before=before,
        ).with_clocks(found.clocks)
        with patch.object(open_flows, "FEW_PACKETS", self.most):
            for part in analyser.analysed(machine.parts(together)):
                self._take(part.tables.items(), part.going_on)
        self.lost, self.unread = machine.lost, machine.unread

    def rows(self) -> dict[str, list[str]]:
        """What the tables say, where it came from apart."""
        found = {}
        for name in sorted((self.final.keys() | self.open.keys()) - {"stream_state"}):
            table = self.table(name)
            found[name] = sorted(map(repr, table.drop_columns([one for one in LINEAGE if one in table.column_names]).to_pylist()))
        return {name: rows for name, rows in found.items() if rows}

    def table(self, name: str) -> pa.Table:
        """All rows of a table."""
        return pa.concat_tables([*self.final.get(name, []), *self.open.get(name, [])])

    def _take(self, tables: Iterable[tuple[str, pa.Table]], going_on: pa.Array | None) -> None:
        for name, table in tables:
            is_open = pc.is_in(table.column("stream_id"), value_set=pa.array([], pa.string()) if going_on is None else going_on)
            self.open.setdefault(name, []).append(table.filter(is_open))
            self.final.setdefault(name, []).append(table.filter(pc.invert(is_open)))
