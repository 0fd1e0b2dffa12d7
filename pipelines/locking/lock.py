"""The lock of a lake: it allows one run at a time, and names its holder. On object stores it is a lease (`pipelines/locking/lease.py`)."""

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

from pipelines.locking.lease import LEASE_S, Lease, holder_of
from stompcap.errors import EnvironmentProblem, LakeBusy
from stompcap.progress import Progress

NAME = ".lock"
POLL_S = 0.2
STORE_POLL_S = 1.0
WAIT = ", or wait for it with --wait"
LONGEST = 200
"""Characters of a command that the lock keeps."""

_LEASES: dict[str, Lease] = {}


@contextlib.contextmanager
def held(lake: str, wait_s: float = 0, progress: Progress | None = None) -> Iterator[None]:
    """Lock a lake, waiting at most `wait_s` seconds for another run; raises LakeBusy after that.

    The kernel releases the lock when the process ends, however it ends. On an object store the lease of a killed process ends after 90 s.
    """
    if "://" in lake:
        with _leased(lake, wait_s, progress or Progress()):
            yield
        return
    try:
        handle = os.open(os.path.join(lake, NAME), os.O_RDWR | os.O_CREAT, 0o666)  # less what the umask takes
    except OSError as error:
        raise EnvironmentProblem(f"{lake}: the lake cannot be written ({error.strerror}); check its permissions") from error
    try:
        _take(handle, lake, wait_s, progress or Progress())
        _write(handle, json.dumps(_myself()).encode())
        yield
        _write(handle, b"")
    finally:
        os.close(handle)


@contextlib.contextmanager
def _leased(lake: str, wait_s: float, progress: Progress) -> Iterator[None]:
    """As `held`, on an object store."""
    lease, until, waiting = Lease(lake), time.monotonic() + wait_s, False
    while ((before := lease.latest()) is not None and before.holds) or not lease.take(_myself(), before):
        holder = _named(holder_of(before.who)) if before else ""
        if before and before.holds and time.monotonic() >= until:
            advice = f"try again when it has ended{'' if wait_s else WAIT}"
            raise LakeBusy(f"{lake}: another run holds the lake{holder}; {advice}; if it was killed, its hold ends {LEASE_S:.0f} s later")
        if not waiting and before and before.holds:
            waiting = True
            progress.begin(f"waiting for another run that holds the lake{holder}")
        time.sleep(STORE_POLL_S)
    _LEASES[lake] = lease
    try:
        yield
    finally:
        del _LEASES[lake]
        lease.end()


def demand(lake: str) -> None:
    """Raise LakeBusy if another process has taken the lease of this one; called before each commit."""
    lease = _LEASES.get(lake)
    if lease is not None and lease.lost():
        raise LakeBusy(f"{lake}: this run was out of touch with the store for too long, and another one has taken the lake; run again")


def _take(handle: int, lake: str, wait_s: float, progress: Progress) -> None:
    """Lock the file, waiting at most `wait_s` seconds."""
    until = time.monotonic() + wait_s
    waiting = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                advice = "try again when it has ended" + ("" if wait_s else WAIT)
                raise LakeBusy(f"{lake}: another run holds the lake{_holder(handle)}; {advice}") from error
        else:
            return
        if not waiting:
            waiting = True
            progress.begin(f"waiting for another run that holds the lake{_holder(handle)}")
        time.sleep(POLL_S)


def _myself() -> dict[str, object]:
    """This process as the lock describes it: without options, because one of them may be a secret."""
    words = takewhile(lambda word: not word.startswith("-"), sys.argv[1:])
    command = shlex.join([os.path.basename(sys.argv[0]), *words])[:LONGEST]
    began = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return {"pid": os.getpid(), "host": platform.node(), "command": command, "began": began}


def _write(handle: int, octets: bytes) -> None:
    os.ftruncate(handle, 0)
    with contextlib.suppress(OSError):  # on a full disk nobody is told who holds the lake, which may be here to free some of it
        os.pwrite(handle, octets, 0)


def _holder(handle: int) -> str:
    """The holder as the lock describes it; empty if it does not."""
    return _named(os.pread(handle, 4096, 0))


def _named(entry: bytes) -> str:
    try:
        who = json.loads(entry)
        return f" ({who['command']}, process {who['pid']} on {who['host']}, since {who['began']})"
    except (ValueError, KeyError, TypeError):
        return ""
