"""The Spark source `pcap`: captures as DataFrames, one task a file, Arrow batches from the capture kernels.

    stompcap.spark.register(spark)
    spark.read.format("pcap").load("trace.pcapng")

gives one row a TCP segment. `option("view", "blocks")` is for the pipeline: what describes the segments, and says where their
octets lie instead of carrying them, packed for the tasks that will bring flows together (`stompcap.spark.blocks`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from stompcap.spark.blocks import DDL, pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

PACKETS = (
    "path STRING, packet BIGINT, ts_ns BIGINT, ts TIMESTAMP, src_ip STRING, src_port INT, dst_ip STRING, dst_port INT, "
    "seq BIGINT, ack BIGINT, flags INT, window INT, payload_octets BIGINT, payload BINARY"
)
VIEWS = ("packets", "blocks")


class FilePartition(InputPartition):
    """One capture file and its rank in the run."""

    def __init__(self, path: str, rank: int) -> None:
        super().__init__(rank)
        self.path = path
        self.rank = rank


class PcapReader(DataSourceReader):
    """Reads each file in a task of its own; `tasks` is how many tasks blocks are packed for, 0 for packets."""

    def __init__(self, files: list[tuple[str, int]], tasks: int, *, vlan: bool, tunnels: bool) -> None:
        self.files = files
        self.tasks = tasks
        self.vlan = vlan
        self.tunnels = tunnels

    def partitions(self) -> list[InputPartition]:
        """One partition a file, planned on the driver."""
        return [FilePartition(path, rank) for path, rank in self.files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one file."""
        import pyarrow as pa

        from stompcap import capture

        if not isinstance(partition, FilePartition):
            raise TypeError(f"not a partition of this source: {partition!r}")
        if self.tasks:
            segments = capture.read_segments(partition.path, partition.rank, vlan=self.vlan, tunnels=self.tunnels)
            yield from pack(segments, self.tasks)
            return
        for batch in capture.packets(partition.path, tunnels=self.tunnels):
            # Spark asks for the very schema it was told, in which every column may be null
            loose = pa.schema([field.with_nullable(True).remove_metadata() for field in batch.schema])
            yield pa.RecordBatch.from_arrays(batch.columns, schema=loose)


class PcapDataSource(DataSource):
    """Packet captures; options: `path` (file, folder or glob), `view` (packets or blocks), `tunnels` (true or false).

    Without tunnels packets are what their outermost IP header says.
    For blocks, `plan` is a JSON list of paths and ranks and `tasks` says how many tasks they are packed for;
    `vlan` (true or false) whether VLAN ids tell flows apart.
    """

    @classmethod
    def name(cls) -> str:
        """The format's short name."""
        return "pcap"

    def schema(self) -> str:
        """The columns of the chosen view."""
        return DDL if self._tasks() else PACKETS

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader over the planned files, or over what `path` names."""
        del schema
        if "plan" in self.options:
            files = [(str(path), int(rank)) for path, rank in json.loads(self.options["plan"])]
        else:
            from stompcap.capture.find import find

            named = json.loads(self.options["paths"]) if "paths" in self.options else [self.options["path"]]
            files = [(path, rank) for rank, path in enumerate(find(named))]
        return PcapReader(files, self._tasks(), vlan=self._flag("vlan", "false"), tunnels=self._flag("tunnels", "true"))

    def _flag(self, name: str, default: str) -> bool:
        said = self.options.get(name, default).lower()
        if said not in ("true", "false"):
            raise ValueError(f"option {name} is true or false, not {said!r}")
        return said == "true"

    def _tasks(self) -> int:
        view = self.options.get("view", "packets")
        if view not in VIEWS:
            raise ValueError(f"option view is one of {', '.join(VIEWS)}, not {view!r}")
        return max(1, int(self.options.get("tasks", "1"))) if view == "blocks" else 0


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("pcap")` known to a session."""
    spark.dataSource.register(PcapDataSource)
