"""Journeys where clocks step, or those of two directions differ."""

from __future__ import annotations

import pytest

from tests.pipelines.metrics.journey_cases import Traffic


def test_a_message_that_a_step_of_the_clock_put_before_its_send_does_not_say_that_there_was_none() -> None:
    traffic = Traffic().send(10)
    traffic.connection("c", clock_steps_back=1)
    assert traffic.got(9).told() == ["none unknown", "SEND none unknown"]


@pytest.mark.parametrize("ahead_us", [-7_000_000, 7_000_000])
def test_where_the_clocks_of_directions_differ_the_journey_is_the_same_without_its_residence(ahead_us: int) -> None:
    traffic = Traffic()
    traffic.connection("c", clock_difference_min_us=ahead_us - 10, clock_difference_max_us=ahead_us + 10)
    assert traffic.send(10).got(15 + ahead_us / 10**6).told() == ["unique 10 None"]
