"""What the plots draw, beyond being well-formed."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import altair
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import ValidationError

from stompcap.report import layout
from stompcap.report.charts import consumer_latency, latency_histogram, latency_ranges, latency_timeline, stretches
from stompcap.report.gap_charts import gap_histogram, worst_gaps
from stompcap.report.layout import durations
from stompcap.report.page import build, records
from tests.report.drawings import drawings, hints, shapes, words
from tests.report.sample import HOSTILE, ask, lake, table

positive = st.floats(1e-3, 1e12)


def slices(*numbers: int) -> list[dict[str, float]]:
    hours = {"first_ns": 0, "last_ns": 10 * 3600 * 10**9, "deliveries": 3, "p50_us": 900, "p95_us": 7000}
    return [{"slice": number, **hours} for number in numbers]


def consumer(name: str, **more: Any) -> dict[str, Any]:
    return {"stream_id": name, "subscription": "0", "client_ip": "10.0.0.1", "client_port": 5, "destination": "/queue/a", "p50_us": 900,
            "p95_us": 7000, "max_in_flight": 10, "prefetch": 10, "unsettled": 0, **more}  # fmt: skip


def test_hours_without_data_have_no_line_through_them() -> None:
    rows = slices(0, 1, 2, 40, 41, 59)
    assert [[row["slice"] for row in stretch] for stretch in stretches(rows)] == [[0, 1, 2], [40, 41], [59]]
    drawing = latency_timeline(rows)
    lines = [len(path.split("L")) for path in re.findall(r'<path d="(M[^"Z]+L[^"Z]+)" stroke=', drawing)]
    assert sorted(lines) == [2, 2, 2, 2, 3, 3, 3, 3], "two figures in two layouts"
    assert hints(drawing).count("95th percentile 7 ms of 3 deliveries") == 6 * 2, "a lone slice has its point"


def test_bars_are_labelled_by_digits_that_export_takes() -> None:
    row = {"server_product": "Broker", "stream_id": "0f83051100112233aabb", "direction": "c2s", "ratio": 2.0, "max_gap_ms": 200,
           "interval_ms": 100, "verdict": "violation"}  # fmt: skip
    assert worst_gaps([row]).count("Broker · 0f830511 · c2s") == 2


def test_limits_are_told_apart_however_long_the_longest_gap_is() -> None:
    row = {"server_product": "B", "stream_id": "0" * 20, "direction": "c2s", "ratio": 400.0, "max_gap_ms": 40_000,
           "interval_ms": 100, "verdict": "dead"}  # fmt: skip
    for drawing in drawings(worst_gaps([row])):
        places = [one.x for one in words(drawing) if re.match("(late|violation|dead) ", one.text)]
        assert len(places) == 3
        assert all(later - earlier > 60 for earlier, later in pairwise(places))


def test_a_histogram_marks_the_percentiles_of_direct_acks() -> None:
    rows = [{"bin": 15, "settled_by": "direct", "deliveries": 7}, {"bin": 16, "settled_by": "cumulative", "deliveries": 3}]
    total = {"p50_us": 1500, "p95_us": 1800, "p99_us": 1900}
    for drawing in drawings(latency_histogram(rows, total)):
        marks = {one.text: one for one in words(drawing) if "ms" in one.text and one.text[0] in "mp"}
        assert set(marks) == {"median 1.5 ms", "p95 1.8 ms", "p99 1.9 ms"}
        assert len({one.y for one in marks.values()}) == 3, "close to each other, they are one above the other"
    assert sorted(hints(latency_histogram(rows, total))) == sorted(["7 direct, 1 ms and up", "3 cumulative, 1.58 ms and up"] * 2)
    assert "of direct acks none" in latency_histogram(rows[1:], {"p50_us": None})


def test_a_consumer_has_its_distribution_and_its_prefetch() -> None:
    bins = [{"stream_id": "a", "subscription": "0", "bin": number, "deliveries": many} for number, many in ((14, 9), (20, 1))]
    rows = [consumer("a", unsettled=4), consumer("b", destination="/queue/b"), consumer("a", subscription="1", destination="/queue/c")]
    plot = consumer_latency(rows, bins)
    for drawing in drawings(plot):
        assert [text for one in words(drawing) if (text := one.text).startswith("10.0")] == ["10.0.0.1:5 · /queue/a"], "others have no bins"
        assert hints(drawing)[:2] == ["9 from 631 µs to 1 ms", "1 from 10 ms to 15.8 ms"]
        dense, sparse = (float(one.node.get("opacity", 1)) for one in shapes(drawing) if " from " in (one.node.findtext("title") or ""))
        assert dense > sparse
        assert "10 of 10 in flight, 4 unsettled" in [one.text for one in words(drawing)]


def test_consumers_with_a_distribution_are_the_slowest_whatever_others_leave_unsettled() -> None:
    base = {"destination": "/queue/a", "ack_mode": "client", "subscription": "0", "body_octets": 0, "delivered_ns": 5}
    rows = [base | {"stream_id": f"idle{n}", "stream_offset": 0, "status": "unsettled"} for n in range(30)]
    rows += [base | {"stream_id": name, "stream_offset": 0, "status": "settled", "settled_by": "direct", "ack_latency_us": us}
             for name, us in (("quick", 50), ("slow", 5000))]  # fmt: skip
    empty = {name: table(name, []) for name in ("subscriptions", "sessions")}
    answers = {name: records(answer) for name, answer in ask({"deliveries": table("deliveries", rows), **empty}).items()}
    assert [row["stream_id"] for row in answers["slow_consumers"]][:2] == ["slow", "quick"]
    assert {row["stream_id"] for row in answers["consumers"]} <= {f"idle{n}" for n in range(30)}
    assert sorted(hints(consumer_latency(answers["slow_consumers"], answers["consumer_bins"])))[:2] == ["1 from 3.98 ms to 6.31 ms"] * 2


def test_one_direction_has_a_histogram_of_its_own() -> None:
    rows = [{"direction": "c2s", "bin": 7, "directions": 1}, {"direction": "s2c", "bin": 40, "directions": 2}]
    assert hints(gap_histogram(rows, "c2s")) == ["1 directions: 0.7 to 0.8"] * 2
    assert hints(gap_histogram(rows, "s2c")) == ["2 directions: 4 intervals and more"] * 2
    assert gap_histogram(rows[:1], "s2c") == ""


@given(positive, positive)
def test_axes_of_durations_hold_their_values(one: float, other: float) -> None:
    channel = durations("us", [one, other])
    low, high = channel["scale"]["domain"]
    digit = 1e-12  # the last one of a logarithm
    assert low <= max(min(one, other), 1) * (1 + digit)
    assert high >= max(one, other) * (1 - digit)
    assert channel["axis"]["values"][0] == low < high == channel["axis"]["values"][-1]


@pytest.mark.parametrize("us", [-7_000_000, 0, 0.4, 1, 10**13])
def test_odd_latencies_have_a_place(us: float) -> None:
    figures = {"p50_us": us, "p95_us": us, "p99_us": us}
    rows = [{"slice": number, "first_ns": 0, "last_ns": 10**10, "deliveries": 3, **figures} for number in (0, 1)]
    bins = [{"stream_id": "a", "subscription": "0", "bin": 0, "deliveries": 1}]
    plots = (
        latency_ranges([{"destination": "/queue/a", "ack_mode": "client", **figures}]),
        latency_histogram([{"bin": 5, "settled_by": "direct", "deliveries": 7}], figures),
        latency_timeline(rows),
        consumer_latency([consumer("a", **figures)], bins),
    )
    for plot in plots:
        assert "NaN" not in plot
        assert "Infinity" not in plot
        for drawing in drawings(plot):
            width = int(re.findall(r'viewBox="0 0 (\d+) ', drawing)[0])
            assert all(-1 <= x <= width + 1 for one in shapes(drawing) for x, _ in one.corners)


def test_what_came_from_the_wire_is_text_in_a_plot() -> None:
    for name in (HOSTILE, '"/><script>alert(1)</script>', "]]>", "<!--", "&#60;b&#62;", "${datum.us}", "a\nb"):
        row = {"destination": name, "ack_mode": name, "p50_us": 900, "p95_us": 7000, "p99_us": 8000}
        for drawing in drawings(latency_ranges([row])):
            assert "<script" not in drawing
            assert {one.tag for one in shapes(drawing)} <= {"svg", "g", "path", "line", "text", "title", "desc"}
            shown = layout.middle(name, 34 if 'class="wide"' in drawing else 30)
            assert any(one.text.startswith(shown[:10]) for one in words(drawing)), shown


@pytest.fixture(scope="module")
def specifications() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    real = layout.element
    layout.element = lambda chart, *rest: (found.append(chart), real(chart, *rest))[1]  # type: ignore[assignment]
    try:
        build(ask(lake()))
    finally:
        layout.element = real
    return found


@pytest.mark.slow
def test_plots_say_what_vega_lite_knows(specifications: list[dict[str, Any]]) -> None:
    """It passes over an option that it does not know; the schema does not."""
    assert len(specifications) == 18
    for one in specifications:
        altair.LayerChart.from_dict(one)
    with pytest.raises(ValidationError):
        altair.LayerChart.from_dict({"layer": [{"data": {"values": []}, "mark": {"type": "rect", "colour": "red"}}]})


def test_plots_have_colours_of_the_page_only() -> None:
    page = build(ask(lake()))
    known = set(re.findall(r"(--[a-z-]+):", page))
    for drawing in drawings(page):
        used = {value for one in shapes(drawing) for key in ("fill", "stroke") if (value := one.node.get(key))}
        assert {value for value in used if not re.fullmatch(r"var\(--[a-z-]+\)", value)} <= {"none", "transparent"}
        assert {value[4:-1] for value in used if value.startswith("var")} <= known
