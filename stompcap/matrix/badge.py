"""A badge of one product: `STOMP 1.2 MUST 61/61`, as an SVG, or as JSON for the endpoint of shields.io.

61 of the 61 MUST rules that its sessions tried were kept. What they did not try counts neither way: the matrix says what that is.
"""

from __future__ import annotations

import json
from html import escape

from stompcap.errors import UsageError
from stompcap.matrix.model import Matrix
from stompcap.matrix.wording import name_of
from stompcap.options import one_of

GREEN, RED, GREY = ("brightgreen", "#3c8d2f"), ("red", "#c9302c"), ("lightgrey", "#777")
SUFFIXES = (".svg", ".json")
CHARACTER = 6.6
"""Pixels of a character of 11 pixels in a sans-serif font, about."""

SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {message}">
<title>{product}: {label} {message}</title>
<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">
<text x="{label_at}" y="14" textLength="{label_size}">{label}</text>
<text x="{message_at}" y="14" textLength="{message_size}">{message}</text>
</g>
</svg>
"""


def written(matrix: Matrix, path: str) -> str:
    """The badge, in the form that the file's name asks for; raises UsageError for another, or where it is not of one product."""
    suffix = demanded(path)
    if matrix.shared:
        raise UsageError("--badge is made of captures: a lake does not tell which side tried a rule that is about both")
    if len(matrix.columns) != 1:
        names = ", ".join(name_of(column.name) for column in matrix.columns) or "none"
        raise UsageError(f"--badge is of one product; name it with --product: {names}")
    column = matrix.columns[0]
    kept, judged = matrix.musts(0)
    versions = [version for version in column.versions if version]
    said = " ".join(["STOMP", *(["-".join(dict.fromkeys((versions[0], versions[-1])))] if versions else []), "MUST"])
    message = f"{kept}/{judged}" if judged else "not judged"
    name, colour = GREY if not judged else GREEN if kept == judged else RED
    if suffix == ".json":
        return json.dumps({"schemaVersion": 1, "label": said, "message": message, "color": name}) + "\n"
    left, right = (round(len(text) * CHARACTER) + 10 for text in (said, message))
    return SVG.format(
        width=left + right, left=left, right=right, colour=colour, label=escape(said), message=escape(message), label_at=left / 2,
        message_at=left + right / 2, label_size=left - 10, message_size=right - 10, product=escape(name_of(column.name)),
    )  # fmt: skip


def demanded(path: str) -> str:
    """The suffix of a badge's file; raises UsageError for one that is not known."""
    suffix = next((one for one in SUFFIXES if path.lower().endswith(one)), None)
    if suffix is None:
        raise UsageError(f"--badge {name_of(path)}: the file's name must end in {one_of(SUFFIXES)}")
    return suffix
