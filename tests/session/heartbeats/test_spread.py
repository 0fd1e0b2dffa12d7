"""Mean, deviation and 99th percentile of the times between arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import one_in
from tests.session.pieces import resumed, whole
from tests.session.transcript import made, run

OPEN = "> CONNECT accept-version:1.2 heart-beat:1000,0\n< CONNECTED version:1.2 heart-beat:0,1000\n"
NAMES = ("mean_gap_ms", "sd_gap_ms", "p99_gap_ms")


def _beats(times: list[float]) -> str:
    return OPEN + "".join(f"@{2 + at} > EOL\n" for at in np.cumsum(times))


@pytest.mark.parametrize("times", [[1000.0] * 5, [1000.0, 1004.0, 996.0], [400.0, 1600.0] * 20, [1.0] * 200 + [3000.0]])
def test_they_are_those_of_the_times_between_beats(times: list[float]) -> None:
    [row] = run(_beats(times) + "@900000 > FIN\n").tables["heartbeats"].to_pylist()
    assert row["mean_gap_ms"] == pytest.approx(np.mean(times), abs=0.002)
    assert row["sd_gap_ms"] == pytest.approx(np.std(times), abs=0.002)
    exact = np.quantile(times, 0.99, method="inverted_cdf")
    assert exact / 1.2 <= row["p99_gap_ms"] <= exact * 1.2 or exact < 1000 / 8


def test_there_is_none_without_an_arrival() -> None:
    [row] = run(OPEN + "@5000 > FIN\n").tables["heartbeats"].to_pylist()
    assert [row[name] for name in NAMES] == [None] * 3


@one_in(3)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=12), st.integers(1, 14))
def test_pieces_give_those_of_the_whole(times: list[int], cut: int) -> None:
    given_tables = made(_beats([float(at) for at in times]) + "@900000 > FIN\n")
    one, other = ([[row[name] for name in NAMES] for row in tables["heartbeats"].to_pylist()]
                  for tables in (whole(given_tables), resumed(given_tables, [cut])))  # fmt: skip
    assert one == other
