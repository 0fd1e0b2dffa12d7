"""`repair`: a damaged lake made readable, and what it lost computed again."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap.cli import common
from stompcap.cli.entered import entered
from stompcap.cli.grouped import grouped
from stompcap.cli.progress import on_stderr
from stompcap.cli.stderr import to_stderr
from stompcap.visible import visible

if TYPE_CHECKING:
    from pipelines.recompute.repair import Repaired

DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what is damaged, and change nothing.")]
WHERE, VERBOSITY = common.Where(), common.Verbosity()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(grouped(repair))


def repair(
    lake: common.Lake,
    dry_run: DryRun = False,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Make a damaged lake readable again: say what is lost, drop what cannot be read, and compute it again from captures that are there.

    A table's log that is cut goes back to what can be read of it. A repair that was killed is finished by the next.
    """
    common.keep_replaced(where)
    session, began = common.session(where.master, where.conf), entered()
    from pipelines.job import Job
    from pipelines.recompute import repair as repairing
    from stompcap.options import Options

    with on_stderr(verbosity.quiet or (verbosity.as_json and not sys.stderr.isatty())) as progress:
        job = Job(session, lake, Options(), progress, began)
        found = repairing.repair(job, dry_run=dry_run, wait_s=where.wait)
    if verbosity.as_json:
        print(json.dumps(_public(found, job, dry_run=dry_run)))
        return
    if not verbosity.quiet:
        _print(found, dry_run=dry_run)
    for line in (*found.lost, *job.result.warnings):
        to_stderr(line)


def _public(found: Repaired, job: Any, *, dry_run: bool) -> dict[str, Any]:
    """The object that --json prints."""
    status, run_id = ("dry run", None) if dry_run else ("done", job.result.run_id if found.changed else None)
    damaged = [vars(one) for one in found.damaged]
    about = {"run_id": run_id, "lake": job.lake, "status": status, "damaged": damaged, "lost": found.lost}
    return about | {"rows": job.result.rows, "warnings": job.result.warnings}


def _print(found: Repaired, *, dry_run: bool) -> None:
    """What was damaged, and what became of it."""
    if not found.damaged and not found.changed:
        print("nothing is damaged")
        return
    for one in found.damaged:
        print(visible(str(one)))
    if not dry_run:
        print("the lake is repaired" + ("; what is lost for good is said below" if found.lost else ", and nothing is lost"))
