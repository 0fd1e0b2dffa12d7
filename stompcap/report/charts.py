"""The plots of the report.

Each takes the rows of one query and gives an SVG element, or nothing where there is nothing to plot.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from stompcap.report.queries import BINS_PER_DECADE, RATIO_BINS, TIME_SLICES
from stompcap.report.scale import Linear, Log
from stompcap.report.svg import Drawing
from stompcap.units import count, duration, milliseconds, moment
from stompcap.visible import visible

Rows = list[dict[str, Any]]

WIDTH = 1040
LIMITS = ((1.1, "late"), (1.5, "violation"), (3.0, "dead"))  # the severities of a gap, in intervals
WAYS = {"c2s": "client to server", "s2c": "server to client"}
_LABELS = 350  # room for names left of horizontal plots
_ROW = 26


def severity(ratio: float) -> str:
    """The worst limit a ratio of gap to interval is above, `ok` where none."""
    return next((name for limit, name in reversed(LIMITS) if ratio > limit), "ok")


def _middle(text: str, limit: int) -> str:
    """A name cut in its middle: names of destinations differ at both ends."""
    shown = visible(text)
    if len(shown) <= limit:
        return shown
    return f"{shown[: limit // 2 - 1]}…{shown[-(limit - limit // 2) :]}"


def _duration_axis(drawing: Drawing, axis: Log, top: float, bottom: float) -> None:
    """Decades of microseconds along the foot, a grid line each."""
    for tick in axis.ticks():
        drawing.line(axis(tick), top, axis(tick), bottom, "grid")
        drawing.text(axis(tick), bottom + 16, duration(tick), "tick", "middle")


def latency_ranges(rows: Rows) -> Markup:
    """One row per destination: median (disc), 95th percentile (diamond), up to the 99th (line), on a logarithmic axis.

    Rows as `ack_destinations` gives them.
    """
    rows = [row for row in rows if row["p50_us"] is not None][:15]
    if not rows:
        return Markup("")
    height = 30 + _ROW * len(rows) + 24
    drawing = Drawing(
        "latency-ranges",
        "Ack latency by destination",
        "Median, 95th and 99th percentile per destination, as in the table below, on a logarithmic axis.",
        WIDTH,
        height,
    )
    axis = Log.around(min(r["p50_us"] for r in rows), max(r["p99_us"] for r in rows), _LABELS, WIDTH - 90)
    for place, mark in ((_LABELS, "median"), (_LABELS + 80, "p95"), (_LABELS + 135, "p99")):
        drawing.text(place + 10, 13, mark, "tick")
    drawing.dot(_LABELS, 9, "fill-a")
    drawing.diamond(_LABELS + 80, 9, "fill-b")
    drawing.line(_LABELS + 135, 4, _LABELS + 135, 14, "range")
    _duration_axis(drawing, axis, 24, height - 24)
    for number, row in enumerate(rows):
        y = 30 + _ROW * (number + 0.5)
        name = f"{_middle(row['destination'] or '(none)', 34)} · {row['ack_mode'] or '?'}"
        p50, p95, p99 = (axis(row[p]) for p in ("p50_us", "p95_us", "p99_us"))
        drawing.text(_LABELS - 14, y + 4, name, "label", "end")
        drawing.line(p50, y, p99, y, "range")
        drawing.line(p99, y - 5, p99, y + 5, "range")
        drawing.diamond(p95, y, "fill-b", f"95th percentile {duration(row['p95_us'])}")
        drawing.dot(p50, y, "fill-a", f"median {duration(row['p50_us'])}")
        drawing.text(p99 + 10, y + 4, duration(row["p99_us"]), "tick")
    return drawing.markup()


def latency_histogram(rows: Rows) -> Markup:
    """How many deliveries were settled after how long, direct and cumulative acks stacked.

    Rows as `ack_histogram` gives them.
    """
    if not rows:
        return Markup("")
    decades = [row["bin"] / BINS_PER_DECADE for row in rows]
    axis = Log.around(10 ** min(decades), 10 ** (max(decades) + 1 / BINS_PER_DECADE), 60, WIDTH - 20)
    totals: dict[int, int] = {}
    for row in rows:
        totals[row["bin"]] = totals.get(row["bin"], 0) + row["deliveries"]
    top, bottom = 26, 206
    level = Linear(0, max(totals.values()), bottom, top)
    drawing = Drawing(
        "latency-histogram",
        "How long settling took",
        f"Number of deliveries by ack latency, {BINS_PER_DECADE} bars a "
        "decade, logarithmic axis; direct acks below, cumulative ones on top.",
        WIDTH,
        bottom + 30,
    )
    for tick in level.ticks(4):
        drawing.line(60, level(tick), WIDTH - 20, level(tick), "grid")
        drawing.text(52, level(tick) + 4, count(tick), "tick", "end")
    _duration_axis(drawing, axis, bottom, bottom)
    stacked: dict[int, int] = {}
    for row in sorted(rows, key=lambda r: r["settled_by"] != "direct"):
        left, right = (axis(10 ** (edge / BINS_PER_DECADE)) for edge in (row["bin"], row["bin"] + 1))
        below = stacked.get(row["bin"], 0)
        stacked[row["bin"]] = below + row["deliveries"]
        y = level(stacked[row["bin"]])
        kind = "fill-a" if row["settled_by"] == "direct" else "fill-c"
        hint = f"{count(row['deliveries'])} {row['settled_by']}, {duration(10 ** (row['bin'] / BINS_PER_DECADE))} and up"
        drawing.bar(left + 1, y, right - left - 2, level(below) - y, kind, hint)
    for place, kind, name in (
        (60, "fill-a", "named by the ACK (direct)"),
        (260, "fill-c", "settled by a later ACK (cumulative)"),
    ):
        drawing.bar(place, 2, 12, 12, kind)
        drawing.text(place + 18, 12, name, "tick")
    return drawing.markup()


def latency_timeline(rows: Rows) -> Markup:
    """Median and 95th percentile over the time of the captures. Rows as `ack_timeline` gives them."""
    if len(rows) < 2:
        return Markup("")
    first, last = rows[0]["first_ns"], rows[0]["last_ns"]
    top, bottom = 26, 206
    level = Log.around(min(r["p50_us"] for r in rows), max(r["p95_us"] for r in rows), bottom, top)
    axis = Linear(0, TIME_SLICES, 70, WIDTH - 20)
    drawing = Drawing(
        "latency-timeline",
        "Ack latency over time",
        f"Median and 95th percentile of direct acks in {TIME_SLICES} slices "
        f"from {moment(first, 0)} to {moment(last, 0)} UTC, logarithmic axis.",
        WIDTH,
        bottom + 30,
    )
    for tick in level.ticks():
        drawing.line(70, level(tick), WIDTH - 20, level(tick), "grid")
        drawing.text(62, level(tick) + 4, duration(tick), "tick", "end")
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        digits = 0 if last - first > 60e9 else 3
        drawing.text(axis(part * TIME_SLICES), bottom + 18, moment(first + part * (last - first), digits), "tick", anchor)
    for column, kind, name in (("p95_us", "b", "95th percentile"), ("p50_us", "a", "median")):
        points = [(axis(r["slice"] + 0.5), level(r[column])) for r in rows]
        drawing.curve(points, f"stroke-{kind}")
        for row, (x, y) in zip(rows, points, strict=True):
            hint = f"{name} {duration(row[column])} of {count(row['deliveries'])} deliveries"
            (drawing.dot if kind == "a" else drawing.diamond)(x, y, f"fill-{kind}", hint, 3 if kind == "a" else 4)
    drawing.dot(76, 9, "fill-a")
    drawing.text(86, 13, "median", "tick")
    drawing.diamond(156, 9, "fill-b")
    drawing.text(166, 13, "95th percentile", "tick")
    return drawing.markup()


def gap_histogram(rows: Rows) -> Markup:
    """The longest gap of every judged direction in intervals, with the limits.

    Rows as `heartbeat_ratios` gives them.
    """
    if not rows:
        return Markup("")
    axis = Linear(0, (RATIO_BINS + 1) / 10, 60, WIDTH - 20)
    panel, top = 110, 30
    drawing = Drawing(
        "gap-histogram",
        "Longest gap of each direction, in negotiated intervals",
        "Number of session directions by longest gap divided by interval; above 1.1 is late, above 1.5 a violation, above 3 dead.",
        WIDTH,
        top + 2 * (panel + 34),
    )
    for place, way in enumerate(WAYS):
        high = top + place * (panel + 34)
        foot = high + panel
        bins = [row for row in rows if row["direction"] == way]
        level = Linear(0, max((r["directions"] for r in bins), default=1), foot, high + 18)
        drawing.text(60, high + 8, WAYS[way], "label")
        drawing.line(60, foot, WIDTH - 20, foot, "axis")
        for row in bins:
            left, right = axis(row["bin"] / 10), axis((row["bin"] + 1) / 10)
            more = (
                f"{row['bin'] / 10:g} intervals and more"
                if row["bin"] == RATIO_BINS
                else f"{row['bin'] / 10:g} to {(row['bin'] + 1) / 10:g}"
            )
            y = level(row["directions"])
            drawing.bar(
                left + 1,
                y,
                right - left - 2,
                foot - y,
                f"fill-{severity((row['bin'] + 0.5) / 10)}",
                f"{count(row['directions'])} directions: {more}",
            )
            drawing.text((left + right) / 2, y - 4, count(row["directions"]), "tick", "middle")
        for limit, name in LIMITS:
            drawing.line(axis(limit), high, axis(limit), foot, f"limit stroke-{name}")
        for tick in (0, 1, 2, 3, 4):
            drawing.text(
                axis(tick),
                foot + 15,
                f"{tick}×" if tick < 4 else "4× and more",
                "tick",
                "middle" if tick < 4 else "end",
            )
    for (limit, name), anchor in zip(LIMITS, ("end", "start", "start"), strict=True):
        drawing.text(axis(limit) + (4 if anchor == "start" else -4), 12, f"{name} above {limit:g}×", "tick", anchor)
    return drawing.markup()


def worst_gaps(rows: Rows) -> Markup:
    """The worst directions: longest gap against the interval, the limits as lines. Rows as `heartbeats` gives them."""
    rows = [row for row in rows if row["ratio"] is not None][:15]
    if not rows:
        return Markup("")
    height = 30 + _ROW * len(rows) + 24
    axis = Linear(0, max(3.5, max(r["ratio"] for r in rows) * 1.05), _LABELS, WIDTH - 130)
    drawing = Drawing(
        "worst-gaps",
        "The directions with the longest gaps",
        "Longest gap divided by the negotiated interval, per session direction, worst first, as in the table below.",
        WIDTH,
        height,
    )
    for limit, name in LIMITS:
        drawing.line(axis(limit), 20, axis(limit), height - 24, f"limit stroke-{name}")
    for (limit, name), anchor in zip(LIMITS, ("end", "start", "start"), strict=True):
        drawing.text(axis(limit), 13, f"{name} {limit:g}×", "tick", anchor)
    for tick in axis.ticks(6):
        drawing.text(axis(tick), height - 8, f"{tick:g}×", "tick", "middle")
    for number, row in enumerate(rows):
        y = 30 + _ROW * (number + 0.5)
        name = f"{visible(row['server_product'] or 'unknown broker', 20)} · {row['stream_id'][:8]} · {row['direction']}"
        text = f"{row['ratio']:.2f}× · {milliseconds(row['max_gap_ms'])} of {milliseconds(row['interval_ms'])}"
        drawing.text(_LABELS - 10, y + 4, name, "label", "end")
        drawing.bar(_LABELS, y - 6, axis(row["ratio"]) - _LABELS, 12, f"fill-{row['verdict']}", f"{row['verdict']}: {text}")
        drawing.text(axis(row["ratio"]) + 8, y + 4, text, "tick")
    return drawing.markup()
