"""A run: from captures to metrics, stage by stage or in one pass, each batch of captures admitted once.

`run` makes bronze, silver and each session's metrics in one pass over the captures; a stage on its own does what is pending. The
tables come out the same. Within a batch every table is committed under the batch's name, the table that admits it last.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from pipelines import bronze, gold, ledger, lock, silver
from pipelines.aggregates import refresh
from pipelines.chosen import chosen, differing
from pipelines.result import Result
from pipelines.survey import Refused, survey
from pipelines.unfinished import Unfinished, begin, partly_in, read_again, replaced, unfinished
from pipelines.unread import unread
from pipelines.validation import validate
from pipelines.work import Work
from stompcap.capture import Known, changed
from stompcap.capture.find import find
from stompcap.errors import StompcapError
from stompcap.spark import lake as lakes
from stompcap.spark import open_tables
from stompcap.spark.places import OPEN, open_files

if TYPE_CHECKING:
    from stompcap.capture import Survey

STAGES = ("extract", "decode", "correlate", "metrics", "validate")
WHOLE = ("decode", "correlate", "metrics")
"""Stages that a run from captures to metrics does in the same pass as extract."""


class Run(Work):
    """One run over a lake, by its stages."""

    _whole = False

    # -- extract ------------------------------------------------------------------------------------------------------------

    def extract(self, named: Sequence[str], *, whole: bool) -> None:
        """Captures to bronze; with `whole`, to silver and each session's metrics in the same pass."""
        self._whole = whole
        for batch in unfinished(self.lake):
            self._finish(batch)
        paths = self._find(named)
        if not paths:
            self.result.warnings.append("no captures found: nothing to do")
            return
        known = ledger.known(self.lake)
        ids = {row["capture_id"] for row in known}
        found = survey(paths, self.options, known, self.spark, self.progress)
        self.refuse(found.refused)
        self.result.warnings += [f"{path}: empty: nothing to do" for path in found.empty]
        named_again = [again.row | {"path": again.path} for again in found.again]
        for row in named_again:
            self.result.enter(row["path"], row, "known")
        for one in found.captures:
            row, is_new = one.row, bronze.is_new(one, ids)
            if is_new and changed(row, self._before(row["path"], known)):
                says = "is not the file that was read under this name before, or no longer begins so; taken as another capture"
                self.result.warnings.append(f"{row['path']}: {says}")
            self.result.enter(row["path"], row, row["status"] if is_new else "known")
            named_again += [before | {"path": row["path"]} for before in known if before["capture_id"] == row["capture_id"]]
        if named_again:
            stages = STAGES if whole else ("extract",)
            self.result.warnings += differing(chosen(self.options, stages), stages, named_again, self.lake)
        self.result.captures.sort(key=lambda capture: capture["path"] or "")
        new = bronze.ranked(found.captures, ids)
        if new:
            self.take_in(new, bronze.before(self.lake, self.options, known), whole=whole)

    def _finish(self, batch: Unfinished) -> None:
        """Take in a batch that a run had begun when it was killed, as that run would have."""
        known = ledger.known(self.lake)
        captures, wrong = read_again(batch, known)
        if wrong:
            if some := partly_in(self.lake, batch):
                says = f"was killed while it committed, and only {', '.join(some)} have its rows; to finish it, put these files back"
                self.result.warnings.append(f"run {batch.run_id} {says}: {'; '.join(wrong)}")
            return
        self.result.warnings.append(f"run {batch.run_id} was killed while it committed: what it had begun is finished first")
        job = copy(self)
        job.options = batch.options
        past = bronze.before(self.lake, batch.options, known, batch.state_version)
        job.take_in(bronze.ranked(captures, ()), past, whole=self._whole)

    def _before(self, path: str, known: Sequence[dict[str, Any]]) -> list[Known]:
        """What the lake has of a file of this path."""
        mine = [row for row in known if (row["path"], row["source"]) == (path, self.options.source)]
        return [Known(row["capture_id"], row["used_octets"], row["used_sha256"]) for row in mine]

    def take_in(self, captures: Sequence[Survey], past: bronze.Before, *, whole: bool) -> None:
        """Make and commit the rows of a batch of captures; with `whole` up to each session's metrics."""
        outputs = bronze.TABLES + (("frames", *silver.SESSION_TABLES, *gold.SESSION_TABLES) if whole else ())
        if whole:
            from stompcap.quality import prepare

            prepare()
        self.progress.begin("starting Spark")
        self.spark()
        inputs = [one.row["capture_id"] for one in captures]
        with self.stage("extract", inputs, within=WHOLE if whole else ()) as rows:
            made = bronze.extract(self.spark, self.lake, captures, past, self.options, outputs, self.progress)
            inputs[:] = [one.row["capture_id"] for one in made.captures]  # the options of the others are those they are read with later
            if made.captures:
                begin(self.lake, self.result.run_id, made.batch, made.captures, self.options, past.version)
                self.admit(made.files, made.batch, rows, outputs, open_files(self.options))
                rows["captures"] = ledger.enter(self.lake, [one.row for one in made.captures], made.batch, self.result.run_id)
        self.refuse(made.refused)
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
                prefix, latest = self._replaced(batch)
                files = silver.decode(self.spark(), self.lake, [batch], prefix, self.options)
                self.admit(files, batch, rows, ["frames"], prefix if latest else "")

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
        """The batches that lack some of the tables and have all those needed for them; warns of others."""
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
        prefix, latest = self._replaced(batch)
        order = ledger.captures(self.lake)
        files = silver.correlate(self.spark(), self.lake, [batch], order, prefix, self.options, tables)
        self.admit(files, batch, rows, tables, prefix if latest else "")

    def _replaced(self, batch: str) -> tuple[str, bool]:
        """The prefix of a batch's files of open streams, and whether its stage replaces those that are there: no later batch has any."""
        return replaced(self.lake).get(batch, (OPEN, False))

    def aggregate(self, batches: Sequence[str], written: dict[str, int], tables: Sequence[str] = gold.TABLES) -> None:
        """Make the tables current that sum up all sessions."""
        from stompcap.rules import catalogue_table

        self.progress.begin("computing metrics")
        with self.stage("metrics", batches) as rows:
            rows.update(written)
            run_id = self.result.run_id
            for one in gold.AGGREGATES:
                if one.name in tables:
                    rows[one.name] = refresh(self.lake, one, batches, run_id, self.spark)
            if "rules" in tables:
                rows["rules"] = lakes.replace(self.lake, "rules", catalogue_table(self.options.settings), run_id)
                lakes.commit(self.lake, "rules", [], batches, run_id)

    # -- inputs -------------------------------------------------------------------------------------------------------------

    def _find(self, named: Sequence[str]) -> list[str]:
        """The files meant; those that do not exist are refused, the rest goes on."""
        return find(named, lambda error: self.refuse([Refused.of(error)]))



def execute(
    job: Run,
    stages: Sequence[str],
    named: Sequence[str] = (),
    metric_tables: Sequence[str] | None = None,
    *,
    whole: bool = False,
    wait_s: float = 0,
) -> Result:
    """Do the named stages on a lake, made where it is missing and held while it lasts; raises StompcapError.

    `metric_tables` narrows the stage metrics to some of its tables; `whole` has the stage validate judge the lake though nothing is new.
    `wait_s`: how long to wait for another run that holds the lake.
    """
    if "extract" not in stages:
        lakes.demand(job.lake)
    with open_tables.kept(job.lake):
        lakes.create(job.lake)
        return _execute(job, stages, named, metric_tables, whole, wait_s)


def _execute(
    job: Run, stages: Sequence[str], named: Sequence[str], metric_tables: Sequence[str] | None, whole: bool, wait_s: float
) -> Result:
    with lock.held(job.lake, wait_s, job.progress):
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
                validate(job, whole=whole)
        except StompcapError:
            job.result.status = "failed"
            raise
    if not job.result.stages:
        job.lap("start")
    if job.result.refused:
        job.result.status = "incomplete"
    return job.result
