"""Run by Airflow's own Python: what the DAGs are, and how a job of theirs ends by its exit code, as JSON."""

import json
import os
import sys
from pathlib import Path
from unittest import mock

folder, made = Path(sys.argv[1]), Path(sys.argv[2])
os.environ["STOMPCAP_ENV"] = str(made)
sys.path.insert(0, str(folder))  # as Airflow's bundles do

from airflow.dag_processing.dagbag import DagBag  # noqa: E402  it reads the environment
from airflow.sdk.exceptions import AirflowNotFoundException  # noqa: E402

bag = DagBag(str(folder))
dags = {
    name: {
        "tasks": {task.task_id: [task.pool, task.retries, [asset.name for asset in task.outlets]] for task in dag.tasks},
        "runs": dag.max_active_runs,
    }
    for name, dag in bag.dags.items()
}
heavy = [name for name in ("pyspark", "scapy", "stompcap", "numba") if name in sys.modules]

import stompcap_jobs  # noqa: E402

(made / "bin").mkdir(parents=True)
command = made / "bin" / "stompcap"
ends = {}
for code in (0, 1, 2, 3, 4, 5, 70, 137):
    given = "--conf spark.eventLog.enabled=true --conf spark.executor.memory=4g"
    command.write_text(f'#!/bin/sh\n[ "$*" = "run {given}" ] || exit 99\nexit {code}\n')
    command.chmod(0o755)
    job = stompcap_jobs.Job(task_id="run", job="run", arguments="[]")
    job.application_args = []
    with mock.patch.object(stompcap_jobs.BaseHook, "get_connection", side_effect=AirflowNotFoundException("none")):
        try:
            job.execute({"params": {"conf": {"spark.eventLog.enabled": "true"}, "executor_memory": "4g", "instances": 0}})
            ends[code] = "done"
        except Exception as error:  # noqa: BLE001  its class is what counts
            ends[code] = type(error).__name__
errors = {str(key): str(value) for key, value in bag.import_errors.items()}
print(json.dumps({"errors": errors, "heavy": heavy, "dags": dags, "ends": ends}))
