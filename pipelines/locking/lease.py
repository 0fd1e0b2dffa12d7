"""The lock of a lake on an object store: a lease that its holder renews, because a store has no lock that ends with a process.

Holders are numbered. The process that commits version 0 of the Delta table `_lock/<number>` is the holder of that number: stores let only
one writer create an object (put-if-absent, which every Delta commit relies on). The holder of the highest number holds the lake until it
writes that it has ended, or has not renewed the lease for `LEASE_S`. A folder is removed only when there is a higher number. All times are
the store's, so the clocks of the machines need not agree.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow import fs

from stompcap.lake import stores
from stompcap.lake.paths import filesystem, location

NAME = "_lock"
BEAT_S = 15.0
LEASE_S = 90.0
ENTRY, ALIVE, ENDED = "_delta_log/00000000000000000000.json", "alive", "ended"
TOKEN = "token"


@dataclass(frozen=True)
class Holder:
    """The holder of the highest number, described by its first log entry, and whether it still holds the lake."""

    number: int
    who: bytes
    holds: bool


class Lease:
    """The lease of a lake for one process: `take`, then `end`."""

    def __init__(self, lake: str) -> None:
        self._lake, self._where = lake, location(lake, NAME)
        self._system, self._root = filesystem(self._where)
        self._number = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beats, daemon=True)

    def latest(self) -> Holder | None:
        """The holder of the highest number; None if the lake was never held."""
        numbers = self._numbers()
        if not numbers:
            return None
        number = max(numbers)
        files = numbers[number]
        text = self._read(f"{self._root}/{number}/{ENTRY}")
        holds = ENDED not in files and self._now_ns() - max(files.values()) < LEASE_S * 1e9
        return Holder(number, text, holds)

    def take(self, who: dict[str, object], after: Holder | None) -> bool:
        """Try to become the next holder after one that no longer holds the lake; whether that succeeded."""
        number, token = (after.number if after else 0) + 1, uuid.uuid4().hex
        where = f"{self._where}/{number}"
        with stores.explained(self._lake), suppress(DeltaError):  # the entry read below tells who won
            DeltaTable.create(
                where, pa.schema([("nothing", pa.int64())]), mode="error", description=json.dumps({**who, TOKEN: token}),
                storage_options=stores.settings(where), commit_properties=CommitProperties(max_commit_retries=0),
            )  # fmt: skip
        if token.encode() not in self._read(f"{self._root}/{number}/{ENTRY}") or max(self._numbers(), default=0) != number:
            return False
        self._number = number
        self._thread.start()
        for old in self._system.get_file_info(fs.FileSelector(self._root)):
            if old.type == fs.FileType.Directory and old.base_name.isdecimal() and int(old.base_name) < number:
                self._system.delete_dir(old.path)
        return True

    def lost(self) -> bool:
        """Whether another process has taken the lake because this one did not renew its lease in time."""
        return max(self._numbers(), default=0) > self._number

    def end(self) -> None:
        """Release the lake; if the store does not answer, the lease expires."""
        self._ended.set()
        self._thread.join()
        with suppress(OSError):
            if not self.lost():
                self._write(f"{self._number}/{ENDED}")

    def _beats(self) -> None:
        while not self._ended.wait(BEAT_S):
            with suppress(OSError):  # the next renewal may succeed
                if self.lost():
                    return
                self._write(f"{self._number}/{ALIVE}")

    def _numbers(self) -> dict[int, dict[str, int]]:
        """The files of each number that has a holder, with the times at which they were written."""
        found: dict[int, dict[str, int]] = {}
        with stores.explained(self._lake):
            infos = self._system.get_file_info(fs.FileSelector(self._root, allow_not_found=True, recursive=True))
        for info in infos:
            number, _, name = info.path.removeprefix(f"{self._root}/").partition("/")
            if info.type == fs.FileType.File and number.isdecimal():
                found.setdefault(int(number), {})[name] = info.mtime_ns or 0
        return {number: files for number, files in found.items() if ENTRY in files}

    def _now_ns(self) -> int:
        """The time by the store's clock."""
        name = f"asking-{uuid.uuid4().hex}"
        self._write(name)
        path = f"{self._root}/{name}"
        now = self._system.get_file_info(path).mtime_ns
        self._system.delete_file(path)
        return now or time.time_ns()

    def _read(self, path: str) -> bytes:
        try:
            with self._system.open_input_stream(path) as stream:
                octets: bytes = stream.read()
        except FileNotFoundError:  # a later holder has removed it
            return b""
        return octets

    def _write(self, name: str) -> None:
        with stores.explained(self._lake), self._system.open_output_stream(f"{self._root}/{name}") as stream:
            stream.write(b"")


def holder_of(entry: bytes) -> bytes:
    """The description that a holder wrote into its log entry."""
    for line in entry.splitlines():
        with suppress(ValueError):
            if described := json.loads(line).get("metaData", {}).get("description"):
                return str(described).encode()
    return b""
