"""A run: from captures to metrics, stage by stage or in one pass, each batch of captures once.

`run` makes bronze, silver and each session's metrics in one pass over the captures; a stage on its own does what is pending. The
tables come out the same. Within a batch every table is committed under the batch's name, the table that completes it last.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pipelines.ingest import ledger, silver
from pipelines.ingest.open_rows import of_stage
from pipelines.ingest.recorded_options import given_options
from pipelines.ingest.unfinished import open_prefixes
from pipelines.intake import intake
from pipelines.locking import lock
from pipelines.metrics import gold
from pipelines.metrics.aggregates import aggregate
from pipelines.validation.validate import validate
from stompcap import logs
from stompcap.errors import EnvironmentProblem, StompcapError
from stompcap.lake import damage, open_tables, other_writers
from stompcap.lake import tables as lakes
from stompcap.lake.commits import half_brought
from stompcap.lake.paths import OPEN
from stompcap.quality.ahead import Ahead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.job import Job
    from pipelines.recompute.reprocess import Wanted
    from pipelines.result import Result

STAGES = ("extract", "decode", "correlate", "metrics", "validate")


def execute(
    job: Job,
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
    with open_tables.keep_open(job.lake):
        lakes.create(job.lake)
        with lock.held(job.lake, wait_s, job.progress):
            lakes.bring_up(job.lake)
            damage.demand_whole(job.lake)
            if moved := other_writers.take_out_open_rows(job.lake):
                job.result.warnings.append(str(moved))
            with logs.about(run_id=job.result.run_id, lake=job.lake), closing(Ahead(job.lake)) as ahead:
                job.ahead = ahead if "validate" in stages else None
                logs.tell("run", "run begins", stages=list(stages))
                result = _execute(job, stages, named, metric_tables, whole, wanted)
                logs.tell("run", "run ends", status=result.status, seconds=result.seconds, rows=result.rows, captures=len(result.captures))
            return result


def _execute(
    job: Job, stages: Sequence[str], named: Sequence[str], metric_tables: Sequence[str] | None, whole: bool, wanted: Wanted | None
) -> Result:
    in_one_pass = "extract" in stages and "metrics" in stages
    try:
        if "extract" in stages:
            intake(job, named, whole=in_one_pass, wanted=wanted)
        if "decode" in stages:
            _decode(job, alone=not in_one_pass)
        if "correlate" in stages:
            _correlate(job, alone=not in_one_pass)
        if "metrics" in stages:
            _metrics(job, metric_tables or gold.TABLES, alone=not in_one_pass)
        if "validate" in stages:
            validate(job, whole=whole)
    except StompcapError:
        job.result.status = "failed"
        raise
    if not job.result.stages:
        job.result.lap("start")
    if job.result.refused:
        job.result.status = "incomplete"
    return job.result


def _decode(job: Job, *, alone: bool) -> None:
    """Make the frames of every batch that has none yet. `alone`: the stage was asked for, not a run that has done it already."""
    batches = ledger.pending(job.lake, ["frames"])
    _warn_of_unused(job, "decode", batches, alone=alone)
    for batch in batches:
        demand_settled(job.lake, "streams", "raw_frames")
        job.progress.begin("decoding")
        with job.stage("decode", [batch]) as rows:
            prefix = _open_prefix(job, batch)
            job.commit(silver.decode(job, [batch], prefix), batch, rows, ["frames"], of_stage(job, batch, prefix))


def _correlate(job: Job, *, alone: bool) -> None:
    """Make sessions and what belongs to them, of every batch that was decoded but not correlated."""
    batches = _ready(job, silver.SESSION_TABLES, ["frames"], "decode")
    _warn_of_unused(job, "correlate", batches, alone=alone)
    for batch in batches:
        job.progress.begin("correlating")
        with job.stage("correlate", [batch]) as rows:
            _by_session(job, batch, silver.SESSION_TABLES, rows)


def _metrics(job: Job, tables: Sequence[str], *, alone: bool) -> None:
    """Make the metrics named, of every batch that was correlated and lacks them; then the aggregates over all."""
    wanted = [table for table in gold.SESSION_TABLES if table in tables]
    batches = _ready(job, tables, silver.SESSION_TABLES, "correlate")
    _warn_of_unused(job, "metrics", batches, alone=alone)
    rows: dict[str, int] = {}
    for batch in batches:
        job.progress.begin("judging sessions")
        _by_session(job, batch, wanted, rows)
    if batches:
        aggregate(job, batches, rows, tables)


def demand_settled(lake: str, *tables: str) -> None:
    """Raise EnvironmentProblem where a run was killed between two commits of a table that a stage reads."""
    if half := [table for table in tables if half_brought(lake, table)]:
        says = f"{lake}: a run was killed while it committed table {half[0]}"
        raise EnvironmentProblem(f"{says}; finish it first, with any stompcap run CAPTURE... --lake {lake}")


def _ready(job: Job, tables: Sequence[str], needed: Sequence[str], stage: str) -> list[str]:
    """The batches that lack some of the tables and have all those needed for them; warns of others."""
    waiting = set(ledger.pending(job.lake, needed))
    if waiting:
        job.result.warnings.append(f"captures that have not been through {stage} are left out; run stompcap {stage} first")
    return [batch for batch in ledger.pending(job.lake, tables) if batch not in waiting]


def _warn_of_unused(job: Job, stage: str, batches: Sequence[str], *, alone: bool) -> None:
    """Warn where options were given for a stage that finds nothing to do."""
    options = given_options(job.options, [stage])
    if options and not batches and alone:
        words = ", ".join(options.values())
        job.result.warnings.append(f"{stage}: nothing is new, and {words} changes nothing in rows that are there; name another --lake")


def _by_session(job: Job, batch: str, tables: Sequence[str], rows: dict[str, int]) -> None:
    """Compute and commit those of some tables, made session by session, that lack a batch."""
    lacking = [table for table in tables if not lakes.has_committed(job.lake, table, batch)]
    if not lacking:
        return
    demand_settled(job.lake, "streams", "raw_frames", "frames", "segments", "stalls")
    prefix = _open_prefix(job, batch)
    files = silver.correlate(job, [batch], ledger.captures(job.lake), prefix, lacking)
    job.commit(files, batch, rows, lacking, of_stage(job, batch, prefix))


def _open_prefix(job: Job, batch: str) -> str:
    """The prefix of a batch's files of open streams."""
    return open_prefixes(job.lake).get(batch, (OPEN, False))[0]
