"""One child process with its own process group: started, paused and reliably ended by id."""
from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType


class Process:
    """Context manager for one child; its standard output and error go to `log`."""

    def __init__(self, command: list[str], log: Path, env: dict[str, str] | None = None,
                 cwd: Path | None = None) -> None:
        self.command = command
        self.log = log
        self.env = env
        self.cwd = cwd
        self.child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Process:
        with self.log.open("ab") as out:
            self.child = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.env, cwd=self.cwd,
                start_new_session=True,
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()

    def send_signal(self, number: int) -> None:
        """Send a signal to the whole group (a broker's helpers pause and end with it)."""
        assert self.child is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, number)

    def stop(self, first: int = signal.SIGTERM, patience_s: float = 15.0) -> None:
        """End the child by signal, then by force; returns when it has ended."""
        assert self.child is not None
        self.send_signal(signal.SIGCONT)
        self.send_signal(first)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(patience_s)
        self.send_signal(signal.SIGKILL)
        self.child.wait()

    def wait_until(self, ready: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Poll `ready` until it is true; raise RuntimeError with the log's tail if the child dies or on timeout."""
        assert self.child is not None
        deadline = time.monotonic() + timeout_s
        while not ready():
            if self.child.poll() is not None or time.monotonic() > deadline:
                tail = self.log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{what} did not come up; the end of its log:\n{tail}")
            time.sleep(0.1)


def listens(address: str, port: int) -> bool:
    """Whether anything accepts a TCP connection there."""
    try:
        with socket.create_connection((address, port), timeout=0.5):
            return True
    except OSError:
        return False
