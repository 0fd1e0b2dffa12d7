"""From a Vega-Lite chart to an inline SVG element of the page: static, without scripts, in the colours of its theme.

vl-convert draws the chart in this process and may load nothing. Its colours are `var(--...)`, variables of the page's style sheet, so the
chart follows light and dark.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import vl_convert
from markupsafe import Markup

from stompcap.visible import visible

FONT = 12  # as in style.css
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "Liberation Sans, sans-serif",
    "view": {"stroke": None},
    "mark": {"aria": False, "opacity": 1},
    "point": {"filled": True, "size": 75, "opacity": 1},
    "rule": {"color": "var(--soft)", "strokeWidth": 2},
    "text": {"color": "var(--soft)", "fontSize": FONT},
    "axis": {
        "aria": False, "domain": False, "ticks": False, "grid": True, "gridColor": "var(--rule)", "labelColor": "var(--soft)",
        "labelFontSize": FONT, "labelPadding": 6, "title": None, "titleColor": "var(--soft)", "titleFontSize": FONT,
        "titleFontWeight": "normal", "titlePadding": 8, "titleAnchor": "end",
    },
    "legend": {
        "aria": False, "orient": "top", "title": None, "labelColor": "var(--soft)", "labelFontSize": FONT, "labelLimit": 320,
        "symbolOpacity": 1, "offset": 8, "columnPadding": 26,
    },
}  # fmt: skip
NEEDLESS = ("role", "class", "pointer-events", "font-family", "stroke-miterlimit", "width", "height", "version")
DEFAULTS = {"opacity": "1", "font-size": f"{FONT}px", "fill-opacity": "1"}
LONG_FRACTION = re.compile(r"(\.\d)\d+")
SVG = ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def element(chart: dict[str, Any], name: str, kind: str, max_width: int, words: tuple[str, str]) -> Markup:
    """The chart as an element of class `kind`, at most `max_width` pixels wide.

    `name` is unique on the page; `words` are its title and description for screen readers. Descriptions of marks become hints, which show
    when the pointer rests on them.
    """
    drawn = vl_convert.vegalite_to_svg(chart, config=CONFIG, allowed_base_urls=[])
    root = ElementTree.fromstring(drawn.replace(SVG, "", 1))  # noqa: S314  made in this process, where text is escaped
    _tidy(root)
    root.attrib |= {"class": kind, "style": f"max-width:{max_width}px", "role": "img", "aria-labelledby": f"{name}-t {name}-d"}
    for tag, text in zip(("desc", "title"), reversed(words), strict=True):
        label = ElementTree.Element(tag, id=f"{name}-{tag[0]}")
        label.text = visible(text)
        root.insert(0, label)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704  ElementTree escapes text and attributes


def _tidy(node: ElementTree.Element) -> None:
    """Turn descriptions into hints, and drop what is invisible or says what holds anyway."""
    if hint := node.get("aria-label"):
        ElementTree.SubElement(node, "title").text = hint
    for key, value in list(node.attrib.items()):
        if key.startswith("aria-") or key in NEEDLESS or DEFAULTS.get(key) == value:
            del node.attrib[key]
        elif key in ("transform", "d", "x2", "y2"):
            node.attrib[key] = LONG_FRACTION.sub(r"\1", value)
    for child in list(node):
        empty = child.get("class") in ("background", "foreground") or (child.tag == "text" and not child.text)
        if not empty:
            _tidy(child)
        if empty or (child.tag == "g" and not len(child)):
            node.remove(child)
