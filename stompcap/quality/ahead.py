"""Reports on the files that a run has written, made while it computes metrics: the validation behind them takes those, and reads the rest.

Metrics are for the most part queries of DuckDB that leave a core idle; reports are numpy and Arrow, which leave the interpreter to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from stompcap.lake.paths import DataFile, location
from stompcap.quality import clear_secrets
from stompcap.quality.profiles import DRIVER_ROWS, Key
from stompcap.quality.report import Asked, Report, Task, reports

THREADS = 2
"""Threads that read beside the queries, each a row group."""


@dataclass(frozen=True)
class Ahead:
    """Reports, made or being made, by table and name of the file; `asked` says what they are asked for."""

    asked: Asked = field(default_factory=Asked)
    reports: Mapping[Key, Future[list[Report]]] = field(default_factory=dict)

    def of(self, asked: Asked, files: Iterable[Key]) -> Iterator[Report]:
        """Those on some files, if they were asked for the same, when they are made; what failed is raised."""
        if asked == self.asked:
            for key in files:
                if key in self.reports:
                    yield from self.reports[key].result()


@contextmanager
def begun(lake: str, files: Sequence[DataFile]) -> Iterator[Ahead]:
    """Begin with the reports on some files of a lake; those that nobody waited for by the end are given up.

    Of more rows than threads of this process read, nothing is begun: Spark makes these reports.
    """
    if not files or sum(file.rows for file in files) > DRIVER_ROWS:
        yield Ahead()
        return
    asked = Asked.of_lake(lake)
    rows = {table: {file.path: file.rows for file in files if file.table == table} for table in asked.searched}
    searched = {(table, name) for table, some in rows.items() for name in clear_secrets.chosen(some)}
    pool = ThreadPoolExecutor(THREADS, "reports")
    try:
        made = {}
        for file in sorted(files, key=lambda file: file.rows, reverse=True):
            key = file.table, file.path
            task: Task = [(*key, f"{location(lake, file.table)}/{file.path}", key in searched)]
            made[key] = pool.submit(reports, task, asked)
        yield Ahead(asked, made)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
