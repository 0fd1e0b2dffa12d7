"""A run: from captures to metrics, stage by stage or in one pass, each batch of captures admitted once.

`run` makes bronze, silver and each session's metrics in one pass over the captures; a stage on its own does what is pending. The
tables come out the same. Within a batch every table is committed under the batch's name, the table that admits it last.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines import bronze, gold, ledger, silver
from stompcap.capture import Known, changed
from stompcap.capture.find import find
from stompcap.errors import CaptureError, StompcapError
from stompcap.spark import lake as lakes
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stompcap.capture import Survey
    from stompcap.options import Options
    from stompcap.spark.lake import DataFile

STAGES = ("extract", "decode", "correlate", "metrics", "validate")


@dataclass
class Result:
    """What a run did: the object that `--json` prints."""

    run_id: str
    lake: str
    status: str = "done"
    captures: list[dict[str, str | None]] = field(default_factory=list)
    stages: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failed_expectations: int = 0

    def public(self) -> dict[str, Any]:
        """The promised keys alone."""
        names = ("run_id", "lake", "status", "captures", "stages", "rows", "warnings")
        return {name: value for name, value in asdict(self).items() if name in names}


class Run:
    """One run over a lake: its session, its options and what it has done so far."""

    def __init__(
        self,
        spark: Callable[[], SparkSession],
        lake: str,
        options: Options,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spark = spark
        self.lake = lake
        self.options = options
        self.progress = progress
        self.result = Result(uuid.uuid4().hex[:12], lake)

    @property
    def spark(self) -> SparkSession:
        """The session, started when first needed: a run with nothing to do starts none."""
        return self._spark()

    @contextmanager
    def stage(self, name: str, inputs: Sequence[str]) -> Iterator[dict[str, int]]:
        """Time a stage and enter it into `runs`, done or failed; yields the row counts to fill."""
        started, clock = ledger.now(), time.monotonic()
        rows: dict[str, int] = {}
        try:
            yield rows
        except BaseException as error:
            line = str(error).strip().splitlines()[0][:500] if str(error).strip() else type(error).__name__
            ledger.record(self.lake, self.result.run_id, name, started, inputs, rows, line)
            raise
        ledger.record(self.lake, self.result.run_id, name, started, inputs, rows)
        self.result.stages.append({"name": name, "seconds": round(time.monotonic() - clock, 3)})
        for table, count in rows.items():
            self.result.rows[table] = self.result.rows.get(table, 0) + count

    def admit(self, files: Sequence[DataFile], batch: str, rows: dict[str, int], tables: Sequence[str]) -> None:
        """Commit the files of some tables under the name of their batch, whichever stage made them."""
        for table in tables:
            mine = [file for file in files if file.table == table]
            count = lakes.commit(self.lake, table, mine, [batch], self.result.run_id)
            if count:
                rows[table] = rows.get(table, 0) + count

    # -- extract ------------------------------------------------------------------------------------------------------------

    def extract(self, named: Sequence[str], *, whole: bool) -> None:
        """Captures to bronze; with `whole`, to silver and each session's metrics in the same pass."""
        paths = self._find(named)
        if not paths:
            self.result.warnings.append("no captures found: nothing to do")
            return
        known = ledger.known(self.lake)
        ids = {row["capture_id"] for row in known}
        self.progress(f"looking at {len(paths)} capture{'s' if len(paths) != 1 else ''}")
        found = bronze.survey(self.spark, paths, self.options, known)
        for problem in found.refused:
            self._refuse(problem.path, problem.remedy)
        self.result.warnings += [f"{path}: empty: nothing to do" for path in found.empty]
        for one in found.captures:
            row = one.row
            status = row["status"] if bronze.is_new(one, ids) else "known"
            self.result.captures.append({"path": row["path"], "capture_id": row["capture_id"], "status": status})
            if bronze.is_new(one, ids) and changed(row, self._before(row["path"], known)):
                says = "is not the file that was read under this name before, or no longer begins so; taken as another capture"
                self.result.warnings.append(f"{row['path']}: {says}")
            if row["damage"]:
                self.result.warnings.append(f"{row['path']}: {row['status']}: {row['damage']}")
        new = bronze.ranked(found.captures, ids)
        if new:
            self._extract(new, whole=whole)

    def _before(self, path: str, known: Sequence[dict[str, Any]]) -> list[Known]:
        """What the lake has of a file of this path."""
        mine = [row for row in known if (row["path"], row["source"]) == (path, self.options.source)]
        return [Known(row["capture_id"], row["used_octets"], row["used_sha256"]) for row in mine]

    def _extract(self, captures: Sequence[Survey], *, whole: bool) -> None:
        batch = bronze.batch_of(captures, self.options.source)
        outputs = bronze.TABLES + (("frames", *silver.SESSION_TABLES, *gold.SESSION_TABLES) if whole else ())
        self.progress(f"reading {sum(split.octets for one in captures for split in one.splits) / 1e6:,.1f} MB")
        with self.stage("extract", [one.row["capture_id"] for one in captures]) as rows:
            files = bronze.extract(self.spark, self.lake, captures, batch, self.options, outputs)
            self.admit(files, batch, rows, outputs)
            table = pa.Table.from_pylist(
                [{**one.row, "batch_id": batch, "run_id": self.result.run_id} for one in captures], schema=TABLES["captures"].arrow
            )
            rows["captures"] = lakes.append(self.lake, "captures", table, [batch], self.result.run_id)
        if whole:
            from stompcap.quality import prepare

            prepare()  # Spark works on the metrics while the driver waits
            self.aggregate([batch], {})

    # -- the stages that read the lake --------------------------------------------------------------------------------------

    def decode(self) -> None:
        """Frames of every batch that has none yet."""
        for batch in ledger.pending(self.lake, ["frames"]):
            self.progress("decoding")
            with self.stage("decode", [batch]) as rows:
                files = silver.decode(self.spark, self.lake, [batch], self.options)
                self.admit(files, batch, rows, ["frames"])

    def correlate(self) -> None:
        """Sessions and what belongs to them, of every batch that was decoded but not correlated."""
        for batch in self._ready(silver.SESSION_TABLES, ["frames"], "decode"):
            self.progress("correlating")
            with self.stage("correlate", [batch]) as rows:
                self._sessions(batch, silver.SESSION_TABLES, rows)

    def metrics(self, tables: Sequence[str] = gold.TABLES) -> None:
        """The metrics named, of every batch that was correlated and lacks them; then the aggregates over all."""
        wanted = [table for table in gold.SESSION_TABLES if table in tables]
        batches = self._ready(tables, silver.SESSION_TABLES, "correlate")
        rows: dict[str, int] = {}
        for batch in batches:
            self.progress("judging sessions")
            self._sessions(batch, wanted, rows)
        if batches:
            self.aggregate(batches, rows, tables)

    def _ready(self, tables: Sequence[str], needed: Sequence[str], stage: str) -> list[str]:
        """The batches that lack some of the tables and have all those needed for them; says so of others."""
        waiting = set(ledger.pending(self.lake, needed))
        if waiting:
            self.result.warnings.append(f"captures that have not been through {stage} are left out; run stompcap {stage} first")
        return [batch for batch in ledger.pending(self.lake, tables) if batch not in waiting]

    def _sessions(self, batch: str, tables: Sequence[str], rows: dict[str, int]) -> None:
        """Compute and admit tables made session by session."""
        order = ledger.captures(self.lake)
        self.admit(silver.correlate(self.spark, self.lake, [batch], order, self.options, tables), batch, rows, tables)

    def aggregate(self, batches: Sequence[str], written: dict[str, int], tables: Sequence[str] = gold.TABLES) -> None:
        """Rewrite the tables that sum up all sessions."""
        from stompcap.rules import catalogue_table

        self.progress("computing metrics")
        with self.stage("metrics", batches) as rows:
            rows.update(written)
            run_id = self.result.run_id
            lakes.overwrite_together(gold.aggregates(self.spark, self.lake, tables), self.lake, run_id)
            if "rules" in tables:
                rows["rules"] = lakes.replace(self.lake, "rules", catalogue_table(self.options.settings), run_id)
            for table in tables:
                if table not in gold.SESSION_TABLES:
                    lakes.commit(self.lake, table, [], batches, run_id)

    def validate(self) -> None:
        """Check what is new against the expectations; results go to quality_results and Data Docs."""
        from stompcap.quality import validate

        batches = ledger.pending(self.lake, ["quality_results"])
        if not batches:
            return
        # Data Docs are files for a browser: beside the tables where these are files too
        docs = None if "://" in self.lake else os.path.join(self.lake, "_data_docs")
        self.progress("checking expectations")
        with self.stage("validate", batches) as rows:
            results = validate(self.spark, self.lake, self.result.run_id, docs=docs)
            rows["quality_results"] = lakes.append(self.lake, "quality_results", results, batches, self.result.run_id)
            failed = [row for row in results.to_pylist() if not row["success"]]
        self.result.failed_expectations = sum(row["severity"] == "error" for row in failed)
        for row in failed:
            column = f".{row['column_name']}" if row["column_name"] else ""
            self.result.warnings.append(f"quality: {row['table_name']}{column}: {row['expectation']} does not hold")

    # -- inputs -------------------------------------------------------------------------------------------------------------

    def _find(self, named: Sequence[str]) -> list[str]:
        """The files meant; those that do not exist are refused, the rest goes on."""
        found: dict[str, None] = {}
        for name in named:
            try:
                found.update(dict.fromkeys(find([name])))
            except CaptureError as error:
                self._refuse(error.path, error.remedy)
        return list(found)

    def _refuse(self, path: str, remedy: str) -> None:
        self.result.refused.append(f"{path}: {remedy}")
        self.result.captures.append({"path": path, "capture_id": None, "status": "unreadable"})
        self.result.warnings.append(f"{path}: {remedy}")


def execute(job: Run, stages: Sequence[str], named: Sequence[str] = (), metric_tables: Sequence[str] | None = None) -> Result:
    """Do the named stages on a lake, made where it is missing and held while it lasts; raises StompcapError.

    `metric_tables` narrows the stage metrics to some of its tables.
    """
    if "extract" in stages:
        lakes.create(job.lake)
    lakes.demand(job.lake)
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
                job.validate()
        except StompcapError:
            job.result.status = "failed"
            raise
    if job.result.refused:
        job.result.status = "incomplete"
    return job.result
