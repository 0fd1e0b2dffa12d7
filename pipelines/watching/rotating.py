"""Decides which files of a watched folder are read now: those that the capture program has finished, or does not write to now.

A file that is named on the command line is read whenever it has changed. A file found in a folder or by a glob is read once it is at
rest: it has not changed since the last look, or was last modified longer ago than the time between two looks. This rule needs neither names
nor a signal from the capture program. If that program writes to the file again, nothing is lost: a later round reads what was added
(`stompcap.capture.survey`). Files of one period, whose names have the same numbers, are read together, for each of several taps may have
captured one direction of a connection.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stompcap.capture import uris
from stompcap.capture.find import find, sizes
from stompcap.capture.rotation import period
from stompcap.errors import CaptureError

LONG_S = 3600
"""A warning names a file, once, that has been written to for so long without being at rest."""

MOST_ROUNDS = 64
"""A file that cannot be read is tried again after 1, 2, 4, ... rounds, but never later than after so many."""


class Seen(NamedTuple):
    """A file as one look found it: values that a write, a rename, or a change of permissions alters. Times in nanoseconds; 0 for a URI."""

    octets: int
    modified: int
    changed: int
    inode: int


@dataclass(frozen=True)
class Due:
    """The result of one look: files to read now, each as it was seen, and files that are being written."""

    files: dict[str, Seen] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    long: list[str] = field(default_factory=list)
    """Those of `written` that the warning names: they have been written to for `LONG_S`."""
    refused: list[CaptureError] = field(default_factory=list)
    """Errors of files that could not be looked at, but for those that the last look had too."""


class Rotating:
    """Looks at files, folders, globs and URIs again and again, `still_s` seconds apart or more.

    `now` gives seconds since the epoch.
    """

    def __init__(self, named: Sequence[str], still_s: float, now: Callable[[], float] = time.time) -> None:
        self._named, self._still_s, self._now = named, still_s, now
        self._outright = {uris.local(name) for name in named}
        self._last: dict[str, Seen] = {}
        self._taken: dict[str, Seen] = {}
        self._unreadable: dict[str, tuple[Seen, int, int]] = {}
        self._written_since: dict[str, float] = {}
        self._refused: set[str] = set()
        self._looks = 0

    def look(self) -> Due:
        """Look at all files; a file stays due until `taken` is called with it. Files that are gone are forgotten."""
        self._looks += 1
        due = Due()
        refused: list[CaptureError] = []
        now, before, self._last = self._now(), self._last, _seen(find(self._named, refused.append))
        for path, seen in self._last.items():
            if not seen.octets or self._taken.get(path) == seen:
                continue
            if path not in self._outright and seen != before.get(path) and now - seen.modified / 1e9 < self._still_s:
                due.written.append(path)
            elif path not in self._unreadable or self._unreadable[path][0] != seen or self._looks >= self._unreadable[path][2]:
                due.files[path] = seen
        self._held_for_partners(due)
        due.refused.extend(error for error in refused if str(error) not in self._refused)
        self._refused = {str(error) for error in refused}
        self._written_since = {path: self._written_since.get(path, now) for path in due.written}
        for path, since in self._written_since.items():
            if now - since >= LONG_S:
                due.long.append(path)
                self._written_since[path] = float("inf")
        self._taken = {path: seen for path, seen in self._taken.items() if path in self._last}
        self._unreadable = {path: tried for path, tried in self._unreadable.items() if path in self._last}
        return due

    def _held_for_partners(self, due: Due) -> None:
        """Leave out a file if another one of its period is still being written: each of two taps may have one direction."""
        written = {period(path) for path in due.written if self._written_since.get(path) != float("inf")} - {None}
        for path in [path for path in due.files if path not in self._outright and period(path) in written]:
            del due.files[path]

    def taken(self, due: Due, unreadable: Collection[str]) -> None:
        """Note that the due files were read as they were seen, except those that are `unreadable`."""
        for path, seen in due.files.items():
            if path in unreadable:
                tried_as, pause, _ = self._unreadable.get(path, (seen, 0, 0))
                pause = min(2 * pause, MOST_ROUNDS) if pause and tried_as == seen else 1
                self._unreadable[path] = seen, pause, self._looks + pause
            else:
                self._taken[path] = seen
                self._unreadable.pop(path, None)


def _seen(paths: Sequence[str]) -> dict[str, Seen]:
    """Each file as it is now; those that have gone meanwhile are left out."""
    remote = [path for path in paths if uris.is_uri(path)]
    found = {path: Seen(octets, 0, 0, 0) for path, octets in zip(remote, sizes(remote), strict=True)}
    for path in paths:
        if path not in found:
            try:
                status = os.stat(uris.local(path))
            except OSError:
                continue
            found[path] = Seen(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return found
