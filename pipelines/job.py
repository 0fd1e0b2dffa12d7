"""The record that a run hands from stage to stage: the lake, the options, the session, and what was done so far."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from pipelines.incidents.pace import Pace
from pipelines.ingest import ledger
from pipelines.ingest.recorded_options import given_options
from pipelines.locking import lock
from pipelines.result import Refused, Result
from stompcap import logs
from stompcap.lake import hash_key, removal
from stompcap.lake import tables as lakes
from stompcap.lake.commits import CommitInfo
from stompcap.progress import Progress
from stompcap.spark.session import LazySession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stompcap.lake.open_rows import OpenRows
    from stompcap.lake.paths import DataFile
    from stompcap.options import Options
    from stompcap.quality.ahead import Ahead

COMMITS_AT_ONCE = 4


class Job:
    """One run over a lake.

    Args:
        spark: makes or gives the session, which is asked for when first needed.
        lake, options, progress: where rows go, by which rules they are made, and who hears how far that is.
        began: when the run began (time.monotonic), if that was before now.
        uninterrupted: makes the context in which a signal has to wait. What a stage commits is within one, from its first commit to the
            end of the stage: a batch interrupted there would be whole with the next run, as after a kill, but most are committed in less
            than a second.
        pace: says when incidents are due; of a run of its own they always are.

    `ahead` begins with the reports on what is committed, for the validation behind, if there will be one.
    """

    def __init__(
        self,
        spark: Callable[[], SparkSession],
        lake: str,
        options: Options,
        progress: Progress | None = None,
        began: float | None = None,
        uninterrupted: Callable[[], AbstractContextManager[None]] = nullcontext,
        pace: Pace | None = None,
    ) -> None:
        self.spark = spark if isinstance(spark, LazySession) else LazySession(spark)
        self.lake = lake
        self.options = options
        self.progress = progress or Progress()
        self.result = Result(uuid.uuid4().hex[:12], lake, began=time.monotonic() if began is None else began)
        self.pace = pace or Pace()
        self.ahead: Ahead | None = None
        self._uninterrupted = uninterrupted
        self._commits: ExitStack | None = None

    @property
    def keyed(self) -> Options:
        """The options with the lake's key of hashes, as tasks need them that make frames."""
        return replace(self.options, hash_key=hash_key.of_lake(self.lake))

    def with_options(self, options: Options) -> Job:
        """The same run with other options, as where it finishes a batch that another run began."""
        other = copy(self)
        other.options = options
        return other

    @contextmanager
    def stage(self, name: str, inputs: Sequence[str], within: Sequence[str] = ()) -> Iterator[dict[str, int]]:
        """Time a stage and enter it into table runs, done or failed; yields the row counts to fill.

        `within` are the stages that are done in the same pass.
        """
        if not self.result.stages:
            self.result.lap("start")
        started = ledger.now()
        rows: dict[str, int] = {}
        options = given_options(self.options, (name, *within))
        with ExitStack() as self._commits, logs.about(run_id=self.result.run_id, lake=self.lake, stage=name):
            try:
                yield rows
            except BaseException as error:
                line = str(error).strip().splitlines()[0][:500] if str(error).strip() else type(error).__name__
                ledger.record(self.lake, self.result.run_id, name, started, inputs, rows, options, line)
                raise
            ledger.record(self.lake, self.result.run_id, name, started, inputs, rows, options)
            self.result.lap(name)
            logs.tell("run", "stage done", seconds=self.result.stages[-1]["seconds"], rows=dict(rows))
            for table, count in rows.items():
                self.result.rows[table] = self.result.rows.get(table, 0) + count

    def commit(
        self, files: Sequence[DataFile], batch: str, rows: dict[str, int], tables: Sequence[str],
        open_rows: Callable[[str], OpenRows] | None = None, removed: removal.Streams | None = None,
    ) -> None:
        """Commit the files of some tables under the name of their batch, each table by itself; `rows` get how many rows were added.

        `open_rows` says what becomes of the rows of open streams that a table has, in the same commit. The rows of the streams that are
        `removed` leave it.
        """
        lock.demand(self.lake)
        self.result.batches.append(batch)
        if self._commits is not None:
            self._commits.enter_context(self._uninterrupted())
            self._commits = None

        def commit(table: str) -> int:
            of_table = [file for file in files if file.table == table]
            changed = open_rows(table) if open_rows else None
            if removed is not None:
                info = CommitInfo(self.result.run_id, (batch,))
                return removal.exchange(self.spark, self.lake, table, removed, of_table, info, changed)
            return lakes.commit(self.lake, table, of_table, [batch], self.result.run_id, changed)

        with ThreadPoolExecutor(COMMITS_AT_ONCE if removed is None else 1) as pool:
            for table, count in zip(tables, pool.map(commit, tables), strict=True):
                if count:
                    rows[table] = rows.get(table, 0) + count
        if self.ahead is not None:
            self.ahead.begin(files)

    def refuse(self, problems: Sequence[Refused]) -> None:
        """Report what cannot be read. Captures among it get their row, and are examined again by the next run."""
        for problem in problems:
            self.result.refuse(problem)
        rows = [problem.row for problem in problems if problem.row]
        if rows:
            entered = ledger.refuse(self.lake, rows, self.result.run_id)
            self.result.rows["captures"] = self.result.rows.get("captures", 0) + entered
