"""A run: from captures to metrics, stage by stage or in one pass, each batch of captures admitted once.

`run` makes bronze, silver and each session's metrics in one pass over the captures; a stage on its own does what is pending. The
tables come out the same. Within a batch every table is committed under the batch's name, the table that admits it last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.ingest import ledger, silver
from pipelines.ingest.recorded_options import chosen
from pipelines.ingest.unfinished import open_prefixes
from pipelines.intake import Intake
from pipelines.locking import lock
from pipelines.metrics import gold
from pipelines.result import Result
from pipelines.validation import validate
from stompcap.errors import StompcapError
from stompcap.lake import open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.places import OPEN

if TYPE_CHECKING:
    from pipelines.recompute.reprocess import Wanted

STAGES = ("extract", "decode", "correlate", "metrics", "validate")


class Run(Intake):
    """One run over a lake, by its stages: extract, and those that read the lake."""

    def decode(self) -> None:
        """Frames of every batch that has none yet."""
        batches = ledger.pending(self.lake, ["frames"])
        self._without_use("decode", batches)
        for batch in batches:
            self.progress.begin("decoding")
            with self.stage("decode", [batch]) as rows:
                prefix, latest = self._open_prefix(batch)
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
        prefix, latest = self._open_prefix(batch)
        order = ledger.captures(self.lake)
        files = silver.correlate(self.spark(), self.lake, [batch], order, prefix, self.options, tables)
        self.admit(files, batch, rows, tables, prefix if latest else "")

    def _open_prefix(self, batch: str) -> tuple[str, bool]:
        """The prefix of a batch's files of open streams, and whether its stage replaces those that are there: no later batch has any."""
        return open_prefixes(self.lake).get(batch, (OPEN, False))


def execute(
    job: Run,
    stages: Sequence[str],
    named: Sequence[str] = (),
    metric_tables: Sequence[str] | None = None,
    *,
    whole: bool = False,
    wait_s: float = 0,
    wanted: Wanted | None = None,
) -> Result:
    """Do the named stages on a lake, made where it is missing and held while it lasts; raises StompcapError.

    `metric_tables` narrows the stage metrics to some of its tables; `whole` has the stage validate judge the lake though nothing is new.
    `wait_s`: how long to wait for another run that holds the lake. `wanted`: connections of the lake that are computed again.
    """
    if "extract" not in stages:
        lakes.demand(job.lake)
    with open_tables.kept(job.lake):
        lakes.create(job.lake)
        with lock.held(job.lake, wait_s, job.progress):
            lakes.bring_up(job.lake)
            return _execute(job, stages, named, metric_tables, whole, wanted)


def _execute(
    job: Run, stages: Sequence[str], named: Sequence[str], metric_tables: Sequence[str] | None, whole: bool, wanted: Wanted | None
) -> Result:
    try:
        if "extract" in stages:
            job.extract(named, whole="metrics" in stages, wanted=wanted)
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
