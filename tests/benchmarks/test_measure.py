"""What the benchmark reads off a command: memory of the whole tree, output, failure; and what it makes of seconds."""

from __future__ import annotations

import sys

import pytest

from benchmarks.measure import CommandFailedError, run, slope


def test_memory_of_children_counts() -> None:
    child = "import time; held = bytearray(200_000_000); time.sleep(0.5)"
    done = run([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"])
    assert done.peak_octets > 200_000_000


def test_processor_time_of_children_counts_and_waiting_does_not() -> None:
    child = "import time; end = time.process_time() + 0.6\nwhile time.process_time() < end: pass"
    done = run([sys.executable, "-c", f"import subprocess, sys, time; time.sleep(0.5); subprocess.run([sys.executable, '-c', {child!r}])"])
    assert 0.4 < done.cpu_seconds < done.seconds


def test_pages_of_forked_processes_count_once() -> None:
    forking = """
import os, time
held = b"x" * 200_000_000
children = [os.fork() for _ in range(2)]
time.sleep(0.8)
"""
    assert 200_000_000 < run([sys.executable, "-c", forking]).peak_octets < 400_000_000


def test_output_is_kept_where_wanted() -> None:
    assert run([sys.executable, "-c", "print('said')"], keep_output=True).output == "said\n"


def test_failure_is_raised_with_its_words() -> None:
    with pytest.raises(CommandFailedError, match="the reason"):
        run([sys.executable, "-c", "raise SystemExit('the reason')"])


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [({100: 5.0, 350: 10.0}, 50.0), ({350: 10.0, 100: 5.0}, 50.0), ({100: 5.0}, None), ({100: 5.0, 350: 4.0}, None)],
)
def test_slope_is_what_fixed_costs_do_not_touch(seconds: dict[int, float], expected: float | None) -> None:
    assert slope(seconds, {100: 100, 350: 350}) == expected
