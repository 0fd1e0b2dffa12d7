"""The plots of heart-beats: the longest gap of every direction, and the longest of these.

Each takes the rows of one query and gives SVG elements, or nothing where there is nothing to plot.
"""

from __future__ import annotations

from markupsafe import Markup

from stompcap.report.grouping import DIRECTIONS
from stompcap.report.heartbeats import RATIO_BINS
from stompcap.report.layout import Layout, Room, Rows, Spec, Y, amount, counts, drawn, layer, texts, word
from stompcap.settings import Thresholds, filled_in
from stompcap.units import count, milliseconds
from stompcap.visible import visible

LIMITS = Thresholds().heartbeat_severities
ABOVE = "above {heartbeat_late} is late, above {heartbeat_violation} a violation, above {heartbeat_dead} dead"
COLOURS = {"ok": "ok", "late": "late", "violation": "violation", "dead": "dead", "not_evaluable": "soft"}
ID_DIGITS = 8
"""Digits of a session's id in a label: enough for `stompcap export`."""


def severity(ratio: float) -> str:
    """The highest limit that a ratio of gap to interval exceeds, `ok` where none."""
    return next((name for limit, name in reversed(LIMITS) if ratio > limit), "ok")


def _limits(layout: Layout, x: Spec) -> Spec:
    """The limits as lines, with a legend; abbreviated on a narrow drawing."""
    above = " above" if layout.names else ""
    named = {limit: f"{name}{above} {limit:g}×" for limit, name in LIMITS}
    colours = {named[limit]: f"var(--{name})" for limit, name in LIMITS}
    rows = [{"x": limit, "limit": name} for limit, name in named.items()]
    legend = {"symbolType": "stroke", "symbolDash": [4, 3], "symbolStrokeWidth": 1.5}
    return layer(rows, "rule", {"x": x, "color": word("limit", colours, legend=legend)}, strokeDash=[4, 3], strokeWidth=1.5)


def _ratios(layout: Layout, high: float) -> Spec:
    """The channel of ratios of gap to interval, from 0 on."""
    axis = {"labelExpr": "datum.label + '×'", "format": "~g", "tickCount": 8 if layout.names else 4, "grid": False}
    return amount("x", scale={"domain": [0, high], "nice": False}, axis=axis)


def gap_histogram(rows: Rows, direction: str) -> Markup:
    """The longest gap of every judged direction in intervals, with the limits: of one side. Rows as `heartbeat_ratios` gives them."""
    return drawn(_histogram, [row for row in rows if row["direction"] == direction])


def _histogram(rows: Rows, layout: Layout) -> Markup:
    direction = rows[0]["direction"]
    x = _ratios(layout, (RATIO_BINS + 1) / 10)
    bars = [
        {"x": row["bin"] / 10, "end": (row["bin"] + 1) / 10, "directions": row["directions"],
         "colour": f"var(--{severity((row['bin'] + 0.5) / 10)})", "hint": f"{count(row['directions'])} directions: {_span(row['bin'])}"}
        for row in rows
    ]  # fmt: skip
    layers = [
        layer(bars, "rect", {"x": x, "x2": {"field": "end"}, "y": counts("directions", 3), "y2": {"datum": 0}, "color": word("colour")},
              xOffset=1, x2Offset=-1),
        _limits(layout, x),
        texts([{"y": 10, "text": DIRECTIONS[direction]}], {"value": "width"}, align="right", color="var(--ink)"),
    ]  # fmt: skip
    words = (
        f"Longest gap of each direction from {DIRECTIONS[direction]}, in negotiated intervals",
        f"Number of session directions by longest gap divided by interval; {filled_in(ABOVE)}.",
    )
    return layout.markup(layers, f"gap-histogram-{direction}", words, 110, Room(60 if layout.names else 44, 20))


def _span(number: int) -> str:
    """The ratios of a bar."""
    return f"{number / 10:g} intervals and more" if number == RATIO_BINS else f"{number / 10:g} to {(number + 1) / 10:g}"


def worst_gaps(rows: Rows) -> Markup:
    """The worst directions: longest gap against the interval, with the limits as lines. Rows as `heartbeats` gives them."""
    return drawn(_worst, [row for row in rows if row["ratio"] is not None][:15])


def _worst(rows: Rows, layout: Layout) -> Markup:
    x = _ratios(layout, max(3.5, max(row["ratio"] for row in rows) * 1.05))
    bars, names, ends = [], [], []
    for number, row in enumerate(rows):
        y = layout.middle(number)
        text = f"{row['ratio']:.2f}× · {milliseconds(row['max_gap_ms'])} of {milliseconds(row['interval_ms'])}"
        names.append(f"{visible(row['server_product'] or 'unknown broker', 20 if layout.names else 12)} · {row['stream_id'][:ID_DIGITS]}"
                     f" · {row['direction']}")  # fmt: skip
        ends.append({"x": row["ratio"], "y": y if layout.names else y - 17, "text": text})
        bars.append({"x": 0, "end": row["ratio"], "y": y - 6, "y2": y + 6, "colour": f"var(--{COLOURS[row['verdict']]})",
                     "hint": f"{row['verdict']}: {text}"})  # fmt: skip
    layers = [
        layer(bars, "rect", {"x": x, "x2": {"field": "end"}, "y": Y, "y2": {"field": "y2"}, "color": word("colour")}),
        _limits(layout, x),
        layout.named(names),
        texts(ends, x, align="left", dx=8) if layout.names else texts(ends, {"value": "width"}, align="right"),
    ]  # fmt: skip
    words = (
        "The directions with the longest gaps",
        "Longest gap divided by the negotiated interval, per session direction, worst first, as in the table below.",
    )
    return layout.markup(layers, "worst-gaps", words, layout.row * len(rows), Room(layout.names or 8, 150 if layout.names else 12))
