"""Each plot is drawn twice, for wide pages and for telephones; the style sheet shows the one that fits (`.wide`, `.narrow`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from stompcap.report.scale import Log
from stompcap.report.svg import Drawing
from stompcap.units import duration
from stompcap.visible import visible

Rows = list[dict[str, Any]]

CHARACTER = 6.6
"""About the width of a character, in the units of a drawing; text of 12 of them is 12 high."""


@dataclass(frozen=True)
class Layout:
    """The width of a drawing, its largest displayed width, and the room for names left of rows; without any, names are above the rows."""

    name: str
    width: int
    shown: int
    names: int
    row: int

    def drawing(self, name: str, title: str, description: str, height: float) -> Drawing:
        """A drawing of this width; its name is unique on the page."""
        return Drawing(f"{name}-{self.name}", title, description, self.width, round(height), self.shown, self.name)


WIDE = Layout("wide", 1040, 1040, 350, 26)
NARROW = Layout("narrow", 340, 480, 0, 42)


def drawn(plot: Callable[[Rows, Layout], Markup], rows: Rows) -> Markup:
    """A plot in both layouts; nothing where there are no rows."""
    return Markup("").join(plot(rows, layout) for layout in (WIDE, NARROW)) if rows else Markup("")


def middle(text: str, limit: int) -> str:
    """A name cut in its middle, because names of destinations differ at both ends."""
    shown = visible(text)
    if len(shown) <= limit:
        return shown
    return f"{shown[: limit // 2 - 1]}…{shown[-(limit - limit // 2) :]}"


def duration_axis(drawing: Drawing, axis: Log, top: float, bottom: float) -> None:
    """Decades of microseconds along the foot, each with a grid line; as many labels as there is room for."""
    ticks = axis.ticks()
    every = -(-len(ticks) * 50 // max(round(abs(axis.end - axis.begin)), 1))
    for number, tick in enumerate(ticks):
        drawing.line(axis(tick), top, axis(tick), bottom, "grid")
        if number % max(every, 1) == 0:
            anchor = "end" if axis(tick) + 20 > drawing.width else "start" if axis(tick) < 20 else "middle"
            drawing.text(axis(tick), bottom + 16, duration(tick), "tick", anchor)
