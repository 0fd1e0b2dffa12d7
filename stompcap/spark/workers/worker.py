"""The process that a task runs in, and which task that is."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]
YOUNG_OBJECTS = 50_000  # allocated before the collector looks at them; 700 by default


def task_number() -> int:
    """The number of the task that runs here, among those of its stage."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return task.partitionId() if task else 0


@cache
def freeze_loaded() -> None:
    """Once a worker: keep what is loaded by now from Python's garbage collector, which else walks through all of it many times.

    What tasks make is columns, freed when nothing refers to it; the collector still runs over what is new.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
