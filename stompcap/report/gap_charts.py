"""The plots of heart-beats: the longest gap of every direction, and the longest of these.

Each takes the rows of one query and gives SVG elements, or nothing where there is nothing to plot.
"""

from __future__ import annotations

from markupsafe import Markup

from stompcap.report.layout import CHARACTER, Layout, Rows, drawn
from stompcap.report.queries import RATIO_BINS
from stompcap.report.scale import Linear
from stompcap.report.svg import Drawing
from stompcap.units import count, milliseconds
from stompcap.visible import visible

LIMITS = ((1.1, "late"), (1.5, "violation"), (3.0, "dead"))  # the severities of a gap, in intervals
DIRECTIONS = {"c2s": "client to server", "s2c": "server to client"}
ID_DIGITS = 8
"""Digits of a session's id in a label: enough for `stompcap export`."""


def severity(ratio: float) -> str:
    """The highest limit that a ratio of gap to interval exceeds, `ok` where none."""
    return next((name for limit, name in reversed(LIMITS) if ratio > limit), "ok")


def _legend(drawing: Drawing, layout: Layout, left: float) -> None:
    """The labels of the limits' lines, side by side; abbreviated on a narrow drawing."""
    for limit, name in LIMITS:
        text = f"{name} above {limit:g}×" if layout.names else f"{name} {limit:g}×"
        drawing.line(left + 3, 2, left + 3, 15, f"limit stroke-{name}")
        drawing.text(left + 10, 13, text, "tick")
        left += 10 + CHARACTER * len(text) + 16


def gap_histogram(rows: Rows) -> Markup:
    """The longest gap of every judged direction in intervals, with the limits.

    Rows as `heartbeat_ratios` gives them.
    """
    return drawn(_histogram, rows)


def _histogram(rows: Rows, layout: Layout) -> Markup:
    left, right = (60, layout.width - 20) if layout.names else (8, layout.width - 8)
    axis = Linear(0, (RATIO_BINS + 1) / 10, left, right)
    panel, top = 110, 30
    drawing = layout.drawing(
        "gap-histogram",
        "Longest gap of each direction, in negotiated intervals",
        "Number of session directions by longest gap divided by interval; above 1.1 is late, above 1.5 a violation, above 3 dead.",
        top + 2 * (panel + 34),
    )
    _legend(drawing, layout, left)
    for place, direction in enumerate(DIRECTIONS):
        high = top + place * (panel + 34)
        foot = high + panel
        bins = [row for row in rows if row["direction"] == direction]
        level = Linear(0, max((r["directions"] for r in bins), default=1), foot, high + 32)
        drawing.text(left, high + 10, DIRECTIONS[direction], "label")
        drawing.line(left, foot, right, foot, "axis")
        for limit, name in LIMITS:
            drawing.line(axis(limit), high + 16, axis(limit), foot, f"limit stroke-{name}")
        for row in bins:
            begin, end = axis(row["bin"] / 10), axis((row["bin"] + 1) / 10)
            y, kind = level(row["directions"]), f"fill-{severity((row['bin'] + 0.5) / 10)}"
            hint = f"{count(row['directions'])} directions: {_span(row['bin'])}"
            drawing.bar(begin + 1, y, max(end - begin - 2, 3), foot - y, kind, hint)
        for middle, row in _numbered(bins, axis):
            drawing.text(middle, level(row["directions"]) - 4, count(row["directions"]), "tick", "middle")
        for tick in range(4):
            drawing.text(axis(tick), foot + 15, f"{tick}×", "tick", "middle" if tick else "start")
        drawing.text(right, foot + 15, "4× and more" if layout.names else "≥ 4×", "tick", "end")
    return drawing.markup()


def _span(number: int) -> str:
    """The ratios of a bar."""
    return f"{number / 10:g} intervals and more" if number == RATIO_BINS else f"{number / 10:g} to {(number + 1) / 10:g}"


def _numbered(bins: Rows, axis: Linear) -> list[tuple[float, dict[str, int]]]:
    """The bars with enough room for their number, the high ones first, each with its middle."""
    found: list[tuple[float, dict[str, int]]] = []
    for row in sorted(bins, key=lambda row: -row["directions"]):
        middle, room = axis((row["bin"] + 0.5) / 10), CHARACTER * (len(count(row["directions"])) + 1)
        if all(abs(middle - other) > room for other, _ in found):
            found.append((middle, row))
    return found


def worst_gaps(rows: Rows) -> Markup:
    """The worst directions: longest gap against the interval, with the limits as lines. Rows as `heartbeats` gives them."""
    return drawn(_worst, [row for row in rows if row["ratio"] is not None][:15])


def _worst(rows: Rows, layout: Layout) -> Markup:
    height = 30 + layout.row * len(rows) + 24
    left = layout.names or 8
    axis = Linear(0, max(3.5, max(r["ratio"] for r in rows) * 1.05), left, layout.width - (150 if layout.names else 12))
    drawing = layout.drawing(
        "worst-gaps",
        "The directions with the longest gaps",
        "Longest gap divided by the negotiated interval, per session direction, worst first, as in the table below.",
        height,
    )
    _legend(drawing, layout, left)
    for limit, name in LIMITS:
        drawing.line(axis(limit), 22, axis(limit), height - 24, f"limit stroke-{name}")
    for tick in axis.ticks(6):
        drawing.text(axis(tick), height - 8, f"{tick:g}×", "tick", "middle")
    for number, row in enumerate(rows):
        top = 30 + layout.row * number
        y = top + layout.row * (0.5 if layout.names else 0.74)
        broker = visible(row["server_product"] or "unknown broker", 20 if layout.names else 12)
        name = f"{broker} · {row['stream_id'][:ID_DIGITS]} · {row['direction']}"
        text = f"{row['ratio']:.2f}× · {milliseconds(row['max_gap_ms'])} of {milliseconds(row['interval_ms'])}"
        drawing.bar(left, y - 6, axis(row["ratio"]) - left, 12, f"fill-{row['verdict']}", f"{row['verdict']}: {text}")
        if layout.names:
            drawing.text(left - 10, y + 4, name, "label", "end")
            drawing.text(axis(row["ratio"]) + 8, y + 4, text, "tick")
        else:
            drawing.text(0, top + 16, name, "label")
            drawing.text(layout.width, top + 16, text, "tick", "end")
    return drawing.markup()
