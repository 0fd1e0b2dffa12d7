"""What the DAGs of stompcap share: where things are, the operator that runs a job, parameters, assets.

A job runs by spark-submit on the connection `stompcap_spark`; where that does not exist, as the command of the same name on this machine.
Environment variables of the scheduler give the defaults of the parameters:

- STOMPCAP_CAPTURES, STOMPCAP_LAKE, STOMPCAP_REPORT: captures, lake and report; default: the bundled captures, `lake`, `report.html`.
- STOMPCAP_SCHEDULE: when `stompcap_ingest` runs, as cron has it; default: `@hourly`.
- STOMPCAP_SETTINGS: the settings file of rules and thresholds; default: none.
- STOMPCAP_FAIL_ON: quality, must or should, for runs to fail on; default: on none of these.
- STOMPCAP_KEEP_DAYS: days after which maintenance forgets connections; default: they stay.
- STOMPCAP_POOL: the pool of tasks that write, with one slot, for a lake has one writer; default: `default_pool`.
- STOMPCAP_CONF: settings of Spark, as JSON: {"spark.executor.memory": "4g", "spark.executor.instances": "8"}; default: none.
- STOMPCAP_JARS_OF_JOBS: JARs beside Delta's, by path or URI, comma-separated; default: none.
- STOMPCAP_HOME: the folder of `jobs`; default: the folder of this one.
- STOMPCAP_ENV: the environment of stompcap, not Airflow's, with spark-submit and the driver's Python; default: `.venv` of a
  checkout, or the environment that this file was installed into.
- STOMPCAP_PYTHON: the Python of a cluster's workers, if different: that of dist/stompcap-env.tar.gz, unpacked there.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, BaseHook, Context, Param
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

HOME = Path(os.environ.get("STOMPCAP_HOME", Path(__file__).resolve().parents[1]))
ENVIRONMENT = Path(os.environ.get("STOMPCAP_ENV", HOME / ".venv" if (HOME / ".venv").exists() else HOME.parent.parent))  # of share/stompcap
PYTHON = str(ENVIRONMENT / "bin" / "python")
CONNECTION = "stompcap_spark"
POOL = os.environ.get("STOMPCAP_POOL", "default_pool")

FINAL = {
    1: "a quality gate tripped", 2: "the arguments are wrong", 3: "the environment is not ready (stompcap doctor says why)",
    4: "some input could not be read",
}
"""Exit codes that another attempt would not change; 5, another run holds the lake, and all others are tried again."""

ASSETS = {layer: Asset(f"stompcap_{layer}") for layer in ("bronze", "silver", "gold")}
"""The groups of tables that runs write."""

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RETRIES = {"retries": 3, "retry_delay": timedelta(minutes=1), "retry_exponential_backoff": True, "max_retry_delay": timedelta(minutes=15)}
COMMON: dict[str, Any] = {
    "start_date": BEGIN, "catchup": False, "max_active_runs": 1, "default_args": RETRIES, "render_template_as_native_obj": True,
    "tags": ["stompcap"],
}
"""What all DAGs are declared with."""


def coordinates() -> str:
    """Delta's JARs as Maven coordinates, for the versions of pyspark and delta-spark in the environment of stompcap."""
    folders = [str(folder) for folder in ENVIRONMENT.glob("lib/python*/site-packages")]
    found = {one.name.lower().replace("_", "-"): one.version for one in distributions(path=folders)}
    spark, delta = found.get("pyspark", "4.2.0"), found.get("delta-spark", "4.4.0")
    return f"io.delta:delta-spark_{'.'.join(spark.split('.')[:2])}_2.13:{delta}"


