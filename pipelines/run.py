"""A run: from captures to metrics, stage by stage or in one pass, each batch of captures admitted once.

`run` makes bronze, silver and each session's metrics in one pass over the captures; a stage on its own does what is pending. The
tables come out the same. Within a batch every table is committed under the batch's name, the table that admits it last.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipelines import bronze, gold, ledger, silver
from pipelines.chosen import chosen, differing
from pipelines.result import Result
from pipelines.survey import Refused, survey
from pipelines.unread import unread
from stompcap.capture import Known, changed
from stompcap.capture.find import find
from stompcap.errors import StompcapError
from stompcap.progress import Progress
from stompcap.spark import lake as lakes
from stompcap.spark.session import LazySession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stompcap.capture import Survey
    from stompcap.options import Options
    from stompcap.spark.places import DataFile

COMMITS_AT_ONCE = 4
STAGES = ("extract", "decode", "correlate", "metrics", "validate")
WHOLE = ("decode", "correlate", "metrics")
"""Stages that a run from captures to metrics does in the same pass as extract."""


class Run:
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
        self._whole = False
        self._entered = self._told = time.monotonic() if entered is None else entered

    def lap(self, name: str) -> None:
        """Enter a part of the run into its result: the seconds since the part before it ended, and those since the run began."""
        now = time.monotonic()
        self.result.stages.append({"name": name, "seconds": round(now - self._told, 3)})
        self.result.seconds = round(now - self._entered, 3)
        self._told = now

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

    def admit(self, files: Sequence[DataFile], batch: str, rows: dict[str, int], tables: Sequence[str]) -> None:
        """Commit the files of some tables under the name of their batch, whichever stage made them; each table by itself."""

        def commit(table: str) -> int:
            mine = [file for file in files if file.table == table]
            return lakes.commit(self.lake, table, mine, [batch], self.result.run_id)

        with ThreadPoolExecutor(COMMITS_AT_ONCE) as pool:
            for table, count in zip(tables, pool.map(commit, tables), strict=True):
                if count:
                    rows[table] = rows.get(table, 0) + count

    # -- extract ------------------------------------------------------------------------------------------------------------

    def extract(self, named: Sequence[str], *, whole: bool) -> None:
        """Captures to bronze; with `whole`, to silver and each session's metrics in the same pass."""
        self._whole = whole
        paths = self._find(named)
        if not paths:
            self.result.warnings.append("no captures found: nothing to do")
            return
        known = ledger.known(self.lake)
        ids = {row["capture_id"] for row in known}
        found = survey(paths, self.options, known, self.spark, self.progress)
        self._refuse(found.refused)
        self.result.warnings += [f"{path}: empty: nothing to do" for path in found.empty]
        named_again = [again.row | {"path": again.path} for again in found.again]
        for row in named_again:
            self.result.tell(row["path"], row, "known")
        for one in found.captures:
            row, is_new = one.row, bronze.is_new(one, ids)
            if is_new and changed(row, self._before(row["path"], known)):
                says = "is not the file that was read under this name before, or no longer begins so; taken as another capture"
                self.result.warnings.append(f"{row['path']}: {says}")
            self.result.tell(row["path"], row, row["status"] if is_new else "known")
            named_again += [before | {"path": row["path"]} for before in known if before["capture_id"] == row["capture_id"]]
        if named_again:
            stages = STAGES if whole else ("extract",)
            self.result.warnings += differing(chosen(self.options, stages), stages, named_again, self.lake)
        self.result.captures.sort(key=lambda capture: capture["path"] or "")
        new = bronze.ranked(found.captures, ids)
        if new:
            self._extract(new, whole=whole)

    def _before(self, path: str, known: Sequence[dict[str, Any]]) -> list[Known]:
        """What the lake has of a file of this path."""
        mine = [row for row in known if (row["path"], row["source"]) == (path, self.options.source)]
        return [Known(row["capture_id"], row["used_octets"], row["used_sha256"]) for row in mine]

    def _extract(self, captures: Sequence[Survey], *, whole: bool) -> None:
        outputs = bronze.TABLES + (("frames", *silver.SESSION_TABLES, *gold.SESSION_TABLES) if whole else ())
        if whole:
            from stompcap.quality import prepare

            prepare()
        self.progress.begin("starting Spark")
        self.spark()
        inputs = [one.row["capture_id"] for one in captures]
        with self.stage("extract", inputs, within=WHOLE if whole else ()) as rows:
            made = bronze.extract(self.spark, self.lake, captures, self.options, outputs, self.progress)
            inputs[:] = [one.row["capture_id"] for one in made.captures]  # the options of the others are those they are read with later
            if made.captures:
                self.admit(made.files, made.batch, rows, outputs)
                rows["captures"] = ledger.enter(self.lake, [one.row for one in made.captures], made.batch, self.result.run_id)
        self._refuse(made.refused)
        if made.captures:
            self.result.warnings += unread(self.lake, made.batch, self.options.ports, self.spark)
            if whole:
                self.aggregate([made.batch], {})

    # -- the stages that read the lake --------------------------------------------------------------------------------------

    def decode(self) -> None:
        """Frames of every batch that has none yet."""
        batches = ledger.pending(self.lake, ["frames"])
        self._without_use("decode", batches)
        for batch in batches:
            self.progress.begin("decoding")
            with self.stage("decode", [batch]) as rows:
                files = silver.decode(self.spark(), self.lake, [batch], self.options)
                self.admit(files, batch, rows, ["frames"])

    def correlate(self) -> None:
        """Sessions and what belongs to them, of every batch that was decoded but not correlated."""
        batches = self._ready(silver.SESSION_TABLES, ["frames"], "decode")
        self._without_use("correlate", batches)
        for batch in batches:
            self.progress.begin("correlating")
            with self.stage("correlate", [batch]) as rows:
                self._sessions(batch, silver.SESSION_TABLES, rows)

    def metrics(self, tables: Sequence[str] = gold.TABLES) -> None:
        """The metrics named, of every batch that was correlated and lacks them; then the aggregates over all."""
        wanted = [table for table in gold.SESSION_TABLES if table in tables]
        batches = self._ready(tables, silver.SESSION_TABLES, "correlate")
        self._without_use("metrics", batches)
        rows: dict[str, int] = {}
        for batch in batches:
            self.progress.begin("judging sessions")
            self._sessions(batch, wanted, rows)
        if batches:
            self.aggregate(batches, rows, tables)

    def _ready(self, tables: Sequence[str], needed: Sequence[str], stage: str) -> list[str]:
        """The batches that lack some of the tables and have all those needed for them; says so of others."""
        waiting = set(ledger.pending(self.lake, needed))
        if waiting:
            self.result.warnings.append(f"captures that have not been through {stage} are left out; run stompcap {stage} first")
        return [batch for batch in ledger.pending(self.lake, tables) if batch not in waiting]

    def _without_use(self, stage: str, batches: Sequence[str]) -> None:
        """Warn where options were given for a stage that finds nothing to do."""
        given = chosen(self.options, [stage])
        if given and not batches and not self._whole:
            words = ", ".join(given.values())
            self.result.warnings.append(f"{stage}: nothing is new, and {words} changes nothing in rows that are there; name another --lake")

    def _sessions(self, batch: str, tables: Sequence[str], rows: dict[str, int]) -> None:
        """Compute and admit tables made session by session."""
        order = ledger.captures(self.lake)
        self.admit(silver.correlate(self.spark(), self.lake, [batch], order, self.options, tables), batch, rows, tables)

    def aggregate(self, batches: Sequence[str], written: dict[str, int], tables: Sequence[str] = gold.TABLES) -> None:
        """Rewrite the tables that sum up all sessions."""
        from stompcap.rules import catalogue_table

        self.progress.begin("computing metrics")
        with self.stage("metrics", batches) as rows:
            rows.update(written)
            run_id = self.result.run_id
            for name, table in gold.aggregates(self.lake, tables, self.spark).items():
                rows[name] = lakes.replace(self.lake, name, table, run_id)
            if "rules" in tables:
                rows["rules"] = lakes.replace(self.lake, "rules", catalogue_table(self.options.settings), run_id)
            for name in tables:
                if name not in gold.SESSION_TABLES:
                    lakes.commit(self.lake, name, [], batches, run_id)

    def validate(self, *, whole: bool = False) -> None:
        """Check the lake against the expectations, if something of it is new or the `whole` is asked for.

        Results go to quality_results and, where the lake is files, to a page beside the tables. What did not hold fails until it does.
        """
        from stompcap.quality import failure, last

        batches = ledger.pending(self.lake, ["quality_results"])
        entered, results = last(self.lake)
        failed = [row for row in results if not row["success"] and row["severity"] == "error"]
        stands = ""
        if whole or batches:
            results = self._judge(batches, 0 if whole or failed else entered)
            failed = [row for row in results if not row["success"]]
        elif failed:
            stands = f" (run {results[0]['run_id']} found so; stompcap validate looks again)"
        self.result.failed_expectations = sum(row["severity"] == "error" for row in failed)
        self.result.warnings += [f"quality: {failure(row)}{stands}" for row in failed]
        self.result.data_docs = docs if results and (docs := data_docs(self.lake)) and os.path.exists(docs) else None

    def _judge(self, batches: Sequence[str], since: int) -> list[dict[str, Any]]:
        """The results of a validation, entered; batches that have been through all stages are done with."""
        from stompcap.quality import validate
        from stompcap.report.checks import write_checks

        self.progress.begin("checking expectations")
        with self.stage("validate", batches) as rows:
            waiting = ledger.pending(self.lake, (*bronze.TABLES, "frames", *silver.SESSION_TABLES, *gold.TABLES))
            run_id = self.result.run_id
            results = validate(self.spark, self.lake, run_id, since=since)
            units = [*(batch for batch in batches if batch not in waiting), f"{run_id}:validate"]
            rows["quality_results"] = lakes.append(self.lake, "quality_results", results, units, run_id)
            told: list[dict[str, Any]] = results.to_pylist()
            if docs := data_docs(self.lake):
                write_checks(self.lake, docs, told)
        return told

    # -- inputs -------------------------------------------------------------------------------------------------------------

    def _find(self, named: Sequence[str]) -> list[str]:
        """The files meant; those that do not exist are refused, the rest goes on."""
        return find(named, lambda error: self._refuse([Refused.of(error)]))

    def _refuse(self, problems: Sequence[Refused]) -> None:
        """Say what cannot be read; captures among it get their row, and are looked at again by the next run."""
        for problem in problems:
            self.result.refuse(problem)
        rows = [problem.row for problem in problems if problem.row]
        if rows:
            entered = ledger.refuse(self.lake, rows, self.result.run_id)
            self.result.rows["captures"] = self.result.rows.get("captures", 0) + entered


def data_docs(lake: str) -> str | None:
    """Where the page of a lake's last validation lies: beside the tables where these are files, for it is one for a browser."""
    return os.path.join(lake, "_data_docs", "index.html") if lakes.is_local(lake) else None


def execute(
    job: Run, stages: Sequence[str], named: Sequence[str] = (), metric_tables: Sequence[str] | None = None, *, whole: bool = False
) -> Result:
    """Do the named stages on a lake, made where it is missing and held while it lasts; raises StompcapError.

    `metric_tables` narrows the stage metrics to some of its tables; `whole` has the stage validate judge the lake though nothing is new.
    """
    if "extract" not in stages:
        lakes.demand(job.lake)
    lakes.create(job.lake)
    with ledger.held(job.lake):
        try:
            if "extract" in stages:
                job.extract(named, whole="metrics" in stages)
            if "decode" in stages:
                job.decode()
            if "correlate" in stages:
                job.correlate()
            if "metrics" in stages:
                job.metrics(metric_tables or gold.TABLES)
            if "validate" in stages:
                job.validate(whole=whole)
        except StompcapError:
            job.result.status = "failed"
            raise
    if not job.result.stages:
        job.lap("start")
    if job.result.refused:
        job.result.status = "incomplete"
    return job.result
