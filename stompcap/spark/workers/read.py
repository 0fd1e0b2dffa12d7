"""Reads parts of captures into blocks of segments, which the shuffle brings together by flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stompcap.progress import Meter
from stompcap.spark.blocks import pack, reported
from stompcap.spark.workers.worker import Batches, freeze_loaded
from stompcap.tasks.failures import Failures

if TYPE_CHECKING:
    from stompcap.capture import Split
    from stompcap.spark.slices import Reread


@dataclass(frozen=True)
class Read:
    """Reads parts of captures into blocks of segments for `tasks` tasks: `packs` are a task's each, of ranks and parts.

    `reread`: which segments count of captures that are reread.
    """

    packs: Sequence[Sequence[tuple[int, Split]]]
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
        from stompcap import capture

        for rank, split in self.packs[task]:
            try:
                for batch in capture.read_segments(split, rank, vlan=self.vlan, tunnels=self.tunnels):
                    yield self.reread.of(batch, rank) if self.reread else batch
            except Exception as error:  # noqa: BLE001 - as in `examined`
                failures.note(rank, error)
            self.meter.add("read", task, split.octets)