MEMORY = r"^([0-9]+[kmgt]b?)?$"
PARAMS = {
    "lake": Param(os.environ.get("STOMPCAP_LAKE", str(HOME / "lake")), type="string", description="Directory or URI of the lake"),
    "python": Param(os.environ.get("STOMPCAP_PYTHON", PYTHON), type="string", description="The Python of the workers, with stompcap"),
    "packages": Param(coordinates(), type="string", description="Delta's JARs, as Maven coordinates"),
    "jars": Param(os.environ.get("STOMPCAP_JARS_OF_JOBS", ""), type="string", description="Other JARs, comma-separated"),
    "conf": Param(json.loads(os.environ.get("STOMPCAP_CONF", "{}")), type="object", description="Settings of Spark"),
    "driver_memory": Param("", type="string", pattern=MEMORY, description="spark.driver.memory, such as 4g"),
    "executor_memory": Param("", type="string", pattern=MEMORY, description="spark.executor.memory, such as 4g"),
    "instances": Param(0, type="integer", minimum=0, description="spark.executor.instances; 0: as the cluster has it"),
    "deploy_mode": Param("client", enum=["client"], description="The driver runs beside Airflow's worker; docs/cluster.md says why"),
}
CAPTURES = Param(
    [os.environ.get("STOMPCAP_CAPTURES", str(HOME / "data" / "*.pcap*"))], type="array", items={"type": "string"},
    description="Files, folders, globs or URIs; strftime's codes in them, %Y-%m-%d, stand for the days of the data interval",
)
SOURCE = Param("default", type="string", description="Capture point")
SETTINGS = Param(os.environ.get("STOMPCAP_SETTINGS", ""), type="string", description="Settings file of rules and thresholds, if any")
SETTINGS_ARGS = "(['--settings', params.settings] if params.settings else [])"
FAIL_ON = Param(
    os.environ.get("STOMPCAP_FAIL_ON", ""), type="string", enum=["", "quality", "must", "should"],
    description="Fail where checks of the lake do (quality), or where a connection that the run wrote broke rules (must, should)",
)
FAIL_ON_ARGS = "(['--fail-on', params.fail_on] if params.fail_on else [])"


SETTINGS_OF = {"spark.driver.memory": "driver_memory", "spark.executor.memory": "executor_memory", "spark.executor.instances": "instances"}
"""Settings of Spark that have a parameter, which counts where it says something."""


class Job(SparkSubmitOperator):
    """A job of stompcap; an exit code that another attempt would not change fails the task at once."""

    def __init__(self, *, job: str, arguments: str, writes: bool = True, **others: Any) -> None:
        """`arguments` is the expression of a template, a list; what `writes` to the lake takes a slot of the pool."""
        super().__init__(
            conn_id=CONNECTION,
            application=str(HOME / "jobs" / f"{job}.py"),
            application_args="{{ ['--lake', params.lake] + " + arguments + " }}",  # type: ignore[arg-type]  # native, so it is a list
            name=f"stompcap {job}",
            packages="{{ params.packages }}",
            jars="{{ params.jars or None }}",
            spark_binary=str(ENVIRONMENT / "bin" / "spark-submit"),
            env_vars={"PYSPARK_DRIVER_PYTHON": PYTHON, "PYSPARK_PYTHON": "{{ params.python }}"},
            **{"pool": POOL} if writes else {},
            **others,
        )
        self.job = job
        self.running: subprocess.Popen[str] | None = None

    def execute(self, context: Context) -> None:
        """Run the job and wait for its end."""
        given = context.get("params", {})
        self.conf = {**given.get("conf", {}), **{key: given[name] for key, name in SETTINGS_OF.items() if given.get(name)}}
        try:
            BaseHook.get_connection(CONNECTION)
        except AirflowNotFoundException:
            self.log.info("no connection %s: the job runs on this machine", CONNECTION)
            code, last_line = self.here()
        else:
            code, last_line = self.there(context), ""
        if code in FINAL:
            raise AirflowFailException(f"stompcap {self.job}: exit code {code}, {FINAL[code]}: {last_line or 'its log says what'}")
        if code:
            raise AirflowException(f"stompcap {self.job}: exit code {code}, which may pass: {last_line or 'its log says what'}")

    def here(self) -> tuple[int, str]:
        """The exit code of the command of the job's name, and its last line that says something; all lines go to the log."""
        settings = [word for key, value in dict(self.conf or {}).items() for word in ("--conf", f"{key}={value}")]
        command = [str(ENVIRONMENT / "bin" / "stompcap"), self.job, *map(str, self.application_args or []), *settings]
        self.running = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
        )
        last_line = ""
        for line in self.running.stdout or ():
            self.log.info("%s", line.rstrip())
            last_line = line.strip() or last_line
        return self.running.wait(), last_line

    def there(self, context: Context) -> int:
        """The exit code of spark-submit, which in client mode is that of the job."""
        self.conf = {**(self.conf or {}), "spark.submit.deployMode": context["params"]["deploy_mode"]}
        try:
            super().execute(context)
        except AirflowException as error:
            code = re.search(r"Error code is: (\d+)", str(error))
            if code is None:
                raise
            return int(code[1])
        return 0

    def on_kill(self) -> None:
        """End the job, which ends its JVM and its workers."""
        if self.running is None:
            super().on_kill()
            return
        with suppress(ProcessLookupError):
            os.killpg(self.running.pid, signal.SIGTERM)
