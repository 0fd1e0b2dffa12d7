"""Every night: connections older than `keep_days` are forgotten, if that is set; small files are merged, unused ones removed.

The whole lake is validated at the end, with files that earlier validations have read.
"""

from __future__ import annotations

import os

from airflow.sdk import CronTriggerTimetable, Param, chain, dag, get_current_context, task
from stompcap_jobs import COMMON, PARAMS, SETTINGS, SETTINGS_ARGS, Job

KEEP = int(os.environ.get("STOMPCAP_KEEP_DAYS", "0"))


@dag(
    schedule=CronTriggerTimetable("15 3 * * *", timezone="UTC"),
    doc_md=__doc__,
    **COMMON,
    params={
        **PARAMS, "settings": SETTINGS,
        "keep_days": Param(KEEP, type="integer", minimum=0, description="Days that connections are kept; 0: for ever"),
    },
)
def stompcap_maintenance() -> None:
    """Forget, merge, validate."""

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def kept_for_a_time() -> bool:
        """Whether connections are forgotten at all."""
        return bool(get_current_context()["params"]["keep_days"])

    before = "(dag_run.run_after - macros.timedelta(days=params.keep_days)).strftime('%Y-%m-%d')"
    forget = Job(task_id="forget", job="forget", arguments="['--yes', '--before', " + before + "]")
    maintain = Job(task_id="maintain", job="maintain", arguments="[]", trigger_rule="none_failed")
    validate = Job(task_id="validate", job="validate", arguments="['--fail-on', 'quality'] + " + SETTINGS_ARGS)
    chain(kept_for_a_time(), forget, maintain, validate)


stompcap_maintenance()
