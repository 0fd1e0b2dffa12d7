"""Runs a command and measures it: seconds by the clock, processor seconds and the peak memory of all its processes together."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
INTERVAL_S = 0.1
REST = 50
"""Between two looks at memory lie so many times what one took: the kernel counts each page for it."""


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds, processor seconds, peak anonymous memory in octets, what it printed on standard output."""

    seconds: float
    cpu_seconds: float
    peak_octets: int
    output: str


class CommandFailedError(Exception):
    """A command failed; the text is the end of its error output."""


def run(command: Sequence[str], *, keep_output: bool = False) -> Run:
    """Run a command to its end. Raises CommandFailedError where its exit code is not 0.

    Processor time and memory are those of all its processes, sampled from /proc, the first ten times a second. Memory is what no file
    backs; a page that several processes share, as forked ones do, counts once.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE if keep_output else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    usage = _Usage(process.pid)
    usage.start()
    output, complaint = process.communicate()
    seconds = time.monotonic() - began
    usage.done.set()
    usage.join()
    if process.returncode != 0:
        raise CommandFailedError((complaint or "").strip()[-300:] or f"exit code {process.returncode}")
    return Run(seconds, sum(usage.ticks.values()) / TICKS, usage.octets, output or "")


class _Usage(threading.Thread):
    """Samples a process and all its descendants until it is stopped: of each the processor time that it was last seen to have taken."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.ticks: dict[int, int] = {}
        self.octets = 0
        self.done = threading.Event()

    def run(self) -> None:
        due = 0.0
        while not self.done.wait(INTERVAL_S):
            pids = tree(self.pid)
            self.ticks |= {pid: taken for pid in pids if (taken := ticks(pid))}
            now = time.monotonic()
            if now >= due:
                self.octets = max(self.octets, sum(anonymous(pid) for pid in pids))
                due = now + REST * (time.monotonic() - now)


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


def ticks(pid: int) -> int:
    """Ticks of the clock for which a process had a processor; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def anonymous(pid: int) -> int:
    """Octets of a process that no file backs, its share of those that it has with others; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon:"))


def slope(measured: Mapping[int, float], octets: Mapping[int, int]) -> float | None:
    """Octets per second between the smallest and the largest size; None if there is one size or noise is larger."""
    if len(measured) < 2:
        return None
    small, large = min(measured), max(measured)
    spent = measured[large] - measured[small]
    return (octets[large] - octets[small]) / spent if spent > 0 else None
