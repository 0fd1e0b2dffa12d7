"""Each plot is drawn twice, for wide pages and for telephones; the style sheet shows the one that fits (`.wide`, `.narrow`).

A plot is a list of Vega-Lite layers. Here is what the plots have in common: rows with names, axes of durations, of counts and of time,
percentiles told apart by shape and colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from stompcap.report.svg import element
from stompcap.units import duration, moment, offset_ms, stamp
from stompcap.visible import visible

Rows = list[dict[str, Any]]
Spec = dict[str, Any]
"""A part of a Vega-Lite specification."""

FIGURES = {
    "median": ("var(--a)", "circle"),
    "p95": ("var(--b)", "diamond"),
    "p99": ("var(--soft)", "M-.25,-1H.25V1H-.25Z"),
}
"""Colour and shape of a percentile, wherever it is drawn."""


CLOCK = {
    "year": "%Y", "quarter": "%Y-%m", "month": "%Y-%m", "week": "%m-%d", "date": "%m-%d", "day": "%m-%d",
    "hours": "%H:%M", "minutes": "%H:%M", "seconds": "%H:%M:%S", "milliseconds": "%H:%M:%S.%L",
}  # fmt: skip
"""Labels of times: the largest unit that changes from one to the next."""


@dataclass(frozen=True)
class Room:
    """The room around a plot: for names or labels left of it, texts right of it, the legend above it, labels below it."""

    left: int
    right: int
    top: int = 28
    bottom: int = 26


@dataclass(frozen=True)
class Layout:
    """The width of a drawing, its largest displayed width, and the room for names left of rows; without any, names are above the rows."""

    name: str
    width: int
    max_width: int
    names: int
    row: int

    def markup(self, layers: Sequence[Spec], name: str, words: tuple[str, str], height: float, room: Room) -> Markup:
        """Layers as a drawing of this width; `words` are title and description, `height` that of the plot.

        Vega would make room by the fonts of the machine that makes the report, which are not those of its readers.
        """
        chart = {
            "layer": layers, "width": self.width - room.left - room.right, "height": height, "autosize": "none",
            "padding": {"left": room.left, "right": room.right, "top": room.top, "bottom": room.bottom},
        }  # fmt: skip
        return element(chart, f"{name}-{self.name}", self.name, self.max_width, words)

    def middle(self, row: int) -> float:
        """How far below the top of a drawing of rows the marks of a row are."""
        return self.row * row + (self.row / 2 if self.names else 31)

    def named(self, names: Sequence[str]) -> Spec:
        """The names of rows."""
        rows = [{"y": self.middle(row) - (0 if self.names else 17), "text": visible(name, 60)} for row, name in enumerate(names)]
        return texts(rows, {"value": -12 if self.names else 0}, align="right" if self.names else "left", color="var(--ink)")

    def with_texts(self) -> Layout:
        """The layout for rows that have a text of their own (`texts_beside`)."""
        return self if self.names else replace(self, row=self.row + 20)

    def texts_beside(self, texts_of_rows: Sequence[str]) -> Spec:
        """Texts right of rows; below them where names are above."""
        rows = [{"y": self.middle(row) + (0 if self.names else 18), "text": visible(text, 60)} for row, text in enumerate(texts_of_rows)]
        return texts(rows, {"value": "width" if self.names else 0}, align="left", dx=12 if self.names else 0)


WIDE = Layout("wide", 1040, 1040, 350, 26)
NARROW = Layout("narrow", 340, 480, 0, 42)


def drawn(plot: Callable[[Rows, Layout], Markup], rows: Rows) -> Markup:
    """A plot in both layouts; nothing where there are no rows."""
    return Markup("").join(plot(rows, layout) for layout in (WIDE, NARROW)) if rows else Markup("")


def amount(name: str, **options: Any) -> Spec:
    """A channel with numbers of a column."""
    return {"field": name, "type": "quantitative", **options}


Y = amount("y", scale=None, axis=None)
"""Heights in units of the drawing, counted from its top."""


def word(name: str, kinds: Mapping[str, str] | None = None, **options: Any) -> Spec:
    """A channel with words of a column; `kinds` gives colours to words, without it the words are colours."""
    scale = {"domain": list(kinds), "range": list(kinds.values())} if kinds else None
    return {"field": name, "type": "nominal", "scale": scale, **options}


def layer(rows: Rows, mark: str, channels: Mapping[str, Spec], **options: Any) -> Spec:
    """Marks for rows; a column `hint` is the hint of each mark."""
    hints = {"description": {"field": "hint", "type": "nominal"}} if rows and "hint" in rows[0] else {}
    return {"data": {"values": rows}, "mark": {"type": mark, "aria": bool(hints), **options}, "encoding": {**channels, **hints}}


def texts(rows: Rows, x: Spec, **options: Any) -> Spec:
    """Texts beside marks, each at its `y`."""
    return layer(rows, "text", {"x": x, "y": Y, "text": {"field": "text", "type": "nominal"}}, **options)


def points(rows: Rows, figures: Sequence[str], x: Spec, y: Spec, size: int = 75) -> Spec:
    """A point for each row in the colour and shape of its `figure`, with a legend of all `figures`."""
    colours, shapes = ({name: FIGURES[name][part] for name in figures} for part in (0, 1))
    return layer(rows, "point", {"x": x, "y": y, "color": word("figure", colours), "shape": word("figure", shapes)}, size=size)


def middle(text: str, limit: int) -> str:
    """A name cut in its middle, because names of destinations differ at both ends."""
    text = visible(text)
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2 - 1]}…{text[-(limit - limit // 2) :]}"


def drawable(us: float) -> float:
    """A duration on a logarithmic axis: below a microsecond, or negative because a clock stepped back, it is at the axis' beginning."""
    return max(us, 1)


def durations(name: str, values: Sequence[float]) -> Spec:
    """A logarithmic channel of durations in microseconds: whole decades that have all values (`drawable` ones)."""
    low = math.floor(math.log10(drawable(min(values))))
    high = max(math.ceil(math.log10(drawable(max(values)))), low + 1)
    decades = [10**decade for decade in range(low, high + 1)]
    labels = " : ".join(f"datum.value == {decade} ? '{duration(decade)}'" for decade in decades)
    return amount(
        name,
        scale={"type": "log", "domain": [decades[0], decades[-1]], "clamp": True},
        axis={"values": decades, "labelExpr": f"{labels} : ''", "labelOverlap": True},
    )


def times(name: str, first_ns: int, last_ns: int, layout: Layout) -> Spec:
    """A channel of times, as `instant` gives them."""
    return {
        "field": name, "type": "temporal", "scale": {"type": "utc", "domain": [instant(first_ns), instant(last_ns)]},
        "axis": {"tickCount": 8 if layout.names else 3, "labelOverlap": True, "grid": False, "format": CLOCK,
                 "title": f"{moment(first_ns, 0)} to {stamp(last_ns, 0)}"},
    }  # fmt: skip


def instant(ns: float) -> float:
    """Nanoseconds since the epoch as what Vega takes for a time of UTC: the time of day in the zone that is shown."""
    return ns / 1e6 + offset_ms(ns)


def counts(name: str, ticks: int = 4, **scale: Any) -> Spec:
    """A channel of counts: whole numbers, 800k for 800,000."""
    return amount(name, axis={"format": "~s", "tickCount": ticks, "tickMinStep": 1}, scale={"nice": True, **scale})
