"""Spark masters by name: which run tasks in this process's own JVM, and whether one elsewhere answers at all.

Spark itself tries a master that does not answer for a minute.
"""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

from stompcap.errors import EnvironmentProblem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 5.0
ELSEWHERE = re.compile(r"(?:spark|sc|k8s)://(?:https?://)?([^/;]+)")


def is_local(master: str) -> bool:
    """Whether that master runs tasks in the driver's own JVM."""
    return master == "local" or master.startswith("local[")


def planned_cores(spark: SparkSession) -> int:
    """The cores that tasks are planned for: those of this machine, or 0 on a cluster, whose executors of now are not those of then."""
    context = spark.sparkContext
    return context.defaultParallelism if is_local(context.master or "") else 0


def demand(master: str) -> None:
    """Raise EnvironmentProblem where no process listens at a master's address; one of several (spark://a:7077,b:7077) is enough."""
    named = ELSEWHERE.match(master)
    addresses = [address.rpartition(":") for address in named[1].split(",")] if named else []
    wrong: list[str] = []
    for host, _, port in addresses:
        if not host or not port.isdecimal():
            return  # Spark has a default port, or its own words for what it cannot read
        try:
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S).close()
        except (OSError, OverflowError, UnicodeError) as error:
            wrong.append(f"{host}:{port}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    if wrong:
        remedy = "start it, or leave --master out to run on this machine"
        raise EnvironmentProblem(f"no Spark master answers at {master} ({', '.join(wrong)}); {remedy}")
