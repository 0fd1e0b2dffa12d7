"""What a long piece of work tells while it goes on: what it does now, and how much of it is done, in octets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

INTERVAL_S = 0.25
"""Seconds between two looks at what tasks have done."""


class Progress:
    """Takes what is told and shows nothing; `stompcap.cli.progress` has those that show it."""

    def begin(self, text: str, octets: int = 0) -> None:
        """Something else is done now, of so many octets if that is known."""

    def reached(self, octets: int) -> None:
        """So many octets of it are done, counted from its beginning."""


class Counter:
    """Octets done by several threads together."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._lock, self._octets = progress, Lock(), 0

    def add(self, octets: int) -> None:
        """So many more are done."""
        with self._lock:
            self._octets += octets
            self._progress.reached(self._octets)


class Meter:
    """Where the tasks of a job on this machine say how much they have done: a folder with a small file for each task."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder
        self._done: dict[str, int] = {}

    def add(self, step: str, task: int, amount: int) -> None:
        """So much more of a step is done by a task; nothing is told where nobody looks."""
        name = f"{step}-{task}"
        self._done[name] = self._done.get(name, 0) + amount
        if self.folder is None:
            return
        try:
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                file.write(str(self._done[name]))
        except OSError:  # the folder is gone with the job, or the disk is full: the task's own writes tell of that
            self.folder = None

    def done(self, step: str) -> int:
        """What all tasks have done of a step."""
        total = 0
        for path in Path(self.folder or os.devnull).glob(f"{step}-*"):
            try:
                total += int(path.read_text(encoding="ascii") or 0)
            except (OSError, ValueError):  # being written just now
                continue
        return total


@contextmanager
def watched(look: Callable[[Meter], None], *, here: bool) -> Iterator[Meter]:
    """A meter for tasks, which `look` is given again and again meanwhile; one that nobody reads where tasks are not `here`."""
    if not here:
        yield Meter()
        return
    with tempfile.TemporaryDirectory(prefix="stompcap-progress-", ignore_cleanup_errors=True) as folder:
        over = Event()

        def watch() -> None:
            while not over.wait(INTERVAL_S):
                look(Meter(folder))

        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield Meter(folder)
        finally:
            over.set()
            thread.join()
