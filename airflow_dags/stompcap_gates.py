"""When a run has written to the lake: a new report, and the quality gate.

`stompcap_quality` fails, without another attempt, where an expectation is not met or a threshold of the settings is exceeded; each failure
is told in its log, and stands in the table quality_results. It is triggered by bronze, silver and gold together, and once an
hour without them, because packets that do not come trigger nothing: the threshold newest_packet_s is for them.
"""

from __future__ import annotations

import os

from airflow.sdk import AssetOrTimeSchedule, CronTriggerTimetable, Param, dag
from stompcap_jobs import ASSETS, COMMON, HOME, PARAMS, SETTINGS, SETTINGS_ARGS, Job

REPORT = Param(os.environ.get("STOMPCAP_REPORT", str(HOME / "report.html")), type="string", description="Path of the report")


@dag(schedule=[ASSETS["gold"]], params={**PARAMS, "report": REPORT}, doc_md=__doc__, **COMMON)
def stompcap_report() -> None:
    """Write the report."""
    Job(task_id="report", job="report", arguments="['-o', params.report]", writes=False)


@dag(
    schedule=AssetOrTimeSchedule(
        timetable=CronTriggerTimetable("30 * * * *", timezone="UTC"), assets=ASSETS["bronze"] & ASSETS["silver"] & ASSETS["gold"]
    ),
    params={**PARAMS, "settings": SETTINGS},
    doc_md=__doc__,
    **COMMON,
)
def stompcap_quality() -> None:
    """Judge the lake."""
    Job(task_id="validate", job="validate", arguments="['--new', '--fail-on', 'quality'] + " + SETTINGS_ARGS)


stompcap_report()
stompcap_quality()
