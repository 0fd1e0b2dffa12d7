"""The drawings of a page, with the places of their shapes and words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

CHARACTER = 6.6  # about its width, in the units of a drawing; text of 12 of them is 12 high


@dataclass(frozen=True)
class Shape:
    """An element of a drawing, and where its own origin is on the drawing."""

    node: ElementTree.Element
    x: float
    y: float

    @property
    def tag(self) -> str:
        return self.node.tag

    @property
    def text(self) -> str:
        return self.node.text or ""

    @property
    def corners(self) -> list[tuple[float, float]]:
        """What a line or path goes through; for the arcs of a disc, its sides."""
        if self.tag == "line":
            return [(self.x, self.y), (self.x + float(self.node.get("x2", 0)), self.y + float(self.node.get("y2", 0)))]
        corners, at = [], (0.0, 0.0)
        for letter, numbers in re.findall(r"([MLHVAhvaml])([^A-Za-z]*)", self.node.get("d", "")):
            values = [float(value) for value in re.findall(r"-?[\d.]+", numbers)]
            step = {"H": (values[0], at[1]), "V": (at[0], values[0]), "h": (at[0] + values[0], at[1]), "v": (at[0], at[1] + values[0])}
            at = step.get(letter, (values[-2], values[-1]) if len(values) > 1 else at)
            corners.append((self.x + at[0], self.y + at[1]))
        return corners

    @property
    def span(self) -> tuple[float, float]:
        """From where to where a text goes."""
        long = CHARACTER * len(self.text)
        begin = self.x - {"start": 0, "middle": long / 2, "end": long}[self.node.get("text-anchor", "start")]
        return begin, begin + long


def drawings(page: str) -> list[str]:
    """The drawings of a page, or of a plot."""
    return re.findall(r"<svg.*?</svg>", page, re.DOTALL)


def shapes(drawing: str) -> list[Shape]:
    """All elements of a drawing; it must be well-formed."""
    found = []

    def walk(node: ElementTree.Element, x: float, y: float) -> None:
        for transform in re.findall(r"translate\(([^)]*)\)", node.get("transform", "")):
            dx, dy = map(float, transform.split(","))
            x, y = x + dx, y + dy
        found.append(Shape(node, x, y))
        for child in node:
            walk(child, x, y)

    walk(ElementTree.fromstring(drawing), 0, 0)
    return found


def words(drawing: str) -> list[Shape]:
    """The texts of a drawing."""
    return [one for one in shapes(drawing) if one.tag == "text"]


def hints(plot: str) -> list[str]:
    """What shows when the pointer rests on a mark, in all drawings of a plot."""
    return [one.text for drawing in drawings(plot) for one in shapes(drawing)[1:] if one.tag == "title" and not one.node.get("id")]
