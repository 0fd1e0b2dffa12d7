"""A drawing as inline SVG: a few shapes, text escaped, with a title and a description for screen readers.

Colours are classes of the page's style sheet, so that drawings follow its light and dark theme; nothing is loaded from
the network.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup

from stompcap.visible import visible


@dataclass
class Drawing:
    """Shapes collected on a canvas of `width` by `height`, shown `shown` wide at most; `name` is unique on the page."""

    name: str
    title: str
    description: str
    width: int
    height: int
    shown: int
    kind: str
    shapes: list[Markup] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        self._add('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>', x1, y1, x2, y2, kind)

    def bar(self, x: float, y: float, width: float, height: float, kind: str, hint: str = "") -> None:
        """A rectangle; the hint shows when the pointer rests on it."""
        shape = '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"><title>{}</title></rect>'
        self._add(shape, x, y, max(width, 0.0), max(height, 0.0), kind, visible(hint))

    def dot(self, x: float, y: float, kind: str, hint: str = "", radius: float = 4.5) -> None:
        """A disc."""
        self._add(
            '<circle cx="{:.1f}" cy="{:.1f}" r="{}" class="{}"><title>{}</title></circle>',
            x,
            y,
            radius,
            kind,
            visible(hint),
        )

    def diamond(self, x: float, y: float, kind: str, hint: str = "", radius: float = 5.5) -> None:
        """A square on its tip, distinct from a disc without colour."""
        path = f"M{x:.1f} {y - radius:.1f}L{x + radius:.1f} {y:.1f}L{x:.1f} {y + radius:.1f}L{x - radius:.1f} {y:.1f}Z"
        self._add('<path d="{}" class="{}"><title>{}</title></path>', path, kind, visible(hint))

    def curve(self, points: list[tuple[float, float]], kind: str) -> None:
        """Straight lines from point to point."""
        if len(points) > 1:
            self._add('<polyline points="{}" class="{}"/>', " ".join(f"{x:.1f},{y:.1f}" for x, y in points), kind)

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start", limit: int = 60) -> None:
        """A short text, cut where there is no room."""
        self._add(
            '<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>',
            x,
            y,
            kind,
            anchor,
            visible(words, limit),
        )

    def markup(self) -> Markup:
        """The drawing as an element."""
        head = Markup(
            '<svg viewBox="0 0 {w} {h}" style="max-width:{m}px" class="{k}" role="img" aria-labelledby="{n}-t {n}-d">'
            '<title id="{n}-t">{t}</title><desc id="{n}-d">{d}</desc>'
        ).format(
            w=self.width, h=self.height, m=self.shown, k=self.kind, n=self.name, t=visible(self.title), d=visible(self.description)
        )
        return head + Markup("").join(self.shapes) + Markup("</svg>")

    def _add(self, shape: str, *values: object) -> None:
        """Add a shape; every value is escaped."""
        self.shapes.append(Markup(shape).format(*values))  # noqa: S704  shapes are literals of this class
