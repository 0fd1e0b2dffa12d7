"""Runs the DAG once, in this process, and prints the state of every task as JSON; to be run by Airflow's own Python.

Usage: run_dag.py DAGS_FOLDER PARAMS_AS_JSON. AIRFLOW_HOME names a folder that `airflow db migrate` has prepared.
"""

from __future__ import annotations

import json
import sys

from airflow.dag_processing.dagbag import DagBag


def main(folder: str, params: str) -> int:
    """0 if every task succeeded."""
    bag = DagBag(folder)
    if bag.import_errors:
        print(json.dumps({"import_errors": bag.import_errors}))
        return 2
    heavy = sorted({"pyspark", "scapy", "stompcap", "numba"} & set(sys.modules))
    run = bag.dags["stompcap_daily"].test(run_conf=json.loads(params))
    states = {task.task_id: str(task.state) for task in run.get_task_instances()}
    print(json.dumps({"state": str(run.state), "tasks": states, "imported": heavy}))
    return 0 if set(states.values()) == {"success"} else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
