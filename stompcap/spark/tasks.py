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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.capture.spill import Spill, scratch_folder
from stompcap.errors import CaptureError
from stompcap.progress import Meter
from stompcap.spark.blocks import pack, unpack
from stompcap.spark.grouping import Limits, whole_groups
from stompcap.spark.sink import Sink
from stompcap.tcp.flows import by_flow

if TYPE_CHECKING:
    from stompcap.assembly import Assembly, Part
    from stompcap.capture import Known, Split
    from stompcap.capture import Survey as Found
    from stompcap.options import Options

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
    path: str, options: Options, known: Iterable[Known], told: Callable[[int], None] = lambda _: None
) -> Found | CaptureError | None:
    """What one file is: its survey, None for an empty file, or why it cannot be read; `told` is given the octets looked at."""
    from stompcap import capture

    try:
        return capture.examine(
            path, options.source, options.split_octets, known, tunnels=options.tunnels, limit=options.max_decompressed, told=told
        )
    except CaptureError as error:
        return error
    except Exception as error:  # noqa: BLE001 - one capture that nobody foresaw must not keep the others from being read
        line = str(error).strip().splitlines()
        said = f"{type(error).__name__}: {line[0][:200]}" if line else type(error).__name__
        return CaptureError(path, f"could not be read ({said}); please report it, the other captures are not touched by it")


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
    """Reads parts of captures into blocks of segments for `tasks` tasks: `packs` are a task's each, of ranks and parts."""

    packs: Sequence[Sequence[tuple[int, Split]]]
    tasks: int
    vlan: bool
    tunnels: bool
    meter: Meter = field(default_factory=Meter)

    def __call__(self, batches: Batches) -> Batches:
        """Yield the blocks of the packs whose numbers come as rows."""
        _freeze_loaded()
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from pack(self._read(task), self.tasks)

    def _read(self, task: int) -> Batches:
        from stompcap import capture

        for rank, split in self.packs[task]:
            yield from capture.read_segments(split, rank, vlan=self.vlan, tunnels=self.tunnels)
            self.meter.add("read", task, split.octets)


@dataclass(frozen=True)
class Extract:
    """Blocks of segments, whole flows, to the rows of bronze and of whatever else is wanted in the same pass."""

    lake: str
    captures: Sequence[tuple[str, str]]  # path and id, by rank
    batch_id: str
    options: Options
    outputs: tuple[str, ...]
    meter: Meter = field(default_factory=Meter)

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import Assembly, Meaning

        _freeze_loaded()
        sink = Sink(self.lake, self.outputs)
        spill = Spill()
        order = {name: rank for rank, (_, name) in enumerate(self.captures)}
        meaning = Meaning(order, self.options, sink.wants)
        assembly = Assembly(self.captures, self.batch_id, self.options, spilled=lambda: spill.octets)
        with ExitStack() as until_done:
            for flows in by_flow(unpack(batches, spill), 1, lambda: Path(until_done.enter_context(scratch_folder()))):
                for part in self._parts(assembly, flows):
                    for table, rows in part.tables.items():
                        sink.write(table, rows)
                    if part.sessions is not None and sink.wants("sessions"):
                        for table, rows in meaning(part.sessions).items():
                            sink.write(table, rows)
        yield sink.manifest()

    def _parts(self, assembly: Assembly, flows: pa.Table | Iterator[pa.Table]) -> Iterator[Part]:
        """The rows of some small flows, or of a large one; the segments are counted when what is made of them was taken."""
        if isinstance(flows, pa.Table):
            for some in whole_groups(iter(flows.to_batches(BATCH)), ("flow", "endpoints"), "captured_octets", FLOWS):
                yield from assembly.parts(some)
                self._count(some)
        else:
            yield from assembly.flow(map(self._count, flows))

    def _count(self, segments: pa.Table) -> pa.Table:
        self.meter.add("segments", _number(), segments.num_rows)
        return segments


@dataclass(frozen=True)
class Decode:
    """Raw frames of whole streams to frames."""

    lake: str
    options: Options

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import redecode

        _freeze_loaded()
        sink = Sink(self.lake, ("frames",))
        for group in whole_groups(batches, ("stream_id",), None, STREAMS):
            tables = tables_of(group)
            sink.write("frames", redecode(tables["streams"], tables["raw_frames"], self.options))
        yield sink.manifest()


@dataclass(frozen=True)
class Correlate:
    """Frames of whole streams to sessions and what belongs to them, and to the metrics of each session."""

    lake: str
    order: dict[str, int]
    options: Options
    outputs: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import Meaning, Sessions

        _freeze_loaded()
        sink = Sink(self.lake, self.outputs)
        meaning = Meaning(self.order, self.options, sink.wants)
        for group in whole_groups(batches, ("stream_id",), None, STREAMS):
            tables = tables_of(group)
            sessions = Sessions(**tables)
            for table, rows in meaning(sessions).items():
                sink.write(table, rows)
        yield sink.manifest()


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
