"""Intervals: against published values and by drawing samples whose figure is known."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from stompcap.lake.query import Query, in_process
from stompcap.report import against, intervals
from tests.report.sample import START, table


def test_wilson_has_the_published_ends() -> None:
    """Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I, of 99 % instead of his 95 %."""
    for part, whole in ((0, 20), (1, 29), (15, 148), (81, 263)):
        found = intervals.share(part, whole)
        assert found.low is not None
        assert found.high is not None
        for end in {found.low, found.high} - {0.0}:  # the ends solve (p - x/n)^2 = z^2 p (1 - p) / n
            assert (end - part / whole) ** 2 == pytest.approx(intervals.Z**2 * end * (1 - end) / whole)
    assert intervals.share(0, 0).value is None


@pytest.mark.parametrize("share", against.PERCENTILES.values())
def test_an_interval_of_a_percentile_holds_it_as_often_as_it_says(share: float) -> None:
    chance, held = random.Random(3), 0
    rows = [(nth, chance.random()) for nth in range(400) for _ in range(300)]
    samples = pa.table({"nth": [nth for nth, _ in rows], "us": [value for _, value in rows]})
    ends = ", ".join(f"min(us) FILTER (WHERE r = {intervals.rank_sql(share, end, '300')}) AS e{end + 1}" for end in (-1, 1))
    ranked = "SELECT *, row_number() OVER (PARTITION BY nth ORDER BY us) AS r FROM samples"
    [answer] = in_process({"samples": samples}, [Query("q", (), f"SELECT {ends} FROM ({ranked}) one GROUP BY nth")]).values()
    held = sum((row["e0"] or 0) <= share <= (1 if row["e2"] is None else row["e2"]) for row in answer.to_pylist())
    assert held >= 0.98 * 400


def test_few_minutes_give_no_interval_and_uneven_ones_a_wide_one() -> None:
    few, even, uneven = intervals.rate(400, 40_000, 4), intervals.rate(1000, 100_000, 10), intervals.rate(1000, 900_000, 10)
    assert not few.known
    assert even.low is not None
    assert uneven.low is not None
    assert uneven.low < even.low < 100
    nothing = intervals.rate(0, 0, 10)
    assert (nothing.low, nothing.high) == (0, intervals.NONE_SEEN / 10)
    assert intervals.differ(nothing, even)
    assert not intervals.differ(uneven, even)


def test_samples_say_the_ends_that_they_have() -> None:
    base = {"stream_id": "s", "body_octets": 0, "destination_name": "queue/a", "ack_mode": "client", "delivered_ns": START,
            "status": "settled", "settled_by": "direct"}  # fmt: skip
    rows = [base | {"stream_offset": nth, "ack_latency_us": 10 * nth} for nth in range(1, 101)]
    query = next(one for one in against.queries(None) if one.name == "ack_samples")
    [row] = in_process({"deliveries": table("deliveries", rows)}, [query])["ack_samples"].to_pylist()
    assert (row["samples"], row["p50_low"], row["p50"], row["p50_high"]) == (100, 370, 505, 640)
    assert row["p95_low"] == 890
    assert row["p95_high"] is None, "a hundred samples do not tell how far a 95th percentile may lie above them"


def test_captures_that_overlap_count_once_and_only_in_the_period() -> None:
    spans = [(0, 100), (50, 120), (200, 300), (290, 295), (1000, 1100)]
    rows = [{"capture_id": f"{nth:064x}", "first_ns": begin, "last_ns": end} for nth, (begin, end) in enumerate(spans)]
    captures = {"captures": table("captures", rows)}

    def covered(scope: against.Scope | None) -> tuple[int, int, int]:
        query = next(one for one in against.queries(scope) if one.name == "captured")
        [row] = in_process(captures, [query])["captured"].to_pylist()
        return row["first_ns"], row["last_ns"], row["covered_ns"]

    assert covered(None) == (0, 1100, 320)
    assert covered(against.Scope(since_ns=110, until_ns=250)) == (110, 250, 60)
