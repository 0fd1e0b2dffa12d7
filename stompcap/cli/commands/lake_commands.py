"""Commands that work on an existing lake: `report`, `maintain`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Annotated

import typer

from stompcap.cli import common, render
from stompcap.cli.commands.report_command import report
from stompcap.cli.grouped import grouped
from stompcap.cli.progress import on_stderr
from stompcap.units import count, size

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
    for command in (report, maintain):
        app.command()(grouped(command))


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
