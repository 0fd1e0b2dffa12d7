"""The stage validate: the lake against its expectations, and the page that shows the results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.ingest import capture_pairs, extract, ledger, silver
from pipelines.metrics import gold
from pipelines.validation import figures, killed_batches, versions
from stompcap.lake import tables as lakes
from stompcap.quality.catalogue import name_of
from stompcap.settings import Quality, Weight

if TYPE_CHECKING:
    from pipelines.job import Job


def validate(job: Job, *, whole: bool = False) -> None:
    """Check the lake against the expectations, if something of it is new or the `whole` is asked for, or if packets can grow too old.

    New is what a batch brought, any table with another version than the one that was judged last, whoever wrote it, and other suites of the
    user than those by which it was judged.
    Of a lake that is not asked for as a whole, only new files are read. Results go to quality_results and, where the lake is files, to a
    page beside the tables. What did not hold fails until it does.
    """
    from stompcap.quality import GOES_ON, ONE_POINT, failure, last

    batches = [*ledger.pending(job.lake, ["quality_results"]), *ledger.computed_again(job.lake, "quality_results")]
    since = ""
    quality = job.options.settings.quality
    new = batches or versions.validated(job.lake) != versions.current(job.lake)
    new = new or versions.judged_suites(job.lake) != versions.suites(quality.suites)
    if whole or new or quality.newest_packet_s is not None:
        results = _judge(job, batches, not whole)
        failed = [row for row in results if not row["success"]]
    else:
        results = weighed(last(job.lake), quality)
        failed = [row for row in results if not row["success"] and row["severity"] == "error"]
        since = f" (run {failed[0]['run_id']} found so; stompcap validate checks again)" if failed else ""
    job.result.failed_expectations = sum(row["severity"] == "error" for row in failed)
    reported = (GOES_ON, ONE_POINT)  # a run has warned of these
    job.result.warnings += [f"quality: {failure(row)}{since}" for row in failed if row["expectation"] not in reported]
    job.result.data_docs = docs if results and (docs := data_docs(job.lake)) and os.path.exists(docs) else None


def _judge(job: Job, batches: Sequence[str], new: bool) -> list[dict[str, Any]]:
    """The results of a validation, entered; batches that have been through all stages are done with."""
    from stompcap.quality import began_anew, user_suites, validate
    from stompcap.report.checks import write_checks

    job.progress.begin("checking expectations")
    with job.stage("validate", batches) as rows:
        waiting = ledger.pending(job.lake, (*extract.TABLES, *silver.TABLES, *gold.TABLES))
        run_id = job.result.run_id
        quality, before = job.options.settings.quality, versions.validated(job.lake)
        judged_versions = versions.current(job.lake) | {versions.SUITES: versions.suites(quality.suites)}
        with ThreadPoolExecutor(1, "figures") as pool:  # queries of DuckDB, beside what is Python
            made_again = pool.submit(figures.result, job.lake, run_id, job.spark, before if new else None)
            judged_tables = validate(job.spark, job.lake, run_id, new=new, quality=quality, ahead=job.ahead)
        gone = versions.rows_gone(job.lake, run_id, before)
        noted = [capture_pairs.result(job.lake, run_id), killed_batches.result(job.lake, run_id)]
        results = pa.concat_tables([judged_tables, *noted, made_again.result(), gone])
        if job.result.abandoned:
            results = pa.concat_tables([results, began_anew(run_id, job.result.abandoned)])
        judged = weighed(results.to_pylist(), quality)
        if quality.suites:
            judged += user_suites.results(job.lake, run_id, quality.suites, job.spark)
        results = pa.Table.from_pylist(judged, schema=results.schema)
        units = [*(batch for batch in batches if batch not in waiting), f"{run_id}:validate"]
        rows["quality_results"] = lakes.append(job.lake, "quality_results", results, units, run_id, judged_versions)
        if docs := data_docs(job.lake):
            write_checks(job.lake, docs, judged)
    return judged


def weighed(results: list[dict[str, Any]], quality: Quality) -> list[dict[str, Any]]:
    """Rows of `quality_results` without those of expectations that the user has switched off, with the severities that the user has set."""
    weights = dict(quality.expectations)
    named = [(weights.get(name_of(row["table_name"], row["column_name"], row["expectation"]), Weight()), row) for row in results]
    return [row | {"severity": weight.severity or row["severity"]} for weight, row in named if weight.enabled]


def data_docs(lake: str) -> str | None:
    """Where the page of a lake's last validation lies: beside the tables where these are files, for it is one for a browser."""
    return os.path.join(lake, "_data_docs", "index.html") if lakes.is_local(lake) else None
