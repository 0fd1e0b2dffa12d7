"""`forget`: the rows of connections deleted, by time, client, login or stream, after a word of confirmation."""

from __future__ import annotations

import ipaddress
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap.cli import common, render, streams
from stompcap.cli.entered import entered
from stompcap.cli.grouped import grouped
from stompcap.cli.moments import moment
from stompcap.cli.progress import on_stderr
from stompcap.cli.stderr import to_stderr
from stompcap.errors import UsageError
from stompcap.units import count, counted
from stompcap.visible import visible

if TYPE_CHECKING:
    from pipelines.forgetting.criteria import Criteria
    from pipelines.forgetting.forget import Forgotten

Before = Annotated[
    str | None,
    typer.Option("--before", metavar="TIME", help="Last packet before TIME: a date or an ISO 8601 time, UTC.", show_default=False),
]
Client = Annotated[
    str | None, typer.Option("--client", metavar="ADDRESS|CIDR", help="The client's address, or a network it is in.", show_default=False)
]
Login = Annotated[str | None, typer.Option("--login", metavar="NAME", help="The client's login is this.", show_default=False)]
StreamIds = Annotated[list[str] | None, common.streams_named()]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be deleted, and delete nothing.")]
WHOLE_ID = 20


@dataclass(frozen=True)
class Which:
    """Which connections; all that is given must hold."""

    before: Before = None
    client: Client = None
    login: Login = None
    stream: StreamIds = None


WHICH, WHERE, VERBOSITY = Which(), common.Where(), common.Verbosity()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(grouped(forget))


def forget(
    lake: common.Lake,
    which: Which = WHICH,
    yes: Yes = False,
    dry_run: DryRun = False,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Delete all rows of connections, by time, client, login or stream: those that meet all that is given.

    Their bytes leave the disk with the next `stompcap maintain --retain-hours 0`; docs/retention.md has the details.
    """
    from stompcap.lake import tables as lakes

    _demand_some(which)
    asks = not (yes or dry_run)
    if asks and (verbosity.as_json or not sys.stdin.isatty()):
        raise UsageError("forget asks for confirmation, and nobody can answer here; add --yes, or --dry-run to see what would be deleted")
    lakes.demand(lake)
    wanted = criteria(lake, which)
    common.keep_replaced(where)
    session, began = common.session(where.master, where.conf), entered()
    from pipelines.forgetting import forget as forgetting
    from pipelines.job import Job
    from stompcap.options import Options

    with on_stderr(verbosity.quiet or (verbosity.as_json and not sys.stderr.isatty())) as progress:
        job = Job(session, lake, Options(), progress, began)
        found = forgetting.count(job, wanted) if asks or dry_run else None
        warnings = forgetting.warnings(lake, wanted)
    if asks and found is not None and found.rows and not _confirmed(found):
        print("nothing was deleted")
        return
    if not dry_run:
        with on_stderr(verbosity.quiet or (verbosity.as_json and not sys.stderr.isatty())) as progress:
            job.progress = progress
            found = forgetting.forget(job, wanted, where.wait)
    if found is None:
        raise AssertionError("neither counted nor deleted")
    if verbosity.as_json:
        status, run_id = ("dry run", None) if dry_run else ("done", job.result.run_id)
        summary = {"run_id": run_id, "lake": lake, "status": status, "connections": found.connections, "rows": found.rows}
        print(json.dumps(summary | {"warnings": warnings}))
        return
    if not verbosity.quiet:
        _print(found, "would be deleted" if dry_run else "deleted")
        if found.rows and not dry_run:
            print(visible(f"their bytes leave the disk with: stompcap maintain --lake {lake} --retain-hours 0"))
    for warning in warnings:
        to_stderr(warning)


def _demand_some(which: Which) -> None:
    """Raise UsageError where nothing says which connections."""
    if which.before is None and which.client is None and which.login is None and not which.stream:
        raise UsageError("forget needs at least one of --before, --client, --login and --stream")


def criteria(lake: str, which: Which) -> Criteria:
    """What the options mean; raises UsageError where one is no time, no address, or no stream."""
    from pipelines.forgetting.criteria import Criteria

    ids = [text.strip().lower() for text in which.stream or ()]
    whole = [text if len(text) == WHOLE_ID and streams.DIGITS.fullmatch(text) else streams.stream(lake, text)["stream_id"] for text in ids]
    return Criteria(
        before=None if which.before is None else moment("--before", which.before),
        client=None if which.client is None else network(which.client),
        login=which.login,
        streams=tuple(whole),
    )


def network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """An address or a network; an IPv4 address mapped into IPv6 is that of IPv4, as in the tables. Raises UsageError."""
    try:
        found = ipaddress.ip_network(text.strip())
    except ValueError as error:
        says = "must be an address or a network such as 10.1.2.3, 10.1.2.0/24 or fd00::/8"
        raise UsageError(f"--client {visible(text, 60)}: {says}") from error
    mapped = found.network_address.ipv4_mapped if isinstance(found, ipaddress.IPv6Network) and found.prefixlen >= 96 else None
    return found if mapped is None else ipaddress.ip_network((mapped, found.prefixlen - 96))


def _print(found: Forgotten, verb: str) -> None:
    """How many connections and rows."""
    print(f"{counted(found.connections, 'connection')} {verb}")
    if found.rows:
        render.emit(("table", "rows"), [(table, count(rows)) for table, rows in found.rows.items()], "table")


def _confirmed(found: Forgotten) -> bool:
    """Whether the user wants that to be deleted."""
    _print(found, "to be deleted")
    return typer.confirm("Delete these rows?")
