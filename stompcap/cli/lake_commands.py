"""Commands that work on an existing lake: `sql`, `report`, `maintain`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap.cli import common, render
from stompcap.cli.grouped import grouped
from stompcap.cli.progress import shown
from stompcap.errors import UsageError
from stompcap.spark import lake as lakes
from stompcap.units import count, size
from stompcap.visible import visible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Query = Annotated[str, typer.Argument(help="Spark SQL; every table of the lake is a view.", show_default=False)]
Format = Annotated[str, typer.Option("--format", help=f"Output format: {', '.join(render.FORMATS)}.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Most rows of a table on the terminal; csv and json print all.")]
Out = Annotated[str, typer.Option("-o", "--output", help="The file to write.")]
Retain = Annotated[
    int,
    typer.Option(
        "--retain-hours", min=0,
        help="How long to keep files that no table uses, and logs of older versions; below 168 only while nobody reads the lake.",
    ),
]  # fmt: skip


WHERE, VERBOSITY = common.Where(), common.Verbosity()


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (sql, report, maintain):
        app.command()(grouped(command))


def sql(
    query: Query,
    lake: common.Lake,
    style: Format = "table",
    limit: Limit = 1000,
    master: common.Master = None,
    conf: common.Conf = None,
    verbose: common.Verbose = False,
) -> None:
    """Query the lake in Spark SQL, read-only."""
    del verbose
    from stompcap.spark import mistakes, statement

    if style not in render.FORMATS:
        raise UsageError(f"--format {style}: must be one of {', '.join(render.FORMATS)}")
    statement.demand_reading(query)
    lakes.demand(lake)
    spark = common.session(master, conf)()
    lakes.views(spark, lake)
    try:
        _answer(statement.read(spark, query), style, limit)
    except Exception as error:
        words = mistakes.mistake(error)
        if words is None:
            raise
        raise UsageError(words) from error


def _answer(found: DataFrame, style: str, limit: int) -> None:
    """Print the rows."""
    rows = _rows(found, limit + 1 if style == "table" else None)
    if style != "table":
        render.emit(found.columns, rows, style)
        return
    held = list(rows)
    render.emit(found.columns, held[:limit], style)
    if len(held) > limit:
        print(f"only the first {limit} rows are shown; raise --limit or use --format csv", file=sys.stderr)


def _rows(found: DataFrame, limit: int | None) -> Iterator[list[Any]]:
    """The rows one by one, never all in memory."""
    chosen = found if limit is None else found.limit(limit)
    for row in chosen.toLocalIterator():
        yield list(row)


def report(
    lake: common.Lake,
    output: Out = "report.html",
    master: common.Master = None,
    conf: common.Conf = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Write one self-contained HTML page: ack latencies, heart-beats, compliance."""
    del verbose
    from stompcap.report import write

    common.demand_place(output)
    lakes.demand(lake)
    with shown(quiet) as progress:
        progress.begin("writing the report")
        write(lake, output, common.session(master, conf))
    if not quiet:
        print(visible(f"report: {output}"))


def maintain(
    lake: common.Lake,
    retain_hours: Retain = 168,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Merge small files, clustered by time and stream, and remove files that no table uses any more, and old logs."""
    from pipelines import lock
    from stompcap.spark import maintenance
    from stompcap.tables import TABLES

    lakes.demand(lake)
    with shown(verbosity.quiet or (verbosity.as_json and not sys.stderr.isatty())) as progress, lock.held(lake, where.wait, progress):
        session, done = common.session(where.master, where.conf), []
        for name in TABLES:
            progress.begin(f"maintaining {name}")
            done.append(maintenance.maintain(session, lake, name, retain_hours))
    total = maintenance.total(done)
    if verbosity.as_json:
        print(json.dumps({"status": "done", "lake": lake, "tables": [vars(one) for one in done], "total": vars(total)}))
    elif not verbosity.quiet:
        rows = [
            (one.table, *map(count, (one.files_before, one.files_after, one.removed)), size(one.octets_before), size(one.octets_after))
            for one in (*done, total)
        ]
        render.emit(("table", "files before", "after", "removed from disk", "octets before", "after"), rows, "table")
