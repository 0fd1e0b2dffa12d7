"""Looks at files: which are captures, of what format, with how many packets from when to when."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.errors import CaptureError, NoCapture, unforeseen
from stompcap.spark.workers.worker import Batches, freeze_loaded

if TYPE_CHECKING:
    from stompcap.capture import Known
    from stompcap.capture import Survey as Found
    from stompcap.options import Options
    from stompcap.tasks.packing import Packs


def examined(
    path: str, options: Options, known: Iterable[Known], progress: Callable[[int], None] = lambda _: None, size: int | None = None
) -> Found | CaptureError | None:
    """What one file is: its survey, None for an empty file; `progress` gets the octets read, `size` limits them.

    Of a capture that cannot be read the survey says so and why; where its octets cannot be had, or it is no capture, the error does.
    """
    from stompcap import capture

    try:
        return capture.examine(
            path, options.source, options.split_octets, known, tunnels=options.tunnels, limit=options.max_decompressed, size=size,
            progress=progress,
        )
    except NoCapture as error:
        return error
    except Exception as error:  # noqa: BLE001 - one capture that nobody foresaw must not keep the others from being read
        why = unforeseen(path, error)
        return capture.unreadable(path, options.source, why.remedy) or why


@dataclass(frozen=True)
class Survey:
    """Looks at files: `packs` are a task's each, of paths with the captures they may continue; the task's number comes as its row."""

    packs: Packs[tuple[str, Sequence[Known]]]
    options: Options

    def __call__(self, batches: Batches) -> Batches:
        """Yield pickled pairs of path and what it is."""
        freeze_loaded()
        for batch in batches:
            mine = [one for task in batch.column(0).to_pylist() for one in self.packs[task]]
            found = [(path, examined(path, self.options, known)) for path, known in mine]
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(one) for one in found], pa.binary())], names=["found"])
