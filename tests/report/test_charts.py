"""What the plots draw, beyond being well-formed."""

from __future__ import annotations

import re
from itertools import pairwise

from stompcap.report.charts import latency_timeline, stretches
from stompcap.report.gap_charts import worst_gaps


def slices(*numbers: int) -> list[dict[str, float]]:
    hours = {"first_ns": 0, "last_ns": 10 * 3600 * 10**9, "deliveries": 3, "p50_us": 900, "p95_us": 7000}
    return [{"slice": number, **hours} for number in numbers]


def test_hours_without_data_have_no_line_through_them() -> None:
    rows = slices(0, 1, 2, 40, 41, 59)
    assert [[row["slice"] for row in stretch] for stretch in stretches(rows)] == [[0, 1, 2], [40, 41], [59]]
    drawing = latency_timeline(rows)
    lines = [points.split() for points in re.findall(r'<polyline points="([^"]+)"', drawing)]
    assert [len(points) for points in lines] == [3, 2, 3, 2] * 2, "two figures in two layouts"
    assert drawing.count("95th percentile 7 ms of 3 deliveries") == 6 * 2, "a lone slice has its point"


def test_bars_are_labelled_by_digits_that_export_takes() -> None:
    row = {"server_product": "Broker", "stream_id": "0f83051100112233aabb", "direction": "c2s", "ratio": 2.0, "max_gap_ms": 200,
           "interval_ms": 100, "verdict": "violation"}  # fmt: skip
    assert worst_gaps([row]).count("Broker · 0f830511 · c2s") == 2


def test_limits_are_told_apart_however_long_the_longest_gap_is() -> None:
    row = {"server_product": "B", "stream_id": "0" * 20, "direction": "c2s", "ratio": 400.0, "max_gap_ms": 40_000,
           "interval_ms": 100, "verdict": "dead"}  # fmt: skip
    for drawing in worst_gaps([row]).split("<svg ")[1:]:
        places = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="13.0"', drawing)]
        assert len(places) == 3
        assert all(later - earlier > 60 for earlier, later in pairwise(places))
