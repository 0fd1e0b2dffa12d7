"""What runs on Spark's workers: each class is one `mapInArrow` function, made on the driver and sent whole.

Every task sees whole flows or whole streams, group after group, and holds a bounded number of them at a time. Rows go to files
beside the table they belong to (`stompcap.spark.sink`); only the manifest travels back.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.capture.spill import Spill, scratch_folder
from stompcap.errors import CaptureError
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
STREAMS = Limits(rows=200_000, octets=64 * 1024 * 1024)


@dataclass(frozen=True)
class Survey:
    """Looks at files: `packs` are a task's each, of paths with the captures they may continue; the task's number comes as its row."""

    packs: Sequence[Sequence[tuple[str, Sequence[Known]]]]
    source: str
    split_octets: int
    tunnels: bool
    limit: int | None

    def __call__(self, batches: Batches) -> Batches:
        """Yield pickled pairs of path and what was found: a Survey, None for an empty file, or the CaptureError."""
        from stompcap import capture

        for batch in batches:
            found: list[tuple[str, Found | CaptureError | None]] = []
            for path, known in (one for task in batch.column(0).to_pylist() for one in self.packs[task]):
                try:
                    survey = capture.examine(path, self.source, self.split_octets, known, tunnels=self.tunnels, limit=self.limit)
                    found.append((path, survey))
                except CaptureError as error:
                    found.append((path, error))
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(one) for one in found], pa.binary())], names=["found"])


@dataclass(frozen=True)
class Read:
    """Reads parts of captures into blocks of segments for `tasks` tasks: `packs` are a task's each, of ranks and parts."""

    packs: Sequence[Sequence[tuple[int, Split]]]
    tasks: int
    vlan: bool
    tunnels: bool

    def __call__(self, batches: Batches) -> Batches:
        """Yield the blocks of the packs whose numbers come as rows."""
        from stompcap import capture

        for batch in batches:
            parts = (part for task in batch.column(0).to_pylist() for part in self.packs[task])
            read = (
                rows
                for rank, split in parts
                for rows in capture.read_segments(split, rank, vlan=self.vlan, tunnels=self.tunnels)
            )
            yield from pack(read, self.tasks)


@dataclass(frozen=True)
class Extract:
    """Blocks of segments, whole flows, to the rows of bronze and of whatever else is wanted in the same pass."""

    lake: str
    captures: Sequence[tuple[str, str]]  # path and id, by rank
    batch_id: str
    options: Options
    outputs: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import Assembly, Meaning

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
        """The rows of some small flows, or of a large one."""
        if isinstance(flows, pa.Table):
            for some in whole_groups(iter(flows.to_batches(BATCH)), ("flow", "endpoints"), "captured_octets", FLOWS):
                yield from assembly.parts(some)
        else:
            yield from assembly.flow(flows)


@dataclass(frozen=True)
class Decode:
    """Raw frames of whole streams to frames."""

    lake: str
    options: Options

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import redecode

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
