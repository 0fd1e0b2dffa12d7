"""Processes that come from this one, and their end: none is left behind, however this one ends.

Linux ends a child with the thread that started it, hands orphans to an ancestor that asks for them (prctl(2)) and says who is whose
child (proc_pid_stat(5)). Elsewhere nothing of this is done: a JVM that Spark started ends with its standard input, its workers with it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOOK_S = 0.02
FORCED_S = 3.0
"""How long to wait for a process that was asked to end: one in the middle of a write to a disk that hangs does not."""


@lru_cache(maxsize=1)
def _prctl() -> Callable[..., Any] | None:
    """The system call; None where the system has none."""
    return getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None


def bound() -> Callable[[], None]:
    """What a child calls before it becomes another program, or first of all: the end of the thread that started it ends it then.

    It is made by the parent, for a child that was forked may load nothing. The terminal's Ctrl-C is left to the parent.
    """
    _prctl()
    return partial(_bind, os.getpid())


def _bind(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # were it ignored here, it would be there too, and nothing would end it
    if prctl := _prctl():
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it ended before it was asked
            os._exit(1)


@contextmanager
def spared() -> Iterator[None]:
    """Children that are started meanwhile never hear of the terminal's Ctrl-C, from their first instruction on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def adopt() -> None:
    """Become the parent of what children leave behind, so that `end_children` finds it."""
    if prctl := _prctl():
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> list[int]:
    """The processes that come from this one, those that have ended left out; empty where the system does not list them."""
    children = defaultdict(list)
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    children[int(parent)].append(int(name))
    found, look = [], [root]
    while look:
        mine = children[look.pop()]
        found += mine
        look += mine
    return found


def end_children(patience_s: float) -> None:
    """End all that comes from this process: asked first, forced after so many seconds."""
    asked: set[int] = set()
    began = time.monotonic()
    while (left := descendants(os.getpid())) and (passed := time.monotonic() - began) < patience_s + FORCED_S:
        for process in left:
            if passed >= patience_s or process not in asked:
                with suppress(OSError):
                    os.kill(process, signal.SIGTERM if passed < patience_s else signal.SIGKILL)
        asked.update(left)
        time.sleep(LOOK_S)
