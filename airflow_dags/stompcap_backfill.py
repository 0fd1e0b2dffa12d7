"""By hand: captures of any time, or connections of the lake computed again.

With `reprocess`, what the lake has of the source is computed again from its captures, from and to a time if these are given.
"""

from __future__ import annotations

from airflow.sdk import Param, dag
from stompcap_jobs import ASSETS, CAPTURES, COMMON, FAIL_ON, FAIL_ON_ARGS, PARAMS, SETTINGS, SETTINGS_ARGS, SOURCE, Job

TIME = "A date, or a time without zone for UTC; empty for no bound"
NARROWED = "(['--reprocess'] + (['--from', params.since] if params.since else []) + (['--to', params.until] if params.until else []))"


@dag(
    schedule=None,
    doc_md=__doc__,
    **COMMON,
    params={
        **PARAMS, "captures": CAPTURES, "source": SOURCE, "settings": SETTINGS, "fail_on": FAIL_ON,
        "reprocess": Param(False, type="boolean", description="Compute connections that the lake has anew"),
        "since": Param("", type="string", description=f"Begin of what is reprocessed. {TIME}"),
        "until": Param("", type="string", description=f"End of what is reprocessed. {TIME}"),
    },
)
def stompcap_backfill() -> None:
    """Run all stages."""
    Job(
        task_id="run",
        job="run",
        arguments="['--source', params.source] + " + SETTINGS_ARGS + " + " + FAIL_ON_ARGS
        + " + (" + NARROWED + " if params.reprocess else []) + params.captures",
        outlets=list(ASSETS.values()),
    )


stompcap_backfill()
