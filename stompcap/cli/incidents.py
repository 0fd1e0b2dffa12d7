"""Incidents as people read them: since when, what, and where to look; the same lines in run's summary, `show` and `watch`."""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from stompcap.incidents.alike import folded
from stompcap.incidents.lines import packets, since, whose
from stompcap.tables.incidents import LEVELS, ORDER
from stompcap.units import count, counted, moment
from stompcap.visible import visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = Mapping[str, Any]

MOST = 10
"""Incidents that a summary prints, of many that say the same the first; it says how many more there are."""

READ = 1000
"""Incidents among which those that say the same are looked for."""

STYLES = {"critical": "bold red", "warning": "yellow", "note": "dim"}
SHORT = 8  # digits of a stream_id that are enough to find it


def read(lake: str, spark: Callable[[], SparkSession], most: int, source: str | None = None) -> tuple[list[Row], dict[str, int]]:
    """The first incidents of a lake in their order, and how many there are of each level; nothing of a lake without such a table."""
    from stompcap.lake import open_tables, query
    from stompcap.lake.paths import location
    from stompcap.lake.query import Query

    if not open_tables.is_there(location(lake, "incidents")):
        return [], {}
    rows = Query("rows", ("incidents",), f"SELECT * FROM incidents ORDER BY {ORDER} LIMIT {int(most)}")
    levels = Query("levels", ("incidents",), "SELECT level, count(*) AS number FROM incidents GROUP BY level")
    found = query.ask(lake, [rows, levels], spark, source=source)
    numbers = {row["level"]: row["number"] for row in found["levels"].to_pylist()}
    return found["rows"].to_pylist(), {level: numbers[level] for level in LEVELS if level in numbers}


def every(lake: str) -> list[Row]:
    """All incidents of a lake, in their order."""
    from stompcap.lake import open_tables, query
    from stompcap.lake.paths import location

    if not open_tables.is_there(location(lake, "incidents")):
        return []
    with query.opened({"incidents": query.all_files(lake, "incidents")}) as database:
        rows: list[Row] = database.sql(f"SELECT * FROM incidents ORDER BY {ORDER}").to_arrow_table().to_pylist()
        return rows


def of_session(lake: str, stream_id: str) -> list[Row]:
    """The incidents that a session is a sample of, in their order."""
    from stompcap.lake import open_tables, query
    from stompcap.lake.paths import location

    if not open_tables.is_there(location(lake, "incidents")):
        return []
    with query.opened({"incidents": query.all_files(lake, "incidents")}) as database:
        found = database.execute(f"SELECT * FROM incidents WHERE list_contains(streams, ?) ORDER BY {ORDER}", [stream_id])
        rows: list[Row] = found.to_arrow_table().to_pylist()
        return rows


def title(levels: Mapping[str, int]) -> str:
    """`Incidents: 2 critical, 1 warning, 3 notes`."""
    if not levels:
        return "Incidents: none"
    return "Incidents: " + ", ".join(
        counted(number, "note" if level == "note" else level, "notes" if level == "note" else "warnings" if level == "warning" else level)
        for level, number in levels.items()
    )


def line(row: Row) -> str:
    """An incident in one line of plain text."""
    found = look(row)
    return f"{row['level']:8}  {since(row)}  {visible(row['sentence'])}{'  ' + found if found else ''}"


def look(row: Row) -> str:
    """Whose it is and where to look: `login at Artemis  show 5b1f0c2a  packets 6667 to 11003 of a.pcap`."""
    show = f"show {row['streams'][0][:SHORT]}" if row["streams"] else ""
    return "  ".join(one for one in (whose(row), show, packets(row)) if one)


def grid(rows: Sequence[Row], levels: Mapping[str, int], most: int = MOST) -> Table:
    """At most so many incidents as a table without a frame: level, since when, the sentence with where to look."""
    drawn = Table.grid(padding=(0, 2))
    drawn.add_column(no_wrap=True)
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    shown = folded(rows)[:most]
    dates = len({moment(one.row["begin_ns"], 0)[:10] for one in shown}) > 1
    for one in shown:
        row = one.row
        words = Text(visible(row["sentence"]), style="bold" if row["level"] == "critical" else "")
        if found := look(row):
            words.append(f"\n{found}", style="not bold dim")
        drawn.add_row(Text(row["level"], style=STYLES.get(row["level"], "")), Text(since(row, dates)), words)
        if one.others:
            drawn.add_row(Text(""), Text(""), Text(one.words, style="dim"))
    if (more := sum(levels.values()) - sum(1 + len(one.others) for one in shown)) > 0:
        drawn.add_row(Text(""), Text(""), Text(f"and {count(more)} more: table incidents has all", style="dim"))
    return drawn
