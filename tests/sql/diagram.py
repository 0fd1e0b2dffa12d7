"""How tables join, drawn: docs/tables.svg, from the declarations of the tables (`python -m tests.sql.diagram > docs/tables.svg`).

A box is a table, with the columns that name its rows or refer to another table; a line goes from a column's table to the one that has it
as its key. The batches and runs that wrote a row are columns of most tables, and not drawn; nor are tables that nothing is joined to.
"""

from __future__ import annotations

import sys
from html import escape

from stompcap.tables import TABLES, Table

REFERENCES = {
    "capture_id": "captures", "first_capture_id": "captures", "last_capture_id": "captures", "stream_id": "streams", "rule_id": "rules",
}  # fmt: skip
"""Columns that name a row of a table, by that table."""
COLUMNS = (
    ("captures", "streams"),
    ("segments", "raw_frames", "stalls", "transports", "transport_events", "sessions", "rules"),
    (
        "frames", "subscriptions", "deliveries", "transactions", "receipts", "sends", "heartbeats", "heartbeat_violations", "compliance",
        "compliance_findings", "compliance_summary",
    ),
)  # fmt: skip
WIDTH, BETWEEN, LINE, PAD, MARGIN = 220, 110, 15, 8, 16
HEAD = LINE + PAD
INK, PAPER, BOX, TITLE, EDGE = "#1f2933", "#ffffff", "#f5f7fa", "#d9e2ec", "#627d98"


def svg() -> str:
    """The whole drawing."""
    places: dict[str, tuple[int, int]] = {}
    height = 0
    total = max(sum(_height(TABLES[name]) + MARGIN for name in column) for column in COLUMNS)
    for number, column in enumerate(COLUMNS):
        spare = total - sum(_height(TABLES[name]) + MARGIN for name in column)
        at = MARGIN + spare // 2
        for name in column:
            places[name] = (MARGIN + number * (WIDTH + BETWEEN), at)
            at += _height(TABLES[name]) + MARGIN
        height = max(height, at)
    width = 2 * MARGIN + len(COLUMNS) * WIDTH + (len(COLUMNS) - 1) * BETWEEN
    lines = [f'<path d="{_path(places[one], places[other], other, name)}" fill="none" stroke="{EDGE}"/>' for one, other, name in joins()]
    boxes = [part for name, place in places.items() for part in _box(TABLES[name], *place)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="system-ui, sans-serif" font-size="12" role="img">',
        "<title>How the tables join</title>",
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>', *lines, *boxes, "</svg>", "",
    ])  # fmt: skip


def joins() -> list[tuple[str, str, str]]:
    """The lines: the table whose key it is, the table that has the column, the column; a session is one stream."""
    found = []
    for number, column in enumerate(COLUMNS):
        for table in column:
            for name in (one.name for one in TABLES[table].columns):
                other = "sessions" if name == "stream_id" and number == 2 else REFERENCES.get(name, table)
                if other != table:
                    found.append((other, table, name))
    return found


def _shown(table: Table) -> list[str]:
    names = {*table.key, *(name for one, other, name in joins() if other == table.name)}
    return [column.name for column in table.columns if column.name in names]


def _height(table: Table) -> int:
    return HEAD + LINE * len(_shown(table)) + PAD


def _path(begin: tuple[int, int], end: tuple[int, int], table: str, name: str) -> str:
    """A curve from the head of one box to the line of a column in another."""
    x, y = begin[0] + WIDTH, begin[1] + HEAD // 2
    to_x, to_y = end[0], end[1] + HEAD + LINE * _shown(TABLES[table]).index(name) + LINE // 2 + 2
    if end[0] == begin[0]:  # the same column
        return f"M{x} {y} C{x + 50} {y} {x + 50} {to_y} {to_x + WIDTH} {to_y}"
    bend = BETWEEN // 2
    return f"M{x} {y} C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"


def _box(table: Table, x: int, y: int) -> list[str]:
    height = _height(table)
    found = [
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{height}" rx="4" fill="{BOX}" stroke="{EDGE}"/>',
        f'<path d="M{x} {y + HEAD - 2} v{4 - HEAD + 2} q0 -4 4 -4 h{WIDTH - 8} q4 0 4 4 v{HEAD - 6} z" fill="{TITLE}"/>',
        f'<text x="{x + PAD}" y="{y + LINE}" font-weight="bold" fill="{INK}">{escape(table.name)}</text>',
    ]
    for number, name in enumerate(_shown(table)):
        at = y + HEAD + LINE * (number + 1) - 3
        weight = ' font-weight="600"' if name in table.key else ""
        found.append(f'<text x="{x + PAD}" y="{at}"{weight} fill="{INK}">{escape(name)}</text>')
        if name in table.key:
            found.append(f'<text x="{x + WIDTH - PAD}" y="{at}" text-anchor="end" fill="{EDGE}">key</text>')
    return found


if __name__ == "__main__":
    sys.stdout.write(svg())
