"""The daemon of Python workers, started beside the JVM: it imports what workers need before Spark asks for one.

Spark starts `stompcap.spark.daemon` with its first Python task, and would wait for its imports. Instead that process hands its standard
streams and its environment to the one that waits here, over a Unix socket (SCM_RIGHTS in unix(7)), and lasts as long as that one does.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MODULE = "stompcap.spark.daemon"
VARIABLE = "STOMPCAP_DAEMON_SOCKET"
"""What the environment of the JVM, and so of the process that it starts, has of the one that waits: the path of its socket."""

STREAMS = 3
ENDS_S = 1.0


class Preloaded:
    """A process that imports and waits. It ends with its standard input: at first a pipe from this process, then one from the JVM.

    `environment` is that of the JVM, which gets the path. Raises OSError where that is too long for a socket, or no process can be started.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._path = Path(tempfile.gettempdir(), f"stompcap-{uuid.uuid4().hex}.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(self._path))
            self._path.chmod(0o600)  # nobody can connect before it listens
            listening.listen(1)
            command = [sys.executable, "-m", MODULE, str(listening.fileno()), str(self._path)]
            own = environment | {"PYTHONHASHSEED": "0"}  # as spark-submit has it: processes agree on the hashes of strings
            try:
                self._process = Popen(
                    command, env=own, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, pass_fds=[listening.fileno()],
                    process_group=0,  # the terminal's Ctrl-C is not for it
                )  # fmt: skip
            except OSError:
                self._path.unlink()
                raise
        environment[VARIABLE] = str(self._path)

    def end(self) -> None:
        """Let it end, once the JVM has, and wait until it has; one that was ended by force has left its socket."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutExpired):
            self._process.wait(ENDS_S)
        self._path.unlink(missing_ok=True)


def hand_over() -> bool:
    """Called by the process that the JVM starts: hand all to the one that waits, and wait for its end; False where none waits."""
    path = os.environ.pop(VARIABLE, None)
    if path is None:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(path)
            socket.send_fds(connection, [b"\0"], range(STREAMS))
            connection.sendall(json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode())
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            return False
        for stream in range(STREAMS):  # so that the JVM sees the end of those that have been handed over
            os.close(stream)
        with suppress(OSError):
            connection.recv(1)
    return True


def taken_over(listening: socket.socket, path: str) -> bool:
    """Called by the process that waits: wait for the one that the JVM starts and become it; False where the first process ends before."""
    with listening:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        with suppress(OSError):
            os.unlink(path)
        if listening not in ready:
            return False
        connection, _ = listening.accept()
    _, streams, _, _ = socket.recv_fds(connection, 1, STREAMS)
    with connection.makefile("rb") as file:
        sys.argv, folder, environment = json.load(file)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    _enter(folder, environment)
    # The other end sees that this process has ended, whether or not a worker is left that was forked from it.
    os.register_at_fork(after_in_child=connection.close)
    return True


def _enter(folder: str, environment: Mapping[str, str]) -> None:
    """Take the folder and the environment of the process that the JVM started."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry and entry not in sys.path]
