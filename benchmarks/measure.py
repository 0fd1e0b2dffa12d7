"""Runs a command and measures it: wall-clock seconds, and the peak memory of all its processes together."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
INTERVAL_S = 0.1


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds, peak resident octets of its process tree, what it printed on standard output."""

    seconds: float
    peak_octets: int
    output: str


class CommandFailedError(Exception):
    """A command failed; the text is the end of its error output."""


def run(command: Sequence[str], *, keep_output: bool = False) -> Run:
    """Run a command to its end. Raises CommandFailedError where its exit code is not 0.

    Resident memory is sampled from /proc ten times per second; pages that processes share, such as a mapped file, count
    for each of them.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE if keep_output else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    peak = _Peak(process.pid)
    peak.start()
    output, complaint = process.communicate()
    seconds = time.monotonic() - began
    peak.done.set()
    peak.join()
    if process.returncode != 0:
        raise CommandFailedError((complaint or "").strip()[-300:] or f"exit code {process.returncode}")
    return Run(seconds, peak.octets, output or "")


class _Peak(threading.Thread):
    """Samples the memory of a process and all its descendants until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.octets = 0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(INTERVAL_S):
            self.octets = max(self.octets, sum(resident(pid) for pid in tree(self.pid)))


def tree(root: int) -> list[int]:
    """The process and its descendants."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                waiting += [int(child) for child in listed.read_text().split()]
            except OSError:  # has ended
                continue
    return found


def resident(pid: int) -> int:
    """Octets of a process in memory; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0
