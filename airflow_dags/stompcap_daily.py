"""Once a day: new captures to tables, metrics, validation and a report, each stage a spark-submit of its job.

Every stage is incremental and idempotent, so the DAG passes the whole folder of captures, and a retry repeats nothing. One run at
a time, because a lake has one writer. The jobs run on the connection `stompcap_spark`, or on this machine if it does not
exist. Parameters set the inputs and outputs; a scheduled run uses their defaults, which come from environment variables of the
scheduler:

- STOMPCAP_CAPTURES, STOMPCAP_LAKE, STOMPCAP_REPORT: captures, lake and report; default: the bundled captures, `lake`, `report.html`.
- STOMPCAP_HOME: the folder of `jobs`; default: the folder of this one.
- STOMPCAP_ENV: the environment of stompcap, not Airflow's, with spark-submit and the driver's Python; default: `.venv` of a
  checkout, or the environment that this file was installed into.
- STOMPCAP_PYTHON: the Python of a cluster's workers, if different: that of dist/stompcap-env.tar.gz, unpacked there.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, BaseHook, Context, Param, chain, dag
from airflow.sdk.exceptions import AirflowNotFoundException

HOME = Path(os.environ.get("STOMPCAP_HOME", Path(__file__).resolve().parents[1]))
ENVIRONMENT = Path(os.environ.get("STOMPCAP_ENV", HOME / ".venv" if (HOME / ".venv").exists() else HOME.parent.parent))  # of share/stompcap
PYTHON = str(ENVIRONMENT / "bin" / "python")
CAPTURES = os.environ.get("STOMPCAP_CAPTURES", str(HOME / "data"))
LAKE = os.environ.get("STOMPCAP_LAKE", str(HOME / "lake"))
REPORT = os.environ.get("STOMPCAP_REPORT", str(HOME / "report.html"))
WORKERS = os.environ.get("STOMPCAP_PYTHON", PYTHON)
CONNECTION = "stompcap_spark"
LOCAL = '{"conn_type": "spark", "host": "local[*]"}'

STAGES = {
    "extract": "['--lake', params.lake, '--source', params.source] + params.captures",
    "decode": "['--lake', params.lake]",
    "correlate": "['--lake', params.lake]",
    "metrics": "['--lake', params.lake]",
    "validate": "['--lake', params.lake]",
    "report": "['--lake', params.lake, '-o', params.report]",
}
"""The arguments of every stage's job, as templates, in order."""


class Submit(SparkSubmitOperator):
    """spark-submit, on this machine where there is no such connection; the operator itself would use YARN."""

    def execute(self, context: Context) -> None:
        """Submit the job and wait for its end."""
        try:
            BaseHook.get_connection(CONNECTION)
        except AirflowNotFoundException:
            self.log.info("no connection %s: the job runs on local[*]", CONNECTION)
            os.environ[f"AIRFLOW_CONN_{CONNECTION.upper()}"] = LOCAL  # set for this process, which runs only this task
        super().execute(context)


@dag(
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5)},
    render_template_as_native_obj=True,
    tags=["stompcap"],
    doc_md=__doc__,
    params={
        "captures": Param([CAPTURES], type="array", items={"type": "string"}, description="Files, folders, globs or URIs"),
        "lake": Param(LAKE, type="string", description="Directory or URI of the lake"),
        "source": Param("default", type="string", description="Capture point"),
        "report": Param(REPORT, type="string", description="Path of the report"),
        "python": Param(WORKERS, type="string", description="The Python of the workers, with stompcap"),
        "packages": Param("io.delta:delta-spark_4.2_2.13:4.4.0", type="string", description="Delta's JARs, as Maven coordinates"),
    },
)
def stompcap_daily() -> None:
    """Run the stages one after the other."""
    chain(*[
        Submit(
            task_id=stage,
            conn_id=CONNECTION,
            application=str(HOME / "jobs" / f"{stage}.py"),
            application_args="{{ " + arguments + " }}",
            name=f"stompcap {stage}",
            packages="{{ params.packages }}",
            spark_binary=str(ENVIRONMENT / "bin" / "spark-submit"),
            env_vars={"PYSPARK_DRIVER_PYTHON": PYTHON, "PYSPARK_PYTHON": "{{ params.python }}"},
            outlets=[Asset("stompcap_lake")] if stage == "validate" else [],
        )
        for stage, arguments in STAGES.items()
    ])


stompcap_daily()
