"""Scales and their ticks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stompcap.report.scale import Linear, Log

positive = st.floats(1e-3, 1e12)


@given(positive, positive)
def test_log_scales_hold_their_values(one: float, other: float) -> None:
    low, high = sorted((one, other))
    axis = Log.around(low, high, 0, 100)
    assert 0 <= axis(low) <= axis(high) <= 100
    assert axis.ticks()[0] == axis.low
    assert axis.ticks()[-1] == axis.high
    assert len(axis.ticks()) >= 2


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_linear_ticks_are_few_and_inside(low: float, span: float) -> None:
    axis = Linear(low, low + span, 10, 0)
    ticks = axis.ticks()
    assert len(ticks) <= 7
    assert all(0 <= axis(tick) <= 10 for tick in ticks)


def test_linear_ticks_are_round() -> None:
    assert Linear(0, 170, 0, 1).ticks(4) == [0, 50, 100, 150]
    assert Linear(0, 0, 0, 1).ticks() == [0]
    assert Linear(0, 0, 5, 9)(3) == 9
