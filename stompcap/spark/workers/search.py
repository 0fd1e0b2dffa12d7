"""A search of captures for packets of some flows, on Spark's workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.capture.segment_columns import FIN, RST, SYN

if TYPE_CHECKING:
    from stompcap.capture import Split
    from stompcap.spark.slices import Slice
    from stompcap.tasks.packing import Packs

DDL = "endpoints BINARY"


@dataclass(frozen=True)
class Search:
    """Searches parts of captures for segments: `packs` are a task's each, whose number comes as its row."""

    packs: Packs[Split]
    segments: Slice
    vlan: bool
    tunnels: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the endpoints, as SEGMENTS has them, of those segments that bring octets, or begin or end a connection."""
        from stompcap import capture

        for batch in batches:
            for split in (split for task in batch.column(0).to_pylist() for split in self.packs[task]):
                for rows in capture.read_segments(split, 0, vlan=self.vlan, tunnels=self.tunnels):
                    says = (rows.column("wire_octets").to_numpy() > 0) | (rows.column("flags").to_numpy() & (FIN | SYN | RST) != 0)
                    found = rows.column("endpoints").filter(pa.array(self.segments.among(rows) & says))
                    yield pa.RecordBatch.from_arrays([found.unique().cast(pa.binary())], names=["endpoints"])
