"""Spark's floor: the least it can take to move a capture's payload octets into a Delta table.

One task per core maps its part of the file and passes slices of it, in rows as long as the mean payload, to
Spark's own Delta writer: no parsing, no shuffle, zstd. Started once, warmed up, then timed.
Prints one JSON object: seconds.
"""

# No postponed annotations here: Spark reads them at run time.

import argparse
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

WARM_UPS = 2


def payload(spark: SparkSession, path: str, octets: int, row_octets: int, tasks: int) -> DataFrame:
    """A DataFrame of one BINARY column: that many octets of the file, in rows of that length."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        file = np.memmap(path, dtype=np.uint8, mode="r")
        rows_a_batch = max(1, (16 << 20) // row_octets)
        for batch in batches:
            for part in batch.column(0).to_pylist():
                end = (part + 1) * (octets // tasks)
                for begin in range(part * (octets // tasks), end, rows_a_batch * row_octets):
                    slice_ = file[begin : min(end, begin + rows_a_batch * row_octets)]
                    offsets = np.append(np.arange(0, len(slice_), row_octets), len(slice_)).astype(np.int32)
                    column = pa.BinaryArray.from_buffers(
                        pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(slice_)]
                    )
                    yield pa.RecordBatch.from_arrays([column], ["payload"])

    return spark.range(0, tasks, 1, tasks).mapInArrow(read, "payload BINARY")


def main() -> None:
    """Time the writes: python -m benchmarks.floor CAPTURE FOLDER --octets N --row-octets N."""
    from stompcap.spark.session import get_session

    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--octets", type=int, required=True)
    parser.add_argument("--row-octets", type=int, required=True)
    wanted = parser.parse_args()
    tasks = len(os.sched_getaffinity(0))
    spark = get_session(f"local[{tasks}]", {"spark.sql.parquet.compression.codec": "zstd"})
    table = wanted.folder / "floor"
    seconds = 0.0
    for _ in range(WARM_UPS + 1):
        shutil.rmtree(table, ignore_errors=True)
        began = time.monotonic()
        frame = payload(spark, wanted.path, wanted.octets, wanted.row_octets, tasks)
        frame.write.format("delta").save(str(table))
        seconds = time.monotonic() - began
    spark.stop()
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
