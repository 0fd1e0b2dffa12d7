"""What the stages decode and correlate do with whole streams that the lake has: raw frames to frames, frames to sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.spark.grouping import Limits, whole_groups
from stompcap.spark.sink import Sink
from stompcap.spark.workers.worker import Batches, freeze_loaded
from stompcap.tables.unknown_times import with_zero
from stompcap.transport.checks import CHECKS, of_layers

if TYPE_CHECKING:
    from stompcap.options import Options

STREAMS = Limits(rows=200_000, octets=64 * 1024 * 1024)


@dataclass(frozen=True)
class Decode:
    """Raw frames of whole streams to frames; names of files with rows of open streams begin with `prefix`."""

    lake: str
    prefix: str
    options: Options

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import redecode

        freeze_loaded()
        sink = Sink(self.lake, ("frames",), self.prefix)
        for group in whole_groups(batches, ("stream_id",), None, STREAMS):
            tables = with_zero(tables_of(group))
            sink.write("frames", redecode(tables["raw_frames"], self.options), going_on(tables["streams"]))
        yield sink.manifest()


@dataclass(frozen=True)
class Correlate:
    """Frames of whole streams to sessions and what belongs to them, and to the metrics of each session.

    `prefix` as for Decode; `order` gives the rank of each capture in wire order, by id.
    """

    lake: str
    order: Callable[[], Mapping[str, int]]
    prefix: str
    options: Options
    outputs: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Write the rows; yield the manifest."""
        from stompcap.assembly import Part, SessionAnalyser, Sessions

        freeze_loaded()
        sink = Sink(self.lake, self.outputs, self.prefix)
        analyser = SessionAnalyser(self.order(), self.options, sink.wants)
        for group in whole_groups(batches, ("stream_id",), None, STREAMS):
            tables = with_zero(tables_of(group))
            layers = tables.pop("transports")
            tables["streams"] = with_checks(tables["streams"], layers)
            sessions = Sessions(**tables)
            for part in analyser.analysed([Part({}, sessions, going_on(sessions.streams))]):
                for table, rows in part.tables.items():
                    sink.write(table, rows, part.going_on)
        yield sink.manifest()


def with_checks(streams: pa.Table, layers: pa.Table) -> pa.Table:
    """Rows of table streams with what rules take of their rows in table transports."""
    ordered = layers.sort_by([("stream_id", "ascending"), ("layer", "ascending")])
    texts: dict[str, list[str | None]] = {}
    for stream, text in zip(ordered.column("stream_id").to_pylist(), ordered.column(CHECKS).to_pylist(), strict=True):
        texts.setdefault(stream, []).append(text)
    found = [of_layers(texts.get(stream, ())) for stream in streams.column("stream_id").to_pylist()]
    return streams.append_column(CHECKS, pa.array(found, pa.string()))


def going_on(streams: pa.Table) -> pa.Array:
    """The ids of the streams, rows of table streams, that later captures may go on with."""
    return streams.column("stream_id").filter(pc.equal(streams.column("final"), False)).combine_chunks()


def tables_of(group: pa.Table) -> dict[str, pa.Table]:
    """A group of rows of several tables, one struct column each, as the tables they came from.

    Without those of streams that table streams does not have of the batch: a later one has computed them again.
    """
    found = {}
    for name in group.column_names:
        if name == "stream_id":
            continue
        column = group.column(name).combine_chunks()
        rows = column.filter(column.is_valid())
        found[name] = pa.Table.from_struct_array(rows)
    ids = found["streams"].column("stream_id").combine_chunks()
    return {name: rows.filter(pc.is_in(rows.column("stream_id"), value_set=ids)) for name, rows in found.items()}
