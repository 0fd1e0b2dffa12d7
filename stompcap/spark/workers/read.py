"""Reads parts of captures into blocks of segments, which the shuffle brings together by flow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stompcap.progress import Meter
from stompcap.spark.blocks import ROWS, pack, reported
from stompcap.spark.workers.worker import Batches, freeze_loaded
from stompcap.tasks.failures import Failures

if TYPE_CHECKING:
    from stompcap.capture import Split
    from stompcap.spark.slices import Reread
    from stompcap.tasks.packing import Packs


@dataclass(frozen=True)
class Read:
    """Reads parts of captures into blocks of segments for `tasks` tasks: `packs` are a task's each, of ranks and parts.

    `reread`: which segments count of captures that are reread.
    """

    packs: Packs[tuple[int, Split]]
    tasks: int
    vlan: bool
    tunnels: bool
    meter: Meter = field(default_factory=Meter)
    reread: Reread | None = None

    def __call__(self, batches: Batches) -> Batches:
        """Yield the blocks of the packs whose numbers come as rows."""
        freeze_loaded()
        failures = Failures()
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from pack(self._read(task, failures), self.tasks)
        if failures:
            yield reported(failures)

    def _read(self, task: int, failures: Failures) -> Batches:
        for rank, split in self.packs[task]:
            try:
                for batch in self._segments(split, rank):
                    yield self.reread.of(batch, rank) if self.reread else batch
            except Exception as error:  # noqa: BLE001 - as in `examined`
                failures.note(rank, error)
            self.meter.add("read", task, split.octets)

    def _segments(self, split: Split, rank: int) -> Batches:
        """As `capture.read_segments`, but the payload of a remote capture travels with its segments.

        The flows of a task lie all over a capture: in ranges, each look at their octets would fetch nearly all of it again.
        """
        from stompcap.capture.remote import Ranged
        from stompcap.capture.segments import read, segment_batch

        source, batches = read(split, ROWS, vlan=self.vlan, tunnels=self.tunnels)
        carry = source.compression is not None or isinstance(source, Ranged)
        for batch in batches:
            source.release(batch.records.begin, batch.records.end)
            if batch.used:
                yield segment_batch(batch, rank, carry=carry, base=source.base)
