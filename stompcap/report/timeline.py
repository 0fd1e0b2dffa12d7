"""The time line of destinations: small multiples of rates, backlog, residence and ack latency, with the incidents marked.

Each panel has a scale of its own, whose end is written at it: a queue that stalls shows whatever the others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape

from stompcap.report.layout import middle
from stompcap.units import count, duration, moment

Rows = list[dict[str, Any]]
Points = list[tuple[int, float]]
"""Times in nanoseconds, and values."""

PANELS = ("in and out, a second", "backlog", "in the broker, p95", "ack latency, p95")
HEIGHT = 54


@dataclass(frozen=True)
class Sheet:
    """Width of a drawing, how many panels it has side by side, and the most pixels that it is shown at."""

    name: str
    width: int
    columns: int
    most: int

    @property
    def panel(self) -> float:
        """Width of a panel."""
        return (self.width - 14 * (self.columns - 1)) / self.columns

    @property
    def row(self) -> int:
        """Height of what is drawn of a destination: its name, then the panels, each with a line of text above it."""
        return 26 + len(PANELS) // self.columns * (HEIGHT + 20)


WIDE, NARROW = Sheet("wide", 1180, 4, 1180), Sheet("narrow", 350, 2, 480)


def timeline(rows: Rows, incidents: Rows) -> Markup:
    """Rows of the query `minutes`, in their order, and those of `incidents`, whose places in their list are their numbers."""
    by_name: dict[str, Rows] = {}
    for row in rows:
        if row["slice_ts"] is not None:  # captures without times
            by_name.setdefault(row["destination_name"], []).append(row | {"ns": _ns(row["slice_ts"])})
    times = sorted({row["ns"] for own in by_name.values() for row in own})
    if not times:
        return Markup("")
    step = min((later - earlier for earlier, later in pairwise(times)), default=60 * 10**9)
    span = (times[0], times[-1] + step)
    return Markup("").join(_sheet(by_name, incidents, span, step, sheet) for sheet in (WIDE, NARROW))


def _ns(when: datetime) -> int:
    return round(when.timestamp()) * 10**9


def _sheet(by_name: dict[str, Rows], incidents: Rows, span: tuple[int, int], step: int, sheet: Sheet) -> Markup:
    """The drawing of one width."""
    height = len(by_name) * sheet.row + 26
    drawn = []
    for nth, (name, rows) in enumerate(by_name.items()):
        top = nth * sheet.row
        own = [(number, one) for number, one in enumerate(incidents, 1) if one["destination_name"] == name and one["level"] != "note"]
        numbers = ", ".join(f"№ {number}" for number, _ in own)
        drawn.append(_text(0, top + 16, middle(name, 60 if sheet is WIDE else 28), "name"))
        drawn.append(_text(sheet.width, top + 16, numbers, "tick", "end"))
        panels = _panels(rows, step)
        for place, (title, lines, end) in enumerate(zip(PANELS, *zip(*panels, strict=True), strict=True)):
            x = place % sheet.columns * (sheet.panel + 14)
            y = top + 24 + place // sheet.columns * (HEIGHT + 20)
            drawn.append(_panel((x, y, sheet.panel), title, lines, end, span, [one for _, one in own]))
    begin, end = moment(span[0], 0), moment(span[1], 0)
    end = end[11:] if end[:10] == begin[:10] else end
    drawn += [_text(0, height - 8, begin, "tick"), _text(sheet.width, height - 8, end, "tick", "end")]
    title = f"destinations-{sheet.name}"
    words = "Destinations over time", "Rates in and out, backlog, time in the broker and ack latency of each; incidents are shaded."
    return Markup(  # noqa: S704  escaped above
        f'<svg class="{sheet.name}" style="max-width:{sheet.most}px" role="img" aria-labelledby="{title}-t {title}-d" '
        f'viewBox="0 0 {sheet.width} {height}"><title id="{title}-t">{words[0]}</title><desc id="{title}-d">{words[1]}</desc>'
        f'{"".join(drawn)}</svg>')  # fmt: skip


def _panels(rows: Rows, step: int) -> list[tuple[list[tuple[str, Points]], str]]:
    """Of each panel its lines, each of a class, and what its upper end stands for."""
    seconds = step / 1e9
    rates = [("b", [(row["ns"], row["messages"] / seconds) for row in rows]), ("a", [(row["ns"], row["sends"] / seconds) for row in rows])]
    backlog, waiting = [], 0
    for row in rows:
        waiting += row["backlog_change"]
        backlog.append((row["ns"], max(waiting, 0)))
    latencies = [[(row["ns"], row[name]) for row in rows if row[name] is not None] for name in ("residence_us", "ack_us")]
    most = max(value for _, points in rates for _, value in points)
    least = "at least " if any(row["incomplete"] for row in rows) else ""
    return [
        (rates, f"{most:.3g}"),
        ([("a", backlog)], least + count(max(value for _, value in backlog))),
        *(([("a", points)], duration(max(value for _, value in points)) if points else "–") for points in latencies),
    ]  # fmt: skip


def _panel(
    place: tuple[float, float, float], title: str, lines: Sequence[tuple[str, Points]], end: str, span: tuple[int, int], incidents: Rows
) -> str:
    """One panel: shaded incidents, a base line, the lines of this scale."""
    x, y, width = place
    first, last = span
    most = max((value for _, points in lines for _, value in points), default=0) or 1

    def at(ns: int) -> float:
        return x + width * min(max((ns - first) / (last - first), 0), 1)

    bottom = y + 16 + HEIGHT
    drawn = [_text(x, y + 10, title, "tick"), _text(x + width, y + 10, end, "end", "end")]
    for one in incidents:
        left, right = at(one["begin_ns"]), at(one["end_ns"] or last)
        wide = max(right - left, 2)
        drawn.append(f'<rect class="band {one["level"]}" x="{left:.1f}" y="{y + 16:.0f}" width="{wide:.1f}" height="{HEIGHT}"/>')
    drawn.append(f'<path class="grid" d="M{x:.1f},{bottom:.1f}H{x + width:.1f}"/>')
    for kind, points in lines:
        path = "L".join(f"{at(ns):.1f},{bottom - HEIGHT * value / most:.1f}" for ns, value in points)
        if len(points) == 1:
            drawn.append(f'<path class="fill-{kind}" d="M{path}m-2.5,-2.5h5v5h-5z"/>')
        elif points:
            drawn.append(f'<path class="line stroke-{kind}" d="M{path}"/>')
    return "".join(drawn)


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    """A text at a place; nothing where it is empty."""
    at = f'transform="translate({x:.1f},{y:.1f})"'
    return f'<text class="{kind}" {at} text-anchor="{anchor}">{escape(text)}</text>' if text else ""
