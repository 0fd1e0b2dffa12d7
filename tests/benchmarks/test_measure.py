"""What the benchmark reads off a command: memory of the whole tree, output, failure; and what it makes of seconds."""

from __future__ import annotations

import sys

import pytest

from benchmarks.bench import slope
from benchmarks.measure import CommandFailedError, run


def test_memory_of_children_counts() -> None:
    child = "import time; held = bytearray(200_000_000); time.sleep(0.5)"
    done = run([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"])
    assert done.peak_octets > 200_000_000


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
