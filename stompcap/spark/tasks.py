"""What runs on Spark's workers: each class is one `mapInArrow` function, made on the driver and sent whole.

Every task sees whole flows or whole streams, group after group, and holds a bounded number of them at a time. Rows go to files
beside the table they belong to (`stompcap.spark.sink`); only the manifest travels back.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture.payload_spill import PayloadSpill, scratch_folder
from stompcap.errors import CaptureError, NoCapture, unforeseen
from stompcap.lake.paths import open_files
from stompcap.progress import Meter
from stompcap.spark.blocks import pack, reported, unpack
from stompcap.spark.grouping import Limits, whole_groups
from stompcap.spark.sink import Sink
from stompcap.tables.unknown_times import with_zero
from stompcap.tasks.failures import STATE, Failures, culprits, ranks
from stompcap.tcp.flows import by_flow

if TYPE_CHECKING:
    from stompcap.assembly import Part
    from stompcap.capture import Known, Split
    from stompcap.capture import Survey as Found
    from stompcap.lake.open_state import OpenState
    from stompcap.options import Options
    from stompcap.spark.slices import Reread

Batches = Iterator[pa.RecordBatch]
FLOWS = Limits(rows=200_000, octets=64 * 1024 * 1024)
BATCH = 65_536
YOUNG_OBJECTS = 50_000  # allocated before the collector looks at them; 700 by default
STREAMS = Limits(rows=200_000, octets=64 * 1024 * 1024)


def _number() -> int:
    """The number of the task that runs here, among those of its stage."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return task.partitionId() if task else 0


