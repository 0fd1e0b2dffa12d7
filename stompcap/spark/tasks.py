"""What runs on Spark's workers: each class is one `mapInArrow` function, made on the driver and sent whole.

Every task sees whole flows or whole streams, group after group, and holds a bounded number of them at a time. Rows go to files
beside the table they belong to (`stompcap.spark.sink`); only the manifest travels back.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.errors import CaptureError
from stompcap.spark.blocks import unpack
from stompcap.spark.grouping import Limits, whole_groups
from stompcap.spark.sink import Sink

if TYPE_CHECKING:
    from stompcap.options import Options

Batches = Iterator[pa.RecordBatch]
FLOWS = Limits(rows=400_000, octets=64 * 1024 * 1024)
BATCH = 65_536
STREAMS = Limits(rows=200_000, octets=64 * 1024 * 1024)


def survey(source: str, tunnels: bool) -> Callable[[Batches], Batches]:
    """A function from a column of paths to JSON: the row of table captures (times as nanoseconds only), or why the file was refused."""

    def work(batches: Batches) -> Batches:
        from stompcap import capture

        for batch in batches:
            answers = []
            for path in batch.column(0).to_pylist():
                try:
                    answers.append(json.dumps({"path": path, "capture": capture.survey(path, source, tunnels=tunnels)}, default=_no_json))
                except CaptureError as error:
                    answers.append(json.dumps({"refused": {"path": error.path, "remedy": error.remedy}}))
            yield pa.RecordBatch.from_arrays([pa.array(answers, pa.string())], names=["answer"])

    return work


def _no_json(value: object) -> None:
    """Timestamps travel as the nanoseconds beside them."""
    if not isinstance(value, datetime.datetime):
        raise TypeError(f"{type(value).__name__} in a row of captures")


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
        from stompcap.assembly import Assembly, meaning

        sink = Sink(self.lake, self.outputs)
        assembly = Assembly(self.captures, self.batch_id, self.options)
        order = {name: rank for rank, (_, name) in enumerate(self.captures)}
        segments = unpack(batches).to_batches(BATCH)
        for flows in whole_groups(iter(segments), ("flow", "endpoints"), "captured_octets", FLOWS):
            for part in assembly.parts(flows):
                for table, rows in part.tables.items():
                    sink.write(table, rows)
                if part.sessions is not None and sink.wants("sessions"):
                    for table, rows in meaning(part.sessions, order, self.options, sink.wants).items():
                        sink.write(table, rows)
        yield sink.manifest()


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
        from stompcap.assembly import Sessions, meaning

        sink = Sink(self.lake, self.outputs)
        for group in whole_groups(batches, ("stream_id",), None, STREAMS):
            tables = tables_of(group)
            sessions = Sessions(**tables)
            for table, rows in meaning(sessions, self.order, self.options, sink.wants).items():
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
