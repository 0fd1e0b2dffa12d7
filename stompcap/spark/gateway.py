"""The JVM that this process starts for Spark: begun by spark-submit as pyspark does, and gone before this process is.

pyspark's own `launch_gateway` leaves a JVM behind where it is interrupted, and lets it end some time after the program.
"""

from __future__ import annotations

import atexit
import os
import shlex
import sys
import tempfile
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Event, Lock, Thread
from typing import IO, TYPE_CHECKING, Any

from stompcap.errors import EnvironmentProblem
from stompcap.spark import jars, preloaded, processes
from stompcap.spark.master import is_local

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Half of a cold start is the JVM compiling itself. This is for the short-lived one in which Spark's launcher puts the command line of the
# real one together.
LAUNCHER = ("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -Xshare:auto")
DAEMON, INTERPRETER = "spark.python.daemon.module", "spark.pyspark.python"
INFO = "_PYSPARK_DRIVER_CONN_INFO_PATH"
ENDED = "the JVM ended before Spark began"
LOOK_S = 0.02
PATIENCE_S = 10.0
"""How long a JVM may take to end by itself, its temporary files deleted."""


class Jvm:
    """One JVM: the process that spark-submit becomes.

    A thread that lasts as long as this process starts it and waits for it: Linux ends it with that thread (`processes.bound`).
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | None) -> None:
        self.ended = Event()
        self.connected = False
        self._owner = os.getpid()
        self._started: Future[Popen[bytes]] = Future()
        Thread(target=self._keep, args=(command, environment, output), daemon=True, name="JVM").start()
        self._process = self._started.result()

    def _keep(self, command: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | None) -> None:
        try:
            process = Popen(
                command, env=environment, stdin=PIPE, stdout=output, stderr=output, preexec_fn=processes.bound()
            )
        except BaseException as error:  # noqa: BLE001 - it is raised where the JVM is waited for
            self._started.set_exception(error)
            return
        self._started.set_result(process)
        process.wait()
        self.ended.set()

    def connection(self, file: Path) -> tuple[str, str]:
        """Port and secret of its gateway, which it writes to that file; raises EnvironmentProblem where it ends before."""
        while not file.is_file():
            if self.ended.wait(LOOK_S):
                raise EnvironmentProblem(ENDED)
        octets = file.read_bytes()  # two of Java's writeInt, the secret behind the second
        self.connected = True
        return str(int.from_bytes(octets[:4], "big")), octets[8 : 8 + int.from_bytes(octets[4:8], "big")].decode()

    def end(self, patience_s: float) -> int | None:
        """End it and wait until it has; its exit code. It ends by itself where its standard input does, once it can be connected to."""
        if self._owner != os.getpid():  # a process that was forked from the one that started it
            return None
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if not (self.connected and self.ended.wait(patience_s)):
            self._process.terminate()
            if not self.ended.wait(processes.FORCED_S):
                self._process.kill()
                self.ended.wait()
        return self._process.returncode


_jvm: Jvm | None = None
_daemon: preloaded.Preloaded | None = None
_over = False
_lock = Lock()
_importing = Lock()


def load_pyspark() -> None:
    """Import pyspark; a thread that does so beside another might get modules that are half there, for they import each other."""
    with _importing:
        import pyspark.sql  # noqa: F401


def start(settings: Mapping[str, str], output: IO[bytes] | None) -> Any:
    """A py4j gateway to a new JVM with these settings of Spark; what the JVM says goes to `output`, where None to this terminal.

    Raises EnvironmentProblem where it ends before it can be reached.
    """
    global _daemon, _jvm
    with tempfile.TemporaryDirectory(prefix="stompcap-", ignore_cleanup_errors=True) as folder:
        file = Path(folder, "gateway")
        environment = {LAUNCHER[0]: LAUNCHER[1], **os.environ, "SPARK_CONNECT_MODE": "0", INFO: str(file)}
        with _lock:
            if _over:
                raise EnvironmentProblem("this process ends")
            if _forks_workers(settings):
                with suppress(OSError):
                    _daemon = preloaded.Preloaded(environment)
            _jvm = Jvm(_command(settings), environment, output)
        atexit.register(stop)
        load_pyspark()  # while the JVM starts, for it takes a tenth of a second
        from pyspark.java_gateway import launch_gateway

        port, secret = _jvm.connection(file)
    named = {"PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(named)  # as spark-submit passes its JVM to a Python program
    try:
        return launch_gateway()
    finally:
        for name in named:
            os.environ.pop(name, None)


def _forks_workers(settings: Mapping[str, str]) -> bool:
    """Whether workers will be forked from our daemon, on this machine, and run by the interpreter of this process."""
    ours = settings.get(DAEMON) == preloaded.MODULE and settings.get(INTERPRETER) == sys.executable
    return ours and is_local(settings.get("spark.master", ""))


def _command(settings: Mapping[str, str]) -> list[str]:
    words = [str(jars.spark_home() / "bin" / "spark-submit")]
    for name, value in settings.items():
        words += ["--conf", f"{name}={value}"]
    return words + shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))


def stop(patience_s: float = PATIENCE_S) -> int | None:
    """End the JVM, if there is one, and let none begin; its exit code. It is forced to after so many seconds."""
    global _over
    with _lock:
        _over = True
    if _jvm is None:
        return None
    hush()
    if patience_s:
        _disconnect()
    code = _jvm.end(patience_s)
    if _daemon is not None and code is not None:
        _daemon.end()
    return code


def _disconnect() -> None:
    """Close py4j's connections: a JVM that ends waits a third of a second for threads in system calls, as those are that read these."""
    from pyspark import SparkContext

    connected: Any = SparkContext._gateway  # noqa: SLF001 - there is no other way to it
    if connected is not None:
        with suppress(Exception):  # the JVM may have ended already
            connected.shutdown()


def hush() -> None:
    """Where the JVM ends before Python, pyspark's server of accumulators would print that its connection did, with a traceback."""
    from pyspark import SparkContext

    server = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)  # noqa: SLF001 - there is no other way to it
    if server is not None:
        server.handle_error = lambda *_: None
