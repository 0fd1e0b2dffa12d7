"""Compiles all kernels ahead, in as many processes as there are processors.

Processes share compiled kernels through the cache. A stamp in its folder records that all are compiled, and for which processor.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from stompcap import baseline, kernel_cache
from stompcap.errors import EnvironmentProblem
from stompcap.prepare.order import Order
from stompcap.prepare.signatures import LIST, Signature, listed
from stompcap.spark.processes import bound, spared

Report = Callable[[int, int], None]  # called with how many are done, of how many


def prepare(report: Report = lambda done, total: None, processes: int | None = None) -> int:
    """Compile what is not compiled yet; returns how many kernels were checked, 0 where all were known to be compiled.

    Where another process compiles them, it is waited for. Raises EnvironmentProblem where they cannot be written.
    """
    if compiled():
        return 0
    folder = kernel_cache.own_folder()
    with _writable(folder), kernel_cache.writing(folder, kernel_cache.PREPARING):
        if compiled():
            return 0
        wanted = listed()
        _compile(wanted, report, processes or _processors())
        (folder / _stamp()).write_text(f"{len(wanted)} kernels\n", "utf-8")
    return len(wanted)


def ship(report: Report = lambda done, total: None) -> int:
    """Compile for the baseline, into this environment, so that it includes kernels wherever it is unpacked; returns how many it has new.

    They are compiled in a folder of the user's cache, from which the next environment with the same sources has them too.
    Raises EnvironmentProblem where either cannot be written, or this machine's processor does not reach the baseline.
    """
    level = baseline.of_this_machine()
    if not baseline.runs(level):
        raise EnvironmentProblem(f"this processor does not support the shipped level {level.cpu_name}; use another machine")
    if kernel_cache.shipped_folder() is not None and compiled():
        return 0
    kept, there = kernel_cache.own_folder().parent / level.cpu_name, baseline.folder() / kernel_cache.name()
    named = {kernel_cache.VARIABLE: str(kept), "NUMBA_CPU_NAME": level.cpu_name, "NUMBA_CPU_FEATURES": level.cpu_features}
    before = {name: os.environ.get(name) for name in named}
    os.environ.update(named)  # for the compiling processes; this one has already imported numba
    baseline.use(level)
    try:
        prepare(report)
        with _writable(there):
            locks = shutil.ignore_patterns(kernel_cache.LOCK, kernel_cache.PREPARING)
            shutil.copytree(kernel_cache.own_folder(), there, ignore=locks, dirs_exist_ok=True)
            baseline.state(there, level)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    return len(listed())


def compiled() -> bool:
    """Whether all kernels are compiled for the current processor level."""
    kernel_cache.use()  # shipped kernels decide the level that numba compiles for
    stamp = _stamp()
    return any((folder / stamp).exists() for folder in kernel_cache.folders())


def _stamp() -> str:
    """The name of the stamp: it changes with the list and the processor."""
    level = baseline.in_force()
    digest = hashlib.sha256("\n".join((level.cpu_name, level.cpu_features, LIST.read_text("utf-8"))).encode())
    return f"{kernel_cache.STAMP}{digest.hexdigest()[:16]}"


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _compile(wanted: list[Signature], report: Report, processes: int) -> None:
    report(0, len(wanted))
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"), initializer=bound()) as pool:
        try:
            for done, _ in enumerate(_one_by_one(pool, Order(wanted), processes), 1):
                report(done, len(wanted))
        except BrokenProcessPool as error:
            remedy = "a compiling process was killed, probably for lack of memory; free some and run again, finished kernels are kept"
            raise EnvironmentProblem(remedy) from error
        except BaseException:
            for child in multiprocessing.active_children():  # a kernel may take half a minute
                child.terminate()
            raise


def _one_by_one(pool: ProcessPoolExecutor, order: Order, processes: int) -> Iterator[Signature]:
    """Every signature, once it is compiled."""
    running: dict[Future[None], Signature] = {}
    while True:
        while len(running) < processes and (one := order.take()):
            with spared():
                running[pool.submit(Signature.compile, one)] = one
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            future.result()
            order.done(running[future])
            yield running.pop(future)


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = f"make room, or set {kernel_cache.VARIABLE} or XDG_CACHE_HOME to a folder that this user may write"
        raise EnvironmentProblem(f"{folder}: cannot be written ({error.strerror}); {remedy}") from error
