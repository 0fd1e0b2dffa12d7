"""What a run carries from stage to stage: its session, its options, its result, and how stages enter what they did."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipelines.ingest import ledger
from pipelines.ingest.recorded_options import chosen
from pipelines.ingest.survey import Refused
from pipelines.locking import lock
from pipelines.result import Result
from stompcap.lake import removal
from stompcap.lake import tables as lakes
from stompcap.lake.commits import CommitInfo
from stompcap.progress import Progress
from stompcap.spark.session import LazySession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stompcap.lake.places import DataFile
    from stompcap.options import Options

COMMITS_AT_ONCE = 4


class Work:
    """One run over a lake: its session, its options and what it has done so far."""

    def __init__(
        self,
        spark: Callable[[], SparkSession],
        lake: str,
        options: Options,
        progress: Progress | None = None,
        entered: float | None = None,
    ) -> None:
        """`spark` makes or gives the session, which is asked for when first needed; `entered`: when the run began (time.monotonic)."""
        self.spark = spark if isinstance(spark, LazySession) else LazySession(spark)
        self.lake = lake
        self.options = options
        self.progress = progress or Progress()
        self.result = Result(uuid.uuid4().hex[:12], lake)
        self._entered = self._lapped = time.monotonic() if entered is None else entered

    def lap(self, name: str) -> None:
        """Enter a part of the run into its result: the seconds since the part before it ended, and those since the run began."""
        now = time.monotonic()
        self.result.stages.append({"name": name, "seconds": round(now - self._lapped, 3)})
        self.result.seconds = round(now - self._entered, 3)
        self._lapped = now

    @contextmanager
    def stage(self, name: str, inputs: Sequence[str], within: Sequence[str] = ()) -> Iterator[dict[str, int]]:
        """Time a stage and enter it into `runs`, done or failed; yields the row counts to fill. `within`: stages done in the same pass."""
        if not self.result.stages:
            self.lap("start")
        started = ledger.now()
        rows: dict[str, int] = {}
        options = chosen(self.options, (name, *within))
        try:
            yield rows
        except BaseException as error:
            line = str(error).strip().splitlines()[0][:500] if str(error).strip() else type(error).__name__
            ledger.record(self.lake, self.result.run_id, name, started, inputs, rows, options, line)
            raise
        ledger.record(self.lake, self.result.run_id, name, started, inputs, rows, options)
        self.lap(name)
        for table, count in rows.items():
            self.result.rows[table] = self.result.rows.get(table, 0) + count

    def admit(
        self, files: Sequence[DataFile], batch: str, rows: dict[str, int], tables: Sequence[str], replaced: str = "",
        gone: removal.Streams | None = None,
    ) -> None:
        """Commit the files of some tables under the name of their batch, whichever stage made them; each table by itself.

        Files whose names begin with `replaced`, if any, are replaced by them: they have rows of open streams that the batch goes on with.
        The rows of streams that are `gone` go with the same commit.
        """
        lock.demand(self.lake)

        def commit(table: str) -> int:
            mine = [file for file in files if file.table == table]
            if gone is not None:
                info = CommitInfo(self.result.run_id, (batch,))
                return removal.exchange(self.spark, self.lake, table, gone, mine, info, replaced)
            return lakes.commit(self.lake, table, mine, [batch], self.result.run_id, replaced)

        with ThreadPoolExecutor(COMMITS_AT_ONCE if gone is None else 1) as pool:
            for table, count in zip(tables, pool.map(commit, tables), strict=True):
                if count:
                    rows[table] = rows.get(table, 0) + count

    def refuse(self, problems: Sequence[Refused]) -> None:
        """Say what cannot be read; captures among it get their row, and are examined again by the next run."""
        for problem in problems:
            self.result.refuse(problem)
        rows = [problem.row for problem in problems if problem.row]
        if rows:
            entered = ledger.refuse(self.lake, rows, self.result.run_id)
            self.result.rows["captures"] = self.result.rows.get("captures", 0) + entered
