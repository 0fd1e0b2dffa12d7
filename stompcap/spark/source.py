"""The Spark source `pcap`: captures as DataFrames, one task a file, Arrow batches from the capture kernels.

    stompcap.spark.register(spark)
    spark.read.format("pcap").load("trace.pcapng")

gives one row a TCP segment. `option("view", "segments")` gives the narrow columns of `stompcap.capture.columns`, which say where
the octets lie instead of carrying them; `plan` then names files and ranks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

PACKETS = (
    "path STRING, packet BIGINT, ts_ns BIGINT, ts TIMESTAMP, src_ip STRING, src_port INT, dst_ip STRING, dst_port INT, "
    "seq BIGINT, ack BIGINT, flags INT, window INT, payload_octets BIGINT, payload BINARY"
)
SEGMENTS = (
    "capture INT, packet BIGINT, ts_ns BIGINT, flow BIGINT, endpoints BINARY, forward BOOLEAN, seq BIGINT, ack BIGINT, flags INT, "
    "window INT, ip_id INT, ttl INT, wire_octets BIGINT, captured_octets BIGINT, place BIGINT, payload BINARY"
)


class FilePartition(InputPartition):
    """One capture file and its rank in the run."""

    def __init__(self, path: str, rank: int) -> None:
        super().__init__(rank)
        self.path = path
        self.rank = rank


class PcapReader(DataSourceReader):
    """Reads each file in a task of its own."""

    def __init__(self, files: list[tuple[str, int]], narrow: bool) -> None:
        self.files = files
        self.narrow = narrow

    def partitions(self) -> list[InputPartition]:
        """One partition a file, planned on the driver."""
        return [FilePartition(path, rank) for path, rank in self.files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one file."""
        import pyarrow as pa

        from stompcap import capture

        if not isinstance(partition, FilePartition):
            raise TypeError(f"not a partition of this source: {partition!r}")
        batches = capture.read_segments(partition.path, partition.rank) if self.narrow else capture.packets(partition.path)
        for batch in batches:
            # Spark asks for the very schema it was told, in which every column may be null
            loose = pa.schema([field.with_nullable(True).remove_metadata() for field in batch.schema])
            yield pa.RecordBatch.from_arrays(batch.columns, schema=loose)


class PcapDataSource(DataSource):
    """Packet captures; options: `path` (file, folder or glob), `view` (packets or segments), `plan` (JSON list of path and rank)."""

    @classmethod
    def name(cls) -> str:
        """The format's short name."""
        return "pcap"

    def schema(self) -> str:
        """The columns of the chosen view."""
        return SEGMENTS if self._narrow() else PACKETS

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader over the planned files, or over what `path` names."""
        del schema
        if "plan" in self.options:
            files = [(str(path), int(rank)) for path, rank in json.loads(self.options["plan"])]
        else:
            from stompcap.capture.find import find

            named = json.loads(self.options["paths"]) if "paths" in self.options else [self.options["path"]]
            files = [(path, rank) for rank, path in enumerate(find(named))]
        return PcapReader(files, self._narrow())

    def _narrow(self) -> bool:
        view = self.options.get("view", "packets")
        if view not in ("packets", "segments"):
            raise ValueError(f"option view is packets or segments, not {view!r}")
        return view == "segments"


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("pcap")` known to a session."""
    spark.dataSource.register(PcapDataSource)
