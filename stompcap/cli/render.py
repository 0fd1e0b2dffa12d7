"""Results for people and programs: rows as a table, CSV or JSON, and the summary of a run.

Everything goes to Rich as `Text`, never as markup, so that brackets in a header stay brackets.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import IO, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from stompcap.cli import cells
from stompcap.cli.summary import summary
from stompcap.visible import visible

__all__ = ["FORMATS", "emit", "json_lines", "show", "summary", "table", "write_csv"]

FORMATS = ("table", "csv", "json", "vertical")
WIDEST = 120  # characters of one cell of a table
NARROWEST = 20  # characters of a cell that is folded: with less, rows are shown as records
BETWEEN = 3  # characters between two columns

Rows = Iterable[Sequence[Any]]


def emit(columns: Sequence[str], rows: Rows, style: str, file: IO[str] | None = None) -> None:
    """Print rows as one of FORMATS to `file`, standard output by default.

    CSV and JSON are written row by row; a table needs all of them at once. ValueError for any other format. On a terminal too
    narrow for a table, each row becomes a record with a line for each value.
    """
    file = file or sys.stdout
    if style == "table":
        held = [list(row) for row in rows]
        console = Console(file=file)
        narrow = console.is_terminal and least_width(columns, held) > console.width
        show((records if narrow else table)(columns, held), file)
    elif style == "vertical":
        show(records(columns, rows, None), file)
    elif style == "csv":
        write_csv(columns, rows, file)
    elif style == "json":
        file.writelines(json_lines(columns, rows))
    else:
        raise ValueError(f"{style} is not one of {', '.join(FORMATS)}")


def show(renderable: RenderableType, file: IO[str] | None = None) -> None:
    """Print something to `file`, as wide as the terminal.

    Without a terminal, as wide as it is, so that no line breaks.
    """
    file = file or sys.stdout
    if hasattr(file, "reconfigure"):
        file.reconfigure(errors="backslashreplace")  # a terminal may have fewer characters than text has
    console = Console(file=file, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = 10_000
        console.width = max(80, Measurement.get(console, console.options, renderable).maximum)
    console.print(renderable)


def table(columns: Sequence[str], rows: Rows, limit: int = WIDEST) -> Table:
    """Rows under their columns' names, numbers right-aligned; cells longer than `limit` are cut."""
    found = [list(row) for row in rows]
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(columns):
        numbers = any(_is_number(row[index]) for row in found)
        drawn.add_column(Text(visible(name)), justify="right" if numbers else "left", overflow="fold")
    for row in found:
        drawn.add_row(*(Text(cells.text(value, limit), style="dim" if value is None else "") for value in row))
    return drawn


def least_width(columns: Sequence[str], rows: Rows) -> int:
    """The least width of a table of these rows in characters, its long cells folded."""
    widths = [min(cell_len(visible(name)), NARROWEST) for name in columns]
    for row in rows:
        widths = [max(w, min(cell_len(cells.text(value, NARROWEST)), NARROWEST)) for w, value in zip(widths, row, strict=True)]
    return sum(widths) + BETWEEN * max(len(widths) - 1, 0)


def records(columns: Sequence[str], rows: Rows, limit: int | None = WIDEST) -> Group:
    """Rows one below the other, a line for each value after its column's name; cells longer than `limit` are cut, if it is given."""
    names = [visible(name) for name in columns]
    longest = max(map(cell_len, names), default=0)
    parts: list[RenderableType] = []
    for number, row in enumerate(rows, 1):
        drawn = Table.grid(padding=(0, 2))
        drawn.add_column(style="bold", min_width=longest)
        drawn.add_column(overflow="fold")
        for name, value in zip(names, row, strict=True):
            drawn.add_row(Text(name), Text(cells.text(value, limit), style="dim" if value is None else ""))
        parts += [Text(f"─[ {number} ]".ljust(longest + NARROWEST, "─"), style="dim"), drawn]
    return Group(*parts)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def write_csv(columns: Sequence[str], rows: Rows, file: IO[str]) -> None:
    """RFC 4180 with a header line and LF line ends; `cells` defines how hostile text is escaped."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([cells.csv_text(name) for name in columns])
    writer.writerows([cells.csv_text(value) for value in row] for row in rows)


def json_lines(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """One JSON array of objects, one row per line; a repeated column name gets a number."""
    names = _distinct(columns)
    yield "["
    for number, row in enumerate(rows):
        values = (cells.plain(value) for value in row)
        yield f"{',' if number else ''}\n{json.dumps(dict(zip(names, values, strict=True)))}"
    yield "\n]\n"


def _distinct(columns: Sequence[str]) -> list[str]:
    """The names, repeated ones numbered from 2."""
    names: list[str] = []
    for name in columns:
        candidate, number = name, 1
        while candidate in names:
            number += 1
            candidate = f"{name}_{number}"
        names.append(candidate)
    return names
