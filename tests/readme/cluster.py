"""A Spark standalone cluster on this machine: a master and workers as processes of their own, on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from stompcap.spark import jars

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
STARTED_OFTEN = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""For JVMs whose start is most of what they do."""
PATIENCE_S = 120


@dataclass(frozen=True)
class Cluster:
    """Where it listens, and the folders of its workers, each with a folder for every application it ran a part of."""

    master: str
    workers: tuple[Path, ...]
    cache: Path  # what the workers' processes take for the user's cache
    processes: tuple[int, ...]  # of the workers

    def writes(self, worker: int, folder: Path) -> set[Path]:
        """The files in a folder that processes of a worker have open."""
        found = set()
        for process in descendants(self.processes[worker]):
            with suppress(OSError):  # it has ended
                found |= {Path(os.readlink(entry)) for entry in Path(f"/proc/{process}/fd").iterdir()}
        return {path for path in found if path.parent == folder}

    def kill(self, worker: int) -> None:
        """End a worker as a machine that loses power: with its executors, and the Python processes of these."""
        for process in (one := self.processes[worker], *descendants(one)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def descendants(process: int) -> list[int]:
    """The processes that one has started, and those that they have."""
    found = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text("ascii").split():
                found += [int(child), *descendants(int(child))]
    return found


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster whose workers have a core each, and no stompcap but what an application brings."""
    cluster = [folder / f"worker-{number}" for number in range(workers)]
    cache, spark = folder / "cache", jars.spark_home()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_", "PYTHON", "STOMPCAP_", "NUMBA_"))}
    environment |= {"SPARK_HOME": str(spark), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", **STARTED_OFTEN}
    environment |= {"XDG_CACHE_HOME": str(cache), "PATH": os.defpath}
    with ExitStack() as running:

        def begin(log: Path, *arguments: str) -> subprocess.Popen[bytes]:
            written = running.enter_context(log.open("wb"))
            command = [spark / "bin" / "spark-class", *arguments, "--host", "127.0.0.1", "--webui-port", "0"]
            process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=written, stderr=written)
            running.callback(process.wait)
            running.callback(process.terminate)  # the last that is put in is called first
            return process

        master = begin(folder / "master.log", MASTER, "--port", "0")
        url = said(folder / "master.log", r"Starting Spark master at (spark://\S+)", master)[0]
        processes = []
        for own in cluster:
            own.mkdir()
            log = folder / f"{own.name}.log"
            one = begin(log, WORKER, "--cores", "1", "--memory", "1g", "--work-dir", str(own), url)
            said(log, r"(Successfully registered with master)", one)
            processes.append(one.pid)
        yield Cluster(url, tuple(cluster), cache, tuple(processes))


def said(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> list[str]:
    """What the pattern finds in the log of a process, waited for."""
    until = time.monotonic() + PATIENCE_S
    while not (found := re.findall(pattern, text := log.read_text("utf-8", "replace"))):
        assert process.poll() is None, text[-3000:]
        assert time.monotonic() < until, text[-3000:]
        time.sleep(0.1)
    return found