@cache
def _freeze_loaded() -> None:
    """Once a worker: keep what is loaded by now from Python's garbage collector, which else walks through all of it again and again.

    What tasks make is columns, freed when nothing refers to it; the collector still runs over what is new.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


def examined(
    path: str, options: Options, known: Iterable[Known], progress: Callable[[int], None] = lambda _: None, size: int | None = None
) -> Found | CaptureError | None:
    """What one file is: its survey, None for an empty file; `progress` gets the octets read, `size` limits them.

    Of a capture that cannot be read the survey says so and why; where its octets cannot be had, or it is no capture, the error does.
    """
    from stompcap import capture

    try:
        return capture.examine(
            path, options.source, options.split_octets, known, tunnels=options.tunnels, limit=options.max_decompressed, size=size,
            progress=progress,
        )
    except NoCapture as error:
        return error
    except Exception as error:  # noqa: BLE001 - one capture that nobody foresaw must not keep the others from being read
        why = unforeseen(path, error)
        return capture.unreadable(path, options.source, why.remedy) or why


@dataclass(frozen=True)
class Survey:
    """Looks at files: `packs` are a task's each, of paths with the captures they may continue; the task's number comes as its row."""

    packs: Sequence[Sequence[tuple[str, Sequence[Known]]]]
    options: Options

    def __call__(self, batches: Batches) -> Batches:
        """Yield pickled pairs of path and what it is."""
        _freeze_loaded()
        for batch in batches:
            mine = [one for task in batch.column(0).to_pylist() for one in self.packs[task]]
            found = [(path, examined(path, self.options, known)) for path, known in mine]
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(one) for one in found], pa.binary())], names=["found"])


@dataclass(frozen=True)
class Read:
    """Reads parts of captures into blocks of segments for `tasks` tasks: `packs` are a task's each, of ranks and parts.

    The files of `state` are shared out among the tasks by number. `reread`: which segments count of captures that are read again.
    """

    packs: Sequence[Sequence[tuple[int, Split]]]
    state: OpenState
    tasks: int
    vlan: bool
    tunnels: bool
    meter: Meter = field(default_factory=Meter)
    reread: Reread | None = None

    def __call__(self, batches: Batches) -> Batches:
        """Yield the blocks of the packs whose numbers come as rows."""
        _freeze_loaded()
        failures = Failures()
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from pack(self._read(task, failures), self.tasks)
        if failures:
            yield reported(failures)

    def _read(self, task: int, failures: Failures) -> Batches:
        from stompcap import capture

        for file in self.state.files[task :: len(self.packs)]:
            for batch in self.state.segments(file):
                yield self.reread.left(batch) if self.reread else batch
        for rank, split in self.packs[task]:
            try:
                for batch in capture.read_segments(split, rank, vlan=self.vlan, tunnels=self.tunnels):
                    yield self.reread.of(batch, rank) if self.reread else batch
            except Exception as error:  # noqa: BLE001 - as in `examined`
                failures.note(rank, error)
            self.meter.add("read", task, split.octets)


@dataclass(frozen=True)
class Extract:
    """Blocks of segments, whole flows, to the rows of bronze and of whatever else is wanted in the same pass.

    `now_ns` is the latest capture time of the source, by which flows are open or over. `before` are the ids of captures by the ranks that
    they had in the run before. `superseded`, `unused` and `clocks` as for the assembly.
    """

    lake: str
    captures: Sequence[tuple[str, str]]  # path and id, by rank
    batch_id: str
    options: Options
    outputs: tuple[str, ...]
    now_ns: int
    before: Sequence[str] = ()
    superseded: bool = False
    meter: Meter = field(default_factory=Meter)
    unused: frozenset[bytes] = frozenset()
    clocks: Sequence[int] = ()

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        _freeze_loaded()
        sink, spill, failures = Sink(self.lake, self.outputs, open_files(self.options)), PayloadSpill(), Failures()
        made = _Made(self, sink, spill)
        with ExitStack() as until_done:
            for flows in by_flow(unpack(batches, spill, failures), 1, lambda: Path(until_done.enter_context(scratch_folder()))):
                if isinstance(flows, pa.Table):
                    for some in whole_groups(iter(flows.to_batches(BATCH)), ("flow", "endpoints"), "captured_octets", FLOWS):
                        with failures.caught(partial(culprits, some, lambda segments: _Made(self, sink, spill).check(segments))):
                            made.write(made.assembly.parts(some))
                        self._count(some)
                else:
                    self._large(made, flows, failures)
        failures.unresumed.update(made.assembly.lost)
        failures.recognised_late.update(made.assembly.unread)
        yield sink.manifest(failures, made.assembly.points.shared)

    def _large(self, made: _Made, flow: Iterator[pa.Table], failures: Failures) -> None:
        """The rows of a large flow. If it fails, the state that it goes on from is at fault, or else the captures given last.

        No more is known.
        """
        given: list[pa.Table] = []

        def counted(segments: pa.Table) -> pa.Table:
            given[:] = [segments]
            return self._count(segments)

        def blamed(error: Exception) -> dict[int, Exception]:
            from stompcap.assembly.earlier import why

            endpoints = given[0].column("endpoints")[0].as_py()
            if endpoints not in made.assembly.resumed:
                return dict.fromkeys(ranks(given[0]), error)
            failures.unresumed[endpoints] = why(error)
            return {STATE: error}

        with failures.caught(blamed):
            made.write(made.assembly.flow(map(counted, flow)))

    def _count(self, segments: pa.Table) -> pa.Table:
        self.meter.add("segments", _number(), segments.num_rows)
        return segments


class _Made:
    """The machines of a task, and where what they make goes."""

    def __init__(self, work: Extract, sink: Sink, spill: PayloadSpill) -> None:
        from stompcap.assembly import Assembly, SessionAnalyser

        order = {name: rank for rank, (_, name) in enumerate(work.captures)}
        self.analyser = SessionAnalyser(order, work.options, sink.wants)
        self.assembly = Assembly(
            work.captures, work.batch_id, work.options, spilled=lambda: spill.octets, now_ns=work.now_ns,
            analyser=self.analyser if sink.wants("sessions") else None, before=work.before, overtaken=work.superseded,
            unused=work.unused,
        ).with_clocks(work.clocks)  # fmt: skip
        self.sink = sink

    def write(self, parts: Iterator[Part]) -> None:
        """Write the rows that come of parts, the segments of which are counted when what is made of them was taken."""
        for part in parts:
            for table, rows in self._rows(part):
                self.sink.write(table, rows, part.going_on)

    def check(self, segments: pa.Table) -> None:
        """Fail as `write` does with what small flows come to, and write nothing."""
        for part in self.assembly.parts(segments):
            for table, rows in self._rows(part):
                self.sink.check(table, rows)

    def _rows(self, part: Part) -> Iterator[tuple[str, pa.Table]]:
        yield from part.tables.items()
        if part.sessions is not None and self.sink.wants("sessions"):
            yield from self.analyser(part.sessions).items()


@dataclass(frozen=True)
class Decode:
    """Raw frames of whole streams to frames; names of files with rows of open streams begin with `prefix`."""

    lake: str
    prefix: str
    options: Options

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import redecode

        _freeze_loaded()
        sink = Sink(self.lake, ("frames",), self.prefix)
        for group in whole_groups(batches, ("stream_id",), None, STREAMS):
            tables = with_zero(tables_of(group))
            sink.write("frames", redecode(tables["raw_frames"], self.options), going_on(tables["streams"]))
        yield sink.manifest()


@dataclass(frozen=True)
class Correlate:
    """Frames of whole streams to sessions and what belongs to them, and to the metrics of each session; `prefix` as for Decode."""

    lake: str
    order: dict[str, int]
    prefix: str
    options: Options
    outputs: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import SessionAnalyser, Sessions

        _freeze_loaded()
        sink = Sink(self.lake, self.outputs, self.prefix)
        analyser = SessionAnalyser(self.order, self.options, sink.wants)
        for group in whole_groups(batches, ("stream_id",), None, STREAMS):
            tables = with_zero(tables_of(group))
            sessions = Sessions(**tables)
            for table, rows in analyser(sessions).items():
                sink.write(table, rows, going_on(sessions.streams))
        yield sink.manifest()


def going_on(streams: pa.Table) -> pa.Array:
    """The ids of the streams, rows of table streams, that later captures may go on with."""
    return streams.column("stream_id").filter(pc.equal(streams.column("final"), False)).combine_chunks()


def tables_of(group: pa.Table) -> dict[str, pa.Table]:
    """A group of rows of several tables, one struct column each, as the tables they came from."""
    found = {}
    for name in group.column_names:
        if name == "stream_id":
            continue
        column = group.column(name).combine_chunks()
        rows = column.filter(column.is_valid())
        found[name] = pa.Table.from_struct_array(rows)
    return found
