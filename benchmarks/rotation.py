"""What runs cost while connections stay open: one capture of long connections, rotated into many files, some files a run.

The seconds are those of whole runs in one process with one warm Spark session. At the end the tables are compared with those of one run
over the whole capture.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from deltalake import DeltaTable
from rich.console import Console
from rich.table import Table

from benchmarks.sessions import busy
from pipelines.job import Job
from pipelines.run import STAGES, execute
from stompcap.generate.group import FILE_HEADER, Group
from stompcap.options import Options
from stompcap.spark.session import get_session
from stompcap.tables import TABLES

FILE_NS = 300 * 10**9
OWN = {"captures", "runs", "batches", "quality_results", "stream_state"}
LINEAGE = {"batch_id", "first_capture_id", "first_packet", "last_capture_id", "last_packet", "capture_id", "packet", "place"}


def rotated(folder: Path, connections: int, messages: int, files: int) -> tuple[Path, list[Path]]:
    """A capture, and the files of five minutes each that it comes to."""
    group = Group([busy(messages)] * connections)
    group.ns = (group.ns * (files * FILE_NS / int(group.ns[-1] + 1))).astype(np.int64)
    octets = bytes(group.clone(0))
    whole, parts = folder / "whole.pcap", []
    whole.write_bytes(FILE_HEADER + octets)
    starts = np.append(group.start, len(octets))
    for number, (begin, end) in enumerate(pairwise(starts[np.searchsorted(group.ns, np.arange(files + 1) * FILE_NS)].tolist())):
        parts.append(folder / f"{number:05}.pcap")
        parts[-1].write_bytes(FILE_HEADER + octets[begin:end])
    return whole, parts


def rows(lake: Path, name: str) -> list[str]:
    """The rows of a table without lineage, in an order of their own."""
    table = DeltaTable(str(lake / name)).to_pyarrow_table()
    return sorted(map(repr, table.drop_columns([one for one in table.column_names if one in LINEAGE]).to_pylist()))


def main() -> None:
    """Measure and print the table: python -m benchmarks.rotation --files 1000 --runs 100."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--messages", type=int, default=5000, help="of each connection")
    wanted = parser.parse_args()
    spark: Any = get_session("local[*]")
    shown = Table(caption=f"{wanted.connections} connections with {wanted.messages:,} messages each, {wanted.files:,} files")
    for column in ("run", "s", "segments kept", "MB of this process at most"):
        shown.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        whole, parts = rotated(folder, wanted.connections, wanted.messages, wanted.files)
        each = -(-len(parts) // wanted.runs)
        for run in range(wanted.runs):
            began = time.monotonic()
            captures = [str(path) for path in parts[run * each : (run + 1) * each]]
            execute(Job(lambda: spark, str(folder / "lake"), Options()), STAGES, captures)
            if run in (0, 1) or (run + 1) % max(1, wanted.runs // 10) == 0:
                kept = DeltaTable(str(folder / "lake" / "stream_state")).count()
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                shown.add_row(f"{run + 1:,}", f"{time.monotonic() - began:.1f}", f"{kept:,}", f"{peak:,}")
        execute(Job(lambda: spark, str(folder / "one"), Options()), STAGES, [str(whole)])
        differ = [name for name in TABLES if name not in OWN and rows(folder / "lake", name) != rows(folder / "one", name)]
    console = Console(width=120)
    console.print(shown)
    console.print("The tables equal those of one run." if not differ else f"Tables that differ from those of one run: {', '.join(differ)}")
    if differ:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
