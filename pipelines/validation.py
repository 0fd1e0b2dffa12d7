"""The stage validate: the lake against its expectations, and the page that shows the results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipelines.ingest import bronze, capture_points, ledger, silver
from pipelines.metrics import gold
from pipelines.work import Work
from stompcap.lake import tables as lakes


def validate(work: Work, *, whole: bool = False) -> None:
    """Check the lake against the expectations, if something of it is new or the `whole` is asked for, or if packets can grow too old.

    Of a lake that is not asked for as a whole, only new files are read. Results go to quality_results and, where the lake is files, to a
    page beside the tables. What did not hold fails until it does.
    """
    from stompcap.quality import GOES_ON, ONE_POINT, failure, last

    batches = [*ledger.pending(work.lake, ["quality_results"]), *ledger.computed_again(work.lake, "quality_results")]
    stands = ""
    if whole or batches or work.options.settings.quality.newest_packet_s is not None:
        results = _judge(work, batches, not whole)
        failed = [row for row in results if not row["success"]]
    else:
        results = last(work.lake)
        failed = [row for row in results if not row["success"] and row["severity"] == "error"]
        stands = f" (run {failed[0]['run_id']} found so; stompcap validate checks again)" if failed else ""
    work.result.failed_expectations = sum(row["severity"] == "error" for row in failed)
    told = (GOES_ON, ONE_POINT)  # of these a run tells
    work.result.warnings += [f"quality: {failure(row)}{stands}" for row in failed if row["expectation"] not in told]
    work.result.data_docs = docs if results and (docs := data_docs(work.lake)) and os.path.exists(docs) else None


def _judge(work: Work, batches: Sequence[str], new: bool) -> list[dict[str, Any]]:
    """The results of a validation, entered; batches that have been through all stages are done with."""
    from stompcap.quality import began_anew, validate
    from stompcap.report.checks import write_checks

    work.progress.begin("checking expectations")
    with work.stage("validate", batches) as rows:
        waiting = ledger.pending(work.lake, (*bronze.TABLES, "frames", *silver.SESSION_TABLES, *gold.TABLES))
        run_id = work.result.run_id
        judged_tables = validate(work.spark, work.lake, run_id, new=new, quality=work.options.settings.quality)
        results = pa.concat_tables([judged_tables, capture_points.result(work.lake, run_id)])
        if work.result.begun_anew:
            results = pa.concat_tables([results, began_anew(run_id, work.result.begun_anew)])
        units = [*(batch for batch in batches if batch not in waiting), f"{run_id}:validate"]
        rows["quality_results"] = lakes.append(work.lake, "quality_results", results, units, run_id)
        judged: list[dict[str, Any]] = results.to_pylist()
        if docs := data_docs(work.lake):
            write_checks(work.lake, docs, judged)
    return judged


def data_docs(lake: str) -> str | None:
    """Where the page of a lake's last validation lies: beside the tables where these are files, for it is one for a browser."""
    return os.path.join(lake, "_data_docs", "index.html") if lakes.is_local(lake) else None
