"""Once a day: new captures to tables, metrics, validation and a report, each stage a spark-submit of its job.

Every stage is incremental and idempotent, so the DAG hands over the whole folder of captures and a retry repeats nothing. One run at
a time, for a lake has one writer. The master comes from the connection `spark_default`; spark-submit and the Python of the
executors are those of the environment stompcap is installed in, not Airflow's: STOMPCAP_HOME names the checkout, and
STOMPCAP_ENV its environment (`.venv` in it by default).
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, Param, chain, dag

HOME = Path(os.environ.get("STOMPCAP_HOME", Path(__file__).resolve().parents[1]))
ENVIRONMENT = Path(os.environ.get("STOMPCAP_ENV", HOME / ".venv"))
LAKE = Asset("stompcap_lake")

STAGES = {
    "extract": "['--lake', params.lake, '--source', params.source] + params.captures",
    "decode": "['--lake', params.lake]",
    "correlate": "['--lake', params.lake]",
    "metrics": "['--lake', params.lake]",
    "validate": "['--lake', params.lake]",
    "report": "['--lake', params.lake, '-o', params.report]",
}
"""The arguments of every stage's job, as templates, in order."""


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
        "captures": Param([str(HOME / "data")], type="array", items={"type": "string"}, description="Files, folders, globs or URIs"),
        "lake": Param(str(HOME / "lake"), type="string", description="Directory or URI of the lake"),
        "source": Param("default", type="string", description="Capture point"),
        "report": Param(str(HOME / "report.html"), type="string", description="Where the report goes"),
        "packages": Param("io.delta:delta-spark_4.2_2.13:4.4.0", type="string", description="Delta's JARs, as Maven coordinates"),
    },
)
def stompcap_daily() -> None:
    """Run the stages one after the other."""
    chain(*[
        SparkSubmitOperator(
            task_id=stage,
            application=str(HOME / "jobs" / f"{stage}.py"),
            application_args="{{ " + arguments + " }}",
            name=f"stompcap {stage}",
            packages="{{ params.packages }}",
            spark_binary=str(ENVIRONMENT / "bin" / "spark-submit"),
            env_vars={"PYSPARK_PYTHON": str(ENVIRONMENT / "bin" / "python")},
            outlets=[LAKE] if stage == "validate" else [],
        )
        for stage, arguments in STAGES.items()
    ])


stompcap_daily()
