"""Makes the class-data archive (`stompcap.spark.archive`): a small session does what runs do, and its JVM dumps the classes it loaded.

Run as a program, this is that session: it must use everything whose classes the archive should contain.
"""

import signal
import sys
from collections.abc import Iterator

import pyarrow as pa

from stompcap.spark import archive, gateway

Batches = Iterator[pa.RecordBatch]


def begin() -> archive.Recording | None:
    """Begin to make the archive, beside what else is done; None if it exists or if Java or JARs are missing.

    Raises EnvironmentProblem where it cannot be made.
    """
    archive.clean(archive.folder())
    goal = archive.lacking()
    return None if goal is None else archive.Recording(goal, ["-m", "stompcap.prepare.classes"])


def main() -> None:
    """Use Spark as runs do, then end the JVM, which writes the archive; SIGTERM ends it without."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    patience_s = 0.0
    try:
        _use_spark()
        patience_s = archive.LONGEST_S
    finally:
        code = gateway.stop(patience_s)
    sys.exit(code)


def _use_spark() -> None:
    """Start a session, run Python tasks with a shuffle.

    Tables and SQL are left out: what Spark loads for these makes the archive a third larger, and no command sooner.
    """
    from stompcap.lake.manifest import MANIFEST
    from stompcap.spark.blocks import DDL
    from stompcap.spark.session import get_session

    spark = get_session("local[2]")
    spark.range(0, 2, 1, 2).mapInArrow(_blocks, DDL).repartitionById(2, "task").mapInArrow(_nothing, MANIFEST).collect()
    spark.stop()


def _blocks(batches: Batches) -> Batches:
    from stompcap.spark.blocks import BLOCKS

    for batch in batches:
        rows = [{"task": task, "block": b"x"} for task in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, schema=BLOCKS)


def _nothing(batches: Batches) -> Batches:
    for _ in batches:
        continue
    yield from ()


if __name__ == "__main__":
    main()
