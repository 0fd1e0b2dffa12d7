"""Makes the class-data archive (`stompcap.spark.archive`): a small session does what runs do, and its JVM dumps the classes it loaded.

Run as a program, this is that session: it must use everything whose classes the archive should contain.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator

import pyarrow as pa

from stompcap.spark import archive, gateway

Report = Callable[[int, int], None]
Batches = Iterator[pa.RecordBatch]


def record(report: Report) -> int:
    """Make the archive if there is none; returns 1 if it was made, 0 if it exists or if Java or JARs are missing.

    Raises EnvironmentProblem where it cannot be made.
    """
    archive.clean(archive.folder())
    goal = archive.lacking()
    if goal is None:
        return 0
    report(0, 1)
    archive.record(goal, ["-m", "stompcap.prepare.classes"])
    report(1, 1)
    return 1


def main() -> None:
    """Start a session, run Python tasks with a shuffle, write and read a Delta table, run SQL; end the JVM."""
    from stompcap.lake.manifest import MANIFEST
    from stompcap.spark.blocks import DDL
    from stompcap.spark.session import get_session

    spark = get_session("local[2]")
    with tempfile.TemporaryDirectory() as folder:
        tasks = spark.range(0, 2, 1, 2).mapInArrow(_blocks, DDL).repartitionById(2, "task").mapInArrow(_nothing, MANIFEST)
        tasks.collect()
        spark.range(0, 100).selectExpr("id", "id % 7 AS kind", "CAST(id AS STRING) AS name").write.format("delta").save(f"{folder}/table")
        spark.read.format("delta").load(f"{folder}/table").createOrReplaceTempView("tables")
        spark.sql("SELECT kind, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM tables GROUP BY kind ORDER BY 2").toArrow()
        list(spark.sql("SELECT a.name FROM tables a JOIN tables b USING (id) WHERE a.name LIKE '1%' LIMIT 5").toLocalIterator())
    spark.stop()
    sys.exit(gateway.stop(archive.LONGEST_S))  # the archive is written when the JVM ends


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
