"""Reports on the files that a run has written, made while it computes metrics: the validation behind them takes those, and reads the rest.

Metrics are for the most part queries of DuckDB that leave a core idle; reports are numpy and Arrow, which leave the interpreter to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from stompcap.lake.paths import DataFile, location
from stompcap.quality import clear_secrets
from stompcap.quality.profiles import DRIVER_ROWS, Key
from stompcap.quality.report import Asked, Report, Task, reports

THREADS = 2
"""Threads that read beside the queries, each a row group."""


class Ahead:
    """The reports of one run, made or being made; `close` gives up those that nobody waited for."""

    def __init__(self, lake: str) -> None:
        self._lake = lake
        self._asked = Asked()
        self._made: dict[Key, Future[list[Report]]] = {}
        self._pool = ThreadPoolExecutor(THREADS, "reports")

    def begin(self, files: Sequence[DataFile]) -> None:
        """Begin with the reports on files that were committed; not of more rows than threads read, for Spark makes these."""
        if not files or sum(file.rows for file in files) > DRIVER_ROWS:
            return
        self._asked = Asked.of_lake(self._lake)
        rows = {table: {file.path: file.rows for file in files if file.table == table} for table in self._asked.searched}
        searched = {(table, name) for table, some in rows.items() for name in clear_secrets.chosen(some)}
        for file in sorted(files, key=lambda file: file.rows, reverse=True):
            key = file.table, file.path
            task: Task = [(*key, f"{location(self._lake, file.table)}/{file.path}", key in searched)]
            self._made[key] = self._pool.submit(reports, task, self._asked)

    def of(self, asked: Asked, files: Iterable[Key]) -> Iterator[Report]:
        """Those on some files, if they were asked for the same, when they are made; what failed is raised."""
        if asked == self._asked:
            for key in files:
                if key in self._made:
                    yield from self._made[key].result()

    def close(self) -> None:
        """End; what has not begun is not made."""
        self._pool.shutdown(wait=False, cancel_futures=True)
