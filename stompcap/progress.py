"""Progress of long work: the current step, and how much of it is done, in octets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

INTERVAL_S = 0.25
"""Seconds between two reads of the tasks' progress."""


class Progress:
    """Receives progress and shows nothing; `stompcap.cli.progress` has subclasses that show it."""

    def begin(self, text: str, octets: int = 0) -> None:
        """A new step begins, of so many octets if that is known."""

    def reached(self, octets: int) -> None:
        """So many octets of the step are done."""


class Counter:
    """Octets done by several threads together."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._lock, self._octets = progress, Lock(), 0

    def add(self, octets: int) -> None:
        """Add octets that are done."""
        with self._lock:
            self._octets += octets
            self._progress.reached(self._octets)


class Meter:
    """Where the tasks of a job on this machine write their progress: a folder with a small file for each task."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder
        self._done: dict[str, int] = {}

    def add(self, step: str, task: int, amount: int) -> None:
        """Add to what a task has done of a step; written only where it is read."""
        name = f"{step}-{task}"
        self._done[name] = self._done.get(name, 0) + amount
        if self.folder is None:
            return
        try:
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                file.write(str(self._done[name]))
        except OSError:  # the folder is gone with the job, or the disk is full, which the task's own writes will report
            self.folder = None

    def done(self, step: str) -> int:
        """How much all tasks have done of a step."""
        total = 0
        for path in Path(self.folder or os.devnull).glob(f"{step}-*"):
            try:
                total += int(path.read_text(encoding="ascii") or 0)
            except (OSError, ValueError):  # being written
                continue
        return total


@contextmanager
def watched(read: Callable[[Meter], None], *, here: bool) -> Iterator[Meter]:
    """A meter for tasks, passed to `read` at intervals; where tasks are not `here`, it is never read."""
    if not here:
        yield Meter()
        return
    with tempfile.TemporaryDirectory(prefix="stompcap-progress-", ignore_cleanup_errors=True) as folder:
        over = Event()

        def watch() -> None:
            while not over.wait(INTERVAL_S):
                read(Meter(folder))

        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield Meter(folder)
        finally:
            over.set()
            thread.join()
