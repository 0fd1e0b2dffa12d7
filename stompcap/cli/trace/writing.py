"""Writes a trace: as tables of text that fit a terminal, or as JSON, one object a row. What comes from the wire is escaped."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stompcap.cli import cells
from stompcap.cli.dialogue.json_and_csv import as_json
from stompcap.cli.dialogue.text import COLOURS, LONGEST_LINE, LONGEST_VALUE, Style, fitting
from stompcap.cli.trace.section import ARROWS, Section
from stompcap.units import NOTHING, counted, iso, moment
from stompcap.visible import visible

MOST_ROWS = 100
"""Rows of a section that are shown unless more are asked for."""


def write(sections: Iterable[Section], form: str, style: Style, most: int | None, begin_ns: int | None) -> None:
    """Print sections, of each `most` rows; times are since `begin_ns` unless the style has absolute ones."""
    most = most or MOST_ROWS
    for section in sections:
        lines = _objects(section, most) if form == "json" else _text(section, style, most, begin_ns)
        for line in lines:
            sys.stdout.write(line + "\n")


def _objects(section: Section, most: int) -> Iterator[str]:
    """A row that says where it is decided, then the rows."""
    left = max(len(section.rows) - most, 0)
    head = {"type": "section", "section": section.name, "decided_in": section.decided_in, "note": section.note, "rows": len(section.rows)}
    yield as_json(head | {"left_out": left})
    for row in section.rows[:most]:
        yield as_json({"type": "row", "section": section.name, **({"time": iso(row["ns"])} if "ns" in row else {}), **row})


def _text(section: Section, style: Style, most: int, begin_ns: int | None) -> Iterator[str]:
    yield _line(f"{section.name} ({', '.join(section.decided_in)})", style, "head")
    yield _line(f"  {section.note}{'' if section.rows else ': none'}", style, "dim")
    if not section.rows:
        return
    rows = section.rows[:most]
    names = [name for name in rows[0] if any(row[name] not in (None, "") for row in rows)]
    table = [[_cell(name, row[name], style, begin_ns) for name in names] for row in rows]
    titles = [{"ns": "time", "way": "", "file_offset": "file offset"}.get(name, name.replace("_", " ")) for name in names]
    right = [all(row[name] is None or (name == "ns" or type(row[name]) is int) for row in rows) for name in names]
    for line in _columns([titles, *table] if names != ["what", "value"] else table, right):
        yield _line(line, style, "")
    if left := len(section.rows) - len(rows):
        yield _line(f"  … {counted(left, 'more row is', 'more rows are')} left out; -c {len(section.rows)} shows all", style, "dim")


def _cell(name: str, value: Any, style: Style, begin_ns: int | None) -> str:
    """A value as text."""
    if value is None:
        return NOTHING
    if name == "ns":
        return moment(value, 6) if style.absolute else f"{(value - (begin_ns or value)) / 1e9:.6f}"
    if name == "way":
        return ARROWS.get(value, "·")
    return cells.text(value, None if style.every_header else LONGEST_VALUE)


def _columns(table: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """Rows of cells below each other, numbers to the right; the last column is as long as it is."""
    widths = [max(len(row[at]) for row in table) for at in range(len(right))]
    for row in table:
        padded = [text.rjust(width) if number else text.ljust(width) for text, width, number in zip(row, widths, right, strict=True)]
        yield f"  {'  '.join(padded)}".rstrip()


def _line(text: str, style: Style, colour: str) -> str:
    """A line that fits the width, or with all headers is as long as it is."""
    text = visible(text)
    if not style.every_header:
        text = fitting(text, style.width or LONGEST_LINE)
    code = COLOURS.get(colour)
    return f"\x1b[{code}m{text}\x1b[0m" if style.colours and code else text

