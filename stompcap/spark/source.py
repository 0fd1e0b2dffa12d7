"""The Spark source `pcap`: captures as DataFrames, one row a TCP segment, Arrow batches from the capture kernels.

    stompcap.spark.register(spark)
    spark.read.format("pcap").option("splitOctets", 1 << 27).load("trace.pcapng")

A task reads about `splitOctets`: a part of a large capture, or many small captures. To cut a capture exactly, the driver
walks the headers in it; it leaves those alone that are smaller, and compressed ones, which are read in one piece.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from stompcap.errors import UsageError
from stompcap.tasks.packing import FILE_OCTETS, packed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSourceStreamReader
    from pyspark.sql.types import StructType

    from stompcap.capture import Split

PACKETS = (
    "path STRING, packet BIGINT, ts_ns BIGINT, ts TIMESTAMP, src_ip STRING, src_port INT, dst_ip STRING, dst_port INT, "
    "seq BIGINT, ack BIGINT, flags INT, window INT, payload_octets BIGINT, payload BINARY"
)
SPLIT_OCTETS = 1 << 27


class Parts(InputPartition):
    """What one task reads: parts of captures, or whole ones."""

    def __init__(self, number: int, parts: Sequence[Split]) -> None:
        super().__init__(number)
        self.parts = parts


class PcapReader(DataSourceReader):
    """Reads captures, `split_octets` a task."""

    def __init__(self, paths: Sequence[str], split_octets: int, *, tunnels: bool) -> None:
        self.paths = paths
        self.split_octets = split_octets
        self.tunnels = tunnels

    def partitions(self) -> list[InputPartition]:
        """The tasks, planned on the driver."""
        from stompcap import capture

        parts = [part for path in self.paths for part in capture.parts(path, self.split_octets, tunnels=self.tunnels)]
        octets = [part.octets for part in parts]
        tasks = -(-(sum(octets) + len(octets) * FILE_OCTETS) // self.split_octets)
        return [Parts(number, [parts[i] for i in pack]) for number, pack in enumerate(packed(octets, tasks))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one task."""
        import pyarrow as pa

        from stompcap import capture

        if not isinstance(partition, Parts):
            raise TypeError(f"not a partition of this source: {partition!r}")
        for part in partition.parts:
            for batch in capture.packets(part, tunnels=self.tunnels):
                # Spark asks for the very schema it was given, in which every column may be null
                loose = pa.schema([field.with_nullable(True).remove_metadata() for field in batch.schema])
                yield pa.RecordBatch.from_arrays(batch.columns, schema=loose)


class PcapDataSource(DataSource):
    """Packet captures; options: `path` (file, folder, glob or URI), `splitOctets` (64 KiB at least) and `tunnels` (true or false).

    Without tunnels packets are what their outermost IP header says.
    """

    @classmethod
    def name(cls) -> str:
        """The format's short name."""
        return "pcap"

    def schema(self) -> str:
        """The columns."""
        return PACKETS

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader over what `path` names."""
        del schema
        from stompcap.capture.find import find
        from stompcap.capture.splits import SMALLEST_OCTETS

        wanted = self.options.get("splitOctets", str(SPLIT_OCTETS))
        if not wanted.isdecimal() or int(wanted) < SMALLEST_OCTETS:
            raise ValueError(f"option splitOctets is a number of bytes, {SMALLEST_OCTETS} at least, not {wanted!r}")
        tunnels = self.options.get("tunnels", "true").lower()
        if tunnels not in ("true", "false"):
            raise ValueError(f"option tunnels is true or false, not {tunnels!r}")
        named = json.loads(self.options["paths"]) if "paths" in self.options else [self.options["path"]]
        return PcapReader(find(named), int(wanted), tunnels=tunnels == "true")

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Raises UsageError: captures are read whole, and one that grows would be read again, or in part."""
        del schema
        raise UsageError("pcap is read with spark.read, not with readStream; what follows captures as they come is stompcap watch")


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("pcap")` known to a session."""
    spark.dataSource.register(PcapDataSource)
