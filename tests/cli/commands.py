"""Commands run as a user runs them, each in a session of its own, so that what it leaves behind can be found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from stompcap.cli.signals import SIGNALS

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 600
WITHOUT_JAVA = "from stompcap.spark import java; java.JAVA_HOMES = (); from stompcap.cli.entry import main; main()"
"""The command on a machine where no Java lies in the usual places either."""


def hears(*ignored: signal.Signals) -> None:
    """In a child: these signals are ignored and the others that end commands are not, whatever the tests were started with."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, what it wrote, seconds it took, seconds from the signal to the end, processes left behind."""

    code: int
    out: str
    err: str
    took_s: float
    ending_s: float
    left: list[str]

    @property
    def lines(self) -> list[str]:
        """What it said on standard error."""
        return self.err.splitlines()


def in_session(session: int) -> list[str]:
    """The processes of a session that run, by number and command line."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            state, _, _, belongs = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:4]
            if int(belongs) == session and state not in "ZX":
                found.append(f"{name} {Path(f'/proc/{name}/cmdline').read_bytes().decode(errors='replace')[:120]}")
        except OSError:
            continue
    return found


def until_handled(child: subprocess.Popen[bytes]) -> None:
    """Wait until a command handles signals: Python, which is still starting before that on a busy machine, prints a traceback."""
    while child.poll() is None:
        caught = Path(f"/proc/{child.pid}/status").read_text().partition("SigCgt:")[2].split()[:1]
        if caught and int(caught[0], 16) >> (signal.SIGTERM - 1) & 1:  # Python itself catches SIGINT
            return
        time.sleep(0.005)


def run(
    *words: str,
    number: signal.Signals | None = None,
    after_s: float = LONGEST_S,
    program: Sequence[str] = ("-m", "stompcap"),
    folder: Path | None = None,
    output: IO[bytes] | None = None,
    **environment: str,
) -> Ended:
    """Run a command, in a folder; send it a signal after so many seconds from when it handles such signals, if it runs then."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # a pipe would be open as long as anything that was left
        child = subprocess.Popen(
            [sys.executable, *program, *words], stdin=subprocess.DEVNULL, stdout=output or out, stderr=err, cwd=folder,
            start_new_session=True, preexec_fn=hears, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )  # fmt: skip
        signalled = began
        if number in SIGNALS:
            until_handled(child)
        try:
            child.wait(after_s)
        except subprocess.TimeoutExpired:
            signalled = time.monotonic()
            child.send_signal(number or signal.SIGKILL)
            child.wait(60)
        ended, left = time.monotonic(), in_session(child.pid)
        said = [(file.seek(0), file.read().decode(errors="replace"))[1] for file in (out, err)]
    return Ended(child.returncode, *said, ended - began, ended - signalled, left)
