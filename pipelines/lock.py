"""The lock of a lake on a local file system: one run at a time, and word of who holds it."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator
from itertools import takewhile

from stompcap.errors import EnvironmentProblem, LakeBusy
from stompcap.progress import Progress

NAME = ".lock"
POLL_S = 0.2
LONGEST = 200
"""Characters of a command that the lock keeps."""


@contextlib.contextmanager
def held(lake: str, wait_s: float = 0, progress: Progress | None = None) -> Iterator[None]:
    """Hold a lake against other runs, after waiting for one that has it for at most `wait_s` seconds; raises LakeBusy.

    The lock is the kernel's and ends with the process, however it ends. Object stores have none: one scheduler per lake there.
    """
    if "://" in lake:
        yield
        return
    try:
        handle = os.open(os.path.join(lake, NAME), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise EnvironmentProblem(f"{lake}: the lake cannot be written ({error.strerror}); check its permissions") from error
    try:
        _take(handle, lake, wait_s, progress or Progress())
        _write(handle, _myself())
        yield
        _write(handle, b"")
    finally:
        os.close(handle)


def _take(handle: int, lake: str, wait_s: float, progress: Progress) -> None:
    """Lock, within the time given."""
    until = time.monotonic() + wait_s
    waiting = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                advice = "try again when it has ended" if wait_s else "try again when it has ended, or wait for it with --wait"
                raise LakeBusy(f"{lake}: another run holds the lake{_holder(handle)}; {advice}") from error
        else:
            return
        if not waiting:
            waiting = True
            progress.begin(f"waiting for another run that holds the lake{_holder(handle)}")
        time.sleep(POLL_S)


def _myself() -> bytes:
    """What the lock says of this process: no options, as one of them may be a secret."""
    words = takewhile(lambda word: not word.startswith("-"), sys.argv[1:])
    command = shlex.join([os.path.basename(sys.argv[0]), *words])[:LONGEST]
    began = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return json.dumps({"pid": os.getpid(), "host": platform.node(), "command": command, "began": began}).encode()


def _write(handle: int, octets: bytes) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, octets, 0)


def _holder(handle: int) -> str:
    """Who holds the lock, as far as it says so."""
    try:
        who = json.loads(os.pread(handle, 4096, 0))
        return f" ({who['command']}, process {who['pid']} on {who['host']}, since {who['began']})"
    except (ValueError, KeyError, TypeError):
        return ""
