"""Every hour, or as STOMPCAP_SCHEDULE says: the new captures to tables, metrics and validation, in one session of one task.

A scheduled run takes the files of its data interval, and of those before it for which Airflow made no run: of a local folder those that
were last written in it, of a URI what its name says with strftime's codes (`s3://captures/%Y-%m-%d/`); the lake itself tells which of them
are new. A run by hand takes all. Where there are no captures the run is skipped. A run that was killed is finished by the next, and a
retry repeats nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from airflow.sdk import CronDataIntervalTimetable, Param, dag, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException
from stompcap_jobs import ASSETS, CAPTURES, COMMON, FAIL_ON, FAIL_ON_ARGS, PARAMS, SETTINGS, SETTINGS_ARGS, SOURCE, Job


@dag(
    schedule=CronDataIntervalTimetable(os.environ.get("STOMPCAP_SCHEDULE", "@hourly"), timezone="UTC"),
    doc_md=__doc__,
    **COMMON,
    params={
        **PARAMS, "captures": CAPTURES, "source": SOURCE, "settings": SETTINGS, "fail_on": FAIL_ON,
        "all": Param(False, type="boolean", description="Take all captures, as a run by hand does, not those of the data interval"),
    },
)
def stompcap_ingest() -> None:
    """Find captures, run all stages."""

    @task
    def find() -> list[str]:
        """The captures to read."""
        context = get_current_context()
        given, start, end = context["params"]["captures"], context.get("data_interval_start"), context.get("data_interval_end")
        if start is None or end is None or start == end or context["params"]["all"] or context["dag_run"].run_type == "manual":
            days, begin, until = [], 0.0, float("inf")
        else:
            # Airflow makes no runs for intervals that passed while one ran long or the DAG was paused: this run takes theirs too.
            before = context["ti"].get_previous_dagrun()
            start = min(start, before.data_interval_end) if before and before.data_interval_end else start
            count = (end - timedelta(microseconds=1)).date().toordinal() - start.date().toordinal() + 1
            days, begin, until = [start + timedelta(days=number) for number in range(count)], start.timestamp(), end.timestamp()
        found: list[str] = []
        for name in given:
            for path in dict.fromkeys(day.strftime(name) for day in days) if days and "%" in name else [name]:
                if "://" in path or not days or not Path(path).is_dir():
                    found.append(path)
                else:
                    for file in sorted(Path(path).rglob("*")):
                        with suppress(FileNotFoundError):  # rotated away meanwhile
                            found += [str(file)] if file.is_file() and begin <= file.stat().st_mtime < until else []
        if not found:
            raise AirflowSkipException(f"no captures in {', '.join(given)} from {start} to {end}")
        return found

    found = find()
    run = Job(
        task_id="run",
        job="run",
        arguments="['--source', params.source] + " + SETTINGS_ARGS + " + " + FAIL_ON_ARGS + " + ti.xcom_pull('find')",
        outlets=list(ASSETS.values()),
    )
    found >> run  # type: ignore[operator]


stompcap_ingest()
