"""What the questions of docs/sql.md cost on a lake: seconds as `stompcap sql` answers them, and the files that are read for that.

The seconds are those of the quickest of three answers, by the clock and of all processors: of files that the system has in memory. A file
counts as read if octets of its rows were, not if its footer alone was.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from stompcap.lake import query
from stompcap.lake.reading import answered, files, named
from stompcap.tables import TABLES
from stompcap.views import VIEWS
from tests.sql.document import questions

ANSWERS = 3
READ = "SELECT count(DISTINCT path), coalesce(sum(bytes), 0) FROM duckdb_logs_parsed('FileSystem') WHERE op = 'READ'"


@dataclass(frozen=True)
class Cost:
    """What a question takes: seconds by the clock and of processors, files and octets that are read, files that its tables have."""

    words: str
    seconds: float
    processor: float
    read: int
    octets: int
    files: int


def seconds(lake: str, sql: str) -> tuple[float, float]:
    """From the statement to its last row: by the clock, and of processors."""
    began, worked = time.monotonic(), time.process_time()
    with answered(lake, sql) as (_, rows):
        for _ in rows:
            pass
    return time.monotonic() - began, time.process_time() - worked


def opened(lake: str, sql: str) -> tuple[int, int, int]:
    """Files and octets that are read for an answer, and how many files the tables have that it names."""
    views = [VIEWS[name] for name in named(sql) if name in VIEWS]
    tables = {name for name in named(sql) if name in TABLES} | {table for view in views for table in view.tables}
    held = {table: files(lake, table) for table in tables}
    with query.opened(held) as database:  # reads the footers
        for view in views:
            database.execute(f"CREATE VIEW {view.name} AS {view.of()}")
        database.execute("CALL enable_logging('FileSystem', level = 'trace')")
        database.execute(sql).fetchall()
        ((read, octets),) = database.execute(READ).fetchall()
    return read, octets, sum(len(part.uris) for part in held.values())


def cost(lake: str, words: str, sql: str) -> Cost:
    """That of one question."""
    taken = min(seconds(lake, sql) for _ in range(ANSWERS))
    return Cost(words, *taken, *opened(lake, sql))


def table(costs: list[Cost]) -> Table:
    """The slowest first."""
    shown = Table("question", caption=f"{len(costs)} questions; seconds: least of {ANSWERS}")
    for column in ("s", "processor s", "MB read", "files read", "of"):
        shown.add_column(column, justify="right")
    for one in sorted(costs, key=lambda one: -one.seconds):
        shown.add_row(one.words, f"{one.seconds:.2f}", f"{one.processor:.2f}", f"{one.octets / 1e6:,.1f}", str(one.read), str(one.files))
    return shown


def main() -> None:
    """Measure and print the table: python -m benchmarks.questions LAKE."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", help="benchmarks.large_lake makes a large one")
    lake = parser.parse_args().lake
    counts = [f"{rows(lake, name):,} {name}" for name in ("frames", "raw_frames", "deliveries", "sessions")]
    print(", ".join(counts))
    Console(width=160).print(table([cost(lake, one.words, one.sql) for one in questions()]))


def rows(lake: str, name: str) -> int:
    """The rows of a table."""
    return query.all_files(lake, name).rows


if __name__ == "__main__":
    main()
