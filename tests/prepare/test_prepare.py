"""Kernels compiled ahead: a run finds all of them, wherever the sources and the environment lie."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest

from stompcap import baseline, kernel_cache
from stompcap.prepare import kernels
from stompcap.prepare.order import Order, callees
from stompcap.prepare.signatures import Signature, listed, read, spell

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import glob, sys
from numba.core.registry import CPUDispatcher
from stompcap.prepare.signatures import Signature, spell
from tests.e2e.pure import tables_of
tables_of(sorted(glob.glob("data/*.pcap*")))
kernels = {value for name, module in list(sys.modules.items()) if name.startswith("stompcap.")
           for value in vars(module).values() if isinstance(value, CPUDispatcher)}
for kernel in kernels:
    for types in kernel.signatures:
        print(Signature(kernel.py_func.__module__, kernel.py_func.__name__, tuple(map(spell, types))))
"""


def python(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python of its own, in which stompcap is this one."""
    surroundings = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)


def test_every_listed_kernel_is_there_and_its_types_are_spelled_alike() -> None:
    for one in listed():
        assert hasattr(one.dispatcher(), "py_func"), one
        assert tuple(spell(read(word)) for word in one.arguments) == one.arguments


@pytest.mark.parametrize("word", ["int", "int64[", "nothing.Here(int64)", ""])
def test_words_that_are_no_types(word: str) -> None:
    with pytest.raises((ValueError, ImportError, AttributeError)):
        read(word)


def test_what_is_called_is_compiled_before_its_caller() -> None:
    order, calls, before = Order(listed()), callees(listed()), set()
    left = {(one.module, one.function) for one in listed()}
    while one := order.take():
        key = (one.module, one.function)
        assert calls[key] & left <= before | {key}
        order.done(one)
        if not any((other.module, other.function) == key for other in order._waiting):
            before.add(key)
    assert before == left


@pytest.mark.slow
def test_the_folder_is_named_by_what_the_sources_say_and_not_by_where_they_lie(tmp_path: Path) -> None:
    (tmp_path / "stompcap").mkdir()
    for source in (ROOT / "stompcap").rglob("*.py"):
        there = tmp_path / source.relative_to(ROOT)
        there.parent.mkdir(exist_ok=True)
        there.write_bytes(source.read_bytes())
    ask = "from stompcap import kernel_cache; print(kernel_cache.own_folder())"
    assert python("-P", "-c", ask, PYTHONPATH=str(tmp_path)).stdout.strip().endswith(kernel_cache.name())
    with (tmp_path / "stompcap" / "wire_order.py").open("a") as file:
        file.write("MORE = 1\n")
    assert not python("-P", "-c", ask, PYTHONPATH=str(tmp_path)).stdout.strip().endswith(kernel_cache.name())


def test_kernels_of_an_environment_are_read_and_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "shipped_kernel.py"
    module.write_text("from stompcap.kernel import kernel\n\n\n@kernel\ndef twice(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setattr(baseline, "folder", lambda: tmp_path / "shipped")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here = baseline.in_force()

    def calls() -> list[int]:
        sys.modules.pop("shipped_kernel", None)
        from shipped_kernel import twice

        assert (twice(3), twice(3.5)) == (6, 7.0)
        return [sum(hits.values()) for hits in (twice.stats.cache_hits, twice.stats.cache_misses)]

    assert calls() == [0, 2]
    kernel_cache.own_folder().parent.rename(tmp_path / "shipped")
    assert calls() == [0, 2]  # nothing says what processor those are for
    baseline.state(tmp_path / "shipped" / kernel_cache.name(), here)
    before = sorted((tmp_path / "shipped").rglob("*"))
    assert calls() == [2, 0]
    assert sorted((tmp_path / "shipped").rglob("*")) == before


def test_kernels_for_another_processor_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    baseline.state(tmp_path, baseline.Baseline("some", "+nothing-has-this"))
    assert not baseline.fits(tmp_path)
    (tmp_path / baseline.FILE).write_text("{")
    assert not baseline.fits(tmp_path)
    baseline.state(tmp_path, baseline.Baseline("generic", ""))
    assert baseline.fits(tmp_path)


def test_what_cannot_be_kept_is_compiled_nonetheless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    from stompcap.kernel import kernel

    @kernel
    def total(values: np.ndarray) -> float:
        found = 0.0
        for value in values:
            found += value
        return found

    assert total(np.arange(4.0)) == 6.0


def test_a_cache_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = python("-m", "stompcap", "prepare", NUMBA_CACHE_DIR=str(tmp_path / "file"))
    assert done.returncode == 3
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_done_work_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    few = [Signature("stompcap.capture.integers", "u32", ("const-uint8[::1]", "int64", "bool"))]
    monkeypatch.setattr(kernels, "listed", lambda: few)
    said: list[tuple[int, int]] = []
    assert not kernels.compiled()
    assert kernels.prepare(lambda done, total: said.append((done, total)), 1) == 1
    assert said == [(0, 1), (1, 1)]
    assert kernels.compiled()
    assert kernels.prepare() == 0


def test_kernels_that_another_process_compiles_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "_compile", None)
    with ThreadPoolExecutor(1) as pool:
        with kernel_cache.writing(kernel_cache.own_folder(), kernel_cache.PREPARING):
            waits = pool.submit(kernels.prepare)
            with pytest.raises(TimeoutError):
                waits.result(0.3)
            (kernel_cache.own_folder() / kernels._stamp()).touch()
        assert waits.result(30) == 0


def test_kernels_that_came_with_the_environment_are_known_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUMBA_CACHE_DIR", "NUMBA_CPU_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CPU_NAME", "CPU_FEATURES"):
        monkeypatch.setitem(vars(numba.config), name, None)
    monkeypatch.setattr(baseline, "folder", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert not kernels.compiled()
    folder = tmp_path / kernel_cache.name()
    folder.mkdir()
    baseline.state(folder, baseline.Baseline("generic", ""))
    assert not kernels.compiled()
    assert baseline.in_force() == baseline.Baseline("generic", "")
    (folder / kernels._stamp()).touch()
    assert kernels.compiled()


@pytest.mark.slow
def test_what_one_environment_ships_the_next_has_without_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUMBA_CACHE_DIR", "NUMBA_CPU_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CPU_NAME", "CPU_FEATURES"):
        monkeypatch.setitem(vars(numba.config), name, None)
    if not baseline.runs(baseline.of_this_machine()):
        pytest.skip("this processor does not reach the baseline")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    few = [Signature("stompcap.capture.integers", "u32", ("const-uint8[::1]", "int64", "bool"))]
    monkeypatch.setattr(kernels, "listed", lambda: few)
    for name in ("one", "two"):
        there = tmp_path / name
        monkeypatch.setattr(baseline, "folder", lambda there=there: there)
        assert kernels.ship() == 1
        assert kernels.compiled()
        assert kernel_cache.shipped_folder() == there / kernel_cache.name()
        assert kernels.ship() == 0
        monkeypatch.setattr(kernels, "_compile", None)  # nothing is left to compile

    def files(folder: Path) -> dict[str, bytes]:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert [name for name in files(tmp_path / "one") if name.endswith(".nbc")]


@pytest.mark.slow
def test_all_that_a_run_over_the_recorded_captures_calls_is_compiled_ahead() -> None:
    ran = python("-c", RUN)
    called = set(ran.stdout.splitlines())
    assert len(called) > 30, ran.stderr
    assert called <= set(map(str, listed())), "make kernels lists them anew"


@pytest.mark.slow
def test_what_is_prepared_is_known_to_be() -> None:
    assert kernels.prepare() in (0, len(listed()))
    began = time.monotonic()
    assert python("-m", "stompcap", "prepare", "--quiet").returncode == 0
    assert time.monotonic() - began < 5
