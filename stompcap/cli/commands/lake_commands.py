"""Commands that work on an existing lake: `report`, `maintain`."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap.cli import common, render
from stompcap.cli.dialogue_options import Clients, Logins
from stompcap.cli.grouped import grouped
from stompcap.cli.moments import nanoseconds
from stompcap.cli.progress import on_stderr
from stompcap.errors import UsageError
from stompcap.options import one_of
from stompcap.units import count, size
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.lake.scope import Scope

Out = Annotated[str, typer.Option("-o", "--output", help="The file to write.")]
Retain = Annotated[
    int,
    typer.Option(
        "--retain-hours", min=0,
        help="How long to keep files that no table uses, and logs of older versions; below 168 only while nobody reads the lake.",
    ),
]  # fmt: skip


FORMS = ("html", "md")
Begin = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Only from this time on (ISO 8601, UTC).", show_default=False)]
End = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only before this time.", show_default=False)]
Destinations = Annotated[
    list[str] | None,
    typer.Option("--destination", metavar="NAME", help="Only this destination, and sessions that use it; repeatable.",
                 show_default=False),
]
Brokers = Annotated[
    list[str] | None,
    typer.Option("--broker", metavar="NAME", help="Only sessions with this broker: product or address:port; repeatable.",
                 show_default=False),
]  # fmt: skip
Title = Annotated[str, typer.Option("--title", help="What the page is called.")]
Format = Annotated[str, typer.Option("--format", help="html, or md: Markdown to paste into a ticket.")]


@dataclass(frozen=True)
class Part:
    """What a report is restricted to; all that is given must hold."""

    begin: Begin = None
    end: End = None
    login: Logins = None
    client: Clients = None
    destination: Destinations = None
    broker: Brokers = None


PART = Part()
WHERE, VERBOSITY = common.Where(), common.Verbosity()


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (report, maintain):
        app.command()(grouped(command))


def report(
    lake: common.Lake,
    output: Out = "report.html",
    source: common.OfSource = None,
    part: Part = PART,
    title: Title = "STOMP traffic report",
    form: Format = "html",
    time_zone: common.TimeZone = "UTC",
    master: common.Master = None,
    conf: common.Conf = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
    log_format: common.LogFormat = "text",
) -> None:
    """Write one self-contained HTML page: incidents, destinations over time, who, brokers, rules; with a part for each capture point."""
    del verbose, log_format
    from stompcap.lake import tables as lakes
    from stompcap.report import write

    in_zone = common.times_in(time_zone)
    if form not in FORMS:
        raise UsageError(f"--format {form}: must be {one_of(FORMS)}")
    scope = _scope(part)
    common.demand_place(output)
    lakes.demand(lake)
    with in_zone, on_stderr(quiet) as progress:
        progress.begin("writing the report")
        write(lake, output, common.session(master, conf), source, form, title, scope)
    if not quiet:
        print(visible(f"report: {output}"))


def _scope(part: Part) -> Scope | None:
    """What the report is restricted to, if to anything; raises UsageError for what is no time."""
    import pyarrow as pa

    from stompcap.lake.scope import Scope
    from stompcap.session.products.destinations import destination_names

    given = part.destination or []
    found = Scope(
        None if part.begin is None else nanoseconds("--from", part.begin),
        None if part.end is None else nanoseconds("--to", part.end),
        tuple(part.login or ()),
        tuple(part.client or ()),
        tuple(dict.fromkeys(destination_names(pa.array(given, pa.string())).to_pylist())),
        tuple(part.broker or ()),
    )
    return None if found == Scope() else found


def maintain(
    lake: common.Lake,
    retain_hours: Retain = 168,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Merge small files, clustered by time and stream, and remove files that no table uses any more, and old logs."""
    from pipelines.locking import lock
    from stompcap.lake import damage, maintenance, other_writers
    from stompcap.lake import tables as lakes
    from stompcap.tables import TABLES

    lakes.demand(lake)
    common.keep_replaced(where)
    with on_stderr(verbosity.quiet or (verbosity.as_json and not sys.stderr.isatty())) as progress, lock.held(lake, where.wait, progress):
        session, done = common.session(where.master, where.conf), []
        progress.begin("freeing space")  # before anything is written: the disk may be full
        freed = maintenance.free_all(lake, retain_hours)
        lakes.create(lake)
        lakes.bring_up(lake)
        damage.demand_whole(lake)
        other_writers.take_out_open_rows(lake)
        for name in TABLES:
            progress.begin(f"maintaining {name}")
            one = maintenance.maintain(session, lake, name, retain_hours)
            done.append(replace(one, removed=one.removed + freed.get(name, 0)))
    total = maintenance.total(done)
    if verbosity.as_json:
        print(json.dumps({"status": "done", "lake": lake, "tables": [vars(one) for one in done], "total": vars(total)}))
    elif not verbosity.quiet:
        rows = [
            (one.table, *map(count, (one.files_before, one.files_after, one.removed)), size(one.octets_before), size(one.octets_after))
            for one in (*done, total)
        ]
        render.emit(("table", "files before", "after", "removed from disk", "bytes before", "after"), rows, "table")
