"""How often incidents are made again by a process that lives on."""

from __future__ import annotations

import pytest

from pipelines.incidents.pace import LEAST_S, TIMES, Pace


class Clock:
    """Seconds that pass when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("took_s", "waits_s"), [(0.1, 0), (LEAST_S - 0.1, 0), (LEAST_S, TIMES * LEAST_S), (60, 240)])
def test_what_takes_long_is_due_again_after_four_times_as_long(took_s: float, waits_s: float) -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.is_due()
    with pace.timed():
        clock.now += took_s
    assert pace.is_due() is (waits_s == 0)
    clock.now += waits_s
    assert pace.is_due()
