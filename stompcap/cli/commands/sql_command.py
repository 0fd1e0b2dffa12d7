"""`stompcap sql`: statements from the command line, a file, standard input or an interactive shell, answered by DuckDB or Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap import zones
from stompcap.cli import common, render
from stompcap.errors import UsageError
from stompcap.units import counted
from stompcap.visible import visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Query = Annotated[
    str | None,
    typer.Argument(help="One or more statements, separated by semicolons; every table and view of the lake is known.", show_default=False),
]
FromFile = Annotated[str | None, typer.Option("-f", "--file", help="Read the statements from a file.", show_default=False)]
Format = Annotated[str, typer.Option("--format", help=f"Output format: {', '.join(render.FORMATS)}.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Most rows on the terminal; csv and json print all.")]
BySpark = Annotated[bool, typer.Option("--spark", help="Ask Spark, for instance on a cluster; --master and --conf imply it.")]

Attach = Annotated[
    list[str] | None,
    typer.Option(
        "--attach", metavar="NAME=PATH", show_default=False,
        help="Know a Parquet or CSV file as table NAME, or another lake's tables and views as NAME.table; repeatable. They are only read.",
    ),
]
Definitions = Annotated[
    bool, typer.Option("--views", help="Print the statements by which any DuckDB with its extension for Delta knows the tables and views.")
]

Answer = tuple[list[str], Iterator[list[Any]]]
Ask = Callable[[str], AbstractContextManager[Answer]]
CUT = ("table", "vertical")
"""Formats for people, who see the first rows alone."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sql)


def sql(
    lake: common.Lake,
    query: Query = None,
    file: FromFile = None,
    style: Format = "table",
    limit: Limit = 1000,
    time_zone: common.TimeZone = "UTC",
    attach: Attach = None,
    views: Definitions = False,
    spark: BySpark = False,
    master: common.Master = None,
    conf: common.Conf = None,
    verbose: common.Verbose = False,
) -> None:
    """Query the lake in SQL, read-only; without a query on a terminal: an interactive shell."""
    del verbose
    from stompcap.lake import statement
    from stompcap.lake import tables as lakes

    if style not in render.FORMATS:
        raise UsageError(f"--format {style}: must be one of {', '.join(render.FORMATS)}")
    in_zone = common.times_in(time_zone)
    lakes.demand(lake)
    if views:
        from stompcap.lake.attached import definitions

        print("\n".join(definitions(lake)))
        return
    shell = query is None and file is None and sys.stdin.isatty()
    statements = [] if shell else statement.statements(_text(query, file))
    for one in statements:
        if statement.zone(one) is None:
            statement.demand_reading(one)
    with in_zone, ExitStack() as zones_asked:
        ask = _engine(lake, spark, master, conf, attach or [])

        def told(one: str) -> None:
            if (name := statement.zone(one)) is not None:
                zones_asked.enter_context(common.times_in(name))
            else:
                answer(ask, one, style, limit)

        if shell:
            from stompcap.cli.sql_shell import run

            run(visible(lake), told, lambda name: described(ask, name))
        for number, one in enumerate(statements):
            if number and style != "json" and statement.zone(one) is None:
                print()
            told(one)


def answer(ask: Ask, one: str, style: str, limit: int) -> None:
    """Print the answer to a statement; UsageError with what is wrong with it."""
    from stompcap.lake import statement_errors

    asked = ask(one)  # what is wrong with the lake is not the statement's
    try:
        with asked as (columns, rows):
            if style not in CUT:
                render.emit(columns, rows, style)
                return
            held = list(islice(rows, limit + 1))
    except Exception as error:
        words = statement_errors.describe(error)
        if words is None:
            raise
        raise UsageError(words) from error
    render.emit(columns, held[:limit], style)
    if len(held) > limit:
        print(f"only the first {counted(limit, 'row is', 'rows are')} shown; raise --limit or use --format csv", file=sys.stderr)


def _text(query: str | None, file: str | None) -> str:
    """The statements that are given, from one place."""
    if query is not None and file is not None:
        raise UsageError("give a query or -f FILE, not both")
    if query is not None:
        return query
    try:
        if file is None or file == "-":
            return sys.stdin.read()
        with open(file, encoding="utf-8") as text:
            return text.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{f'-f {file}' if file else 'standard input'}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error


def described(ask: Ask, name: str) -> list[str]:
    """The columns of a table or view."""
    with ask(f"DESCRIBE {name}") as (_, rows):
        return [row[0] for row in rows]


def _engine(lake: str, spark: bool, master: str | None, conf: list[str] | None, attach: list[str]) -> Ask:
    """What answers: Spark where asked for, else DuckDB."""
    from stompcap.lake import statement
    from stompcap.lake import tables as lakes

    if not (spark or master is not None or conf):
        from stompcap.lake.attached import attached
        from stompcap.lake.reading import answered

        more = attached(attach)
        return lambda one: answered(lake, one, more)
    if attach:
        raise UsageError("--attach: is answered by DuckDB; leave out --spark, --master and --conf")
    session = common.session(master, conf)()
    session.conf.set("spark.sql.runSQLOnFiles", "false")  # no FROM csv.`/any/file`
    shown: set[str] = set()

    def by_spark(one: str) -> AbstractContextManager[Answer]:
        lakes.views(session, lake, names := statement.names(one) - shown)
        shown.update(names)
        return _by_spark(session, one)

    return by_spark


@contextmanager
def _by_spark(session: SparkSession, one: str) -> Iterator[Answer]:
    from stompcap.lake import statement
    from stompcap.spark import row_times

    session.conf.set("spark.sql.session.timeZone", zones.name())
    found = statement.read(session, one)
    try:
        yield found.columns, row_times.rows(found)
    except KeyboardInterrupt:
        session.sparkContext.cancelAllJobs()
        raise
