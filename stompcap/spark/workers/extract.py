"""Blocks of segments, whole flows, to rows of the lake: the machines of `stompcap.assembly`, and the files that their rows go to."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap import memory
from stompcap.capture.by_rank import CapturesByRank
from stompcap.capture.payload_spill import PayloadSpill, scratch_folder
from stompcap.capture.some_by_rank import SomeByRank
from stompcap.lake.open_state import OpenState
from stompcap.lake.paths import open_files
from stompcap.progress import Meter
from stompcap.spark.blocks import task_of, unpack
from stompcap.spark.grouping import Limits, whole_groups
from stompcap.spark.sink import Sink
from stompcap.spark.workers.worker import Batches, freeze_loaded, task_number
from stompcap.tasks.failures import STATE, Failures, culprits, ranks
from stompcap.tcp.flows import by_flow

if TYPE_CHECKING:
    from stompcap.assembly import Part
    from stompcap.options import Options
    from stompcap.spark.slices import Reread

FLOWS = Limits(rows=50_000, octets=16 * 1024 * 1024)
BATCH = 65_536


@dataclass(frozen=True)
class Extract:
    """Blocks of segments, whole flows, to the rows of bronze and of whatever else is wanted in the same pass.

    `now_ns` is the latest capture time of the source, by which flows are open or over. `superseded` and `unused` as for the assembly.
    `state` is what earlier runs left of flows: it is read of those that go on, and segments of it that are read again, as `reread` says, do
    not count. There are `tasks` such tasks.
    """

    lake: str
    captures: CapturesByRank | SomeByRank
    batch_id: str
    options: Options
    outputs: tuple[str, ...]
    now_ns: int
    superseded: bool = False
    meter: Meter = field(default_factory=Meter)
    unused: frozenset[bytes] = frozenset()
    state: OpenState = field(default_factory=OpenState)
    reread: Reread | None = None
    tasks: int = 1

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        freeze_loaded()
        manifest = self._written(batches)  # what the machines held is free behind it
        memory.release()  # Spark keeps the worker for the next task, which may never come
        yield manifest

    def _written(self, batches: Batches) -> pa.RecordBatch:
        sink, spill, failures = Sink(self.lake, self.outputs, open_files(self.options)), PayloadSpill(), Failures()
        made, streams = _Machines(self, sink, spill), set[str]()
        coming = self._gone_on_with(unpack(batches, spill, failures), spill, streams)
        with ExitStack() as until_done:
            for flows in by_flow(coming, 1, lambda: Path(until_done.enter_context(scratch_folder()))):
                if isinstance(flows, pa.Table):
                    for some in whole_groups(iter(flows.to_batches(BATCH)), ("flow", "endpoints"), "captured_octets", FLOWS):
                        with failures.caught(partial(culprits, some, lambda segments: _Machines(self, sink, spill).check(segments))):
                            made.write(made.assembly.parts(some))
                        self._count(some)
                else:
                    self._large(made, flows, failures)
        failures.unresumed.update(made.assembly.lost)
        failures.recognised_late.update(made.assembly.unread)
        return sink.manifest(failures, made.assembly.points.shared, streams)

    def _gone_on_with(self, segments: Iterator[pa.Table], spill: PayloadSpill, streams: set[str]) -> Iterator[pa.Table]:
        """Segments, and what earlier runs left of their flows and of those that always go on; `streams` get the ids of these streams."""
        always = self.state.always
        flows = [always.filter(pa.array(task_of(always.to_numpy(), self.tasks) == task_number()))]
        for table in segments:
            if self.state.files:
                flows.append(table.column("flow").unique())
            yield table
        for rows in self.state.rows(pa.concat_arrays(flows).unique()):
            streams.update(rows.column("stream_id").unique().to_pylist())
            left = self.state.segments(rows)
            yield spill.take(self.reread.left(left) if self.reread else left)

    def _large(self, made: _Machines, flow: Iterator[pa.Table], failures: Failures) -> None:
        """The rows of a large flow. If it fails, the state that it goes on from is at fault, or else the captures given last.

        No more is known.
        """
        last: list[pa.Table] = []

        def counted(segments: pa.Table) -> pa.Table:
            last[:] = [segments]
            return self._count(segments)

        def blamed(error: Exception) -> dict[int, Exception]:
            from stompcap.assembly.resume.older_states import why

            endpoints = last[0].column("endpoints")[0].as_py()
            if endpoints not in made.assembly.resumed:
                return dict.fromkeys(ranks(last[0]), error)
            failures.unresumed[endpoints] = why(error)
            return {STATE: error}

        with failures.caught(blamed):
            made.write(made.assembly.flow(map(counted, flow)))

    def _count(self, segments: pa.Table) -> pa.Table:
        self.meter.add("segments", task_number(), segments.num_rows)
        return segments


class _Machines:
    """The machines of a task, and where what they make goes."""

    def __init__(self, task: Extract, sink: Sink, spill: PayloadSpill) -> None:
        from stompcap.assembly import Assembly, SessionAnalyser

        self.analyser = SessionAnalyser(task.captures.order, task.options, sink.wants)
        self.assembly = Assembly(
            task.captures, task.batch_id, task.options, spilled=lambda: spill.octets, now_ns=task.now_ns,
            analyser=self.analyser if sink.wants("sessions") else None, superseded=task.superseded, unused=task.unused,
        )
        self.sink = sink

    def write(self, parts: Generator[Part, None, None]) -> None:
        """Write the rows that come of parts. Where that fails, no thread works on them any more when it is told."""
        with closing(parts):
            for part in self._analysed(parts):
                for table, rows in part.tables.items():
                    self.sink.write(table, rows, part.going_on)

    def check(self, segments: pa.Table) -> None:
        """Fail as `write` does with what small flows come to, and write nothing."""
        for part in self._analysed(self.assembly.parts(segments)):
            for table, rows in part.tables.items():
                self.sink.check(table, rows)

    def _analysed(self, parts: Iterator[Part]) -> Iterator[Part]:
        return self.analyser.analysed(parts) if self.sink.wants("sessions") else parts
