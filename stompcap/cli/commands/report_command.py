"""`report`: its options, what they restrict the page to and compare it with, and its gates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap.cli import common
from stompcap.cli.dialogue_options import Clients, Logins
from stompcap.cli.moments import nanoseconds
from stompcap.cli.progress import on_stderr
from stompcap.cli.stderr import to_stderr
from stompcap.errors import UsageError
from stompcap.options import one_of
from stompcap.units import moment
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.lake.scope import Scope
    from stompcap.report.against import Before

Out = Annotated[str, typer.Option("-o", "--output", help="The file to write.")]


FORMS = ("html", "md")
GATES = ("critical", "warning", "must", "should", "quality")
TRIPPED = 1
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
Anonymise = Annotated[
    bool,
    typer.Option("--anonymise", help="Write other addresses, logins, destinations and other names, as export does, and no bodies; "
                 "OUTPUT.names.csv says which name stands for which: keep it."),
]  # fmt: skip
Compare = Annotated[
    str | None,
    typer.Option("--compare", metavar="BEFORE", show_default=False,
                 help="Say what changed since BEFORE: another lake, or a period of this one, FROM..TO, behind which the report begins "
                 "unless --from says where."),
]  # fmt: skip
FailOn = Annotated[
    list[str] | None,
    typer.Option("--fail-on", show_default=False,
                 help="Exit with code 1 on: critical incidents; warning, these or critical ones; findings of MUST rules (must), or of MUST "
                 "or SHOULD rules (should); failed checks (quality). With --compare only on what is new. Repeatable. "
                 "Choices: critical, warning, must, should, quality."),
]  # fmt: skip


@dataclass(frozen=True)
class Page:
    """What it is called and how it is written, what it is compared with, and what makes the command fail."""

    title: Title = "STOMP traffic report"
    form: Format = "html"
    before: Compare = None
    fail_on: FailOn = None
    anonymise: Anonymise = False


PART, PAGE = Part(), Page()


def report(
    lake: common.Lake,
    output: Out = "report.html",
    source: common.OfSource = None,
    part: Part = PART,
    page: Page = PAGE,
    time_zone: common.TimeZone = "UTC",
    master: common.Master = None,
    conf: common.Conf = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
    log_format: common.LogFormat = "text",
) -> None:
    """Write one self-contained HTML page: incidents, destinations over time, who, brokers, rules; with a part for each capture point."""
    del verbose, log_format
    from stompcap.cli.exporting import names_of, write_names
    from stompcap.lake import tables as lakes
    from stompcap.report import write

    in_zone = common.times_in(time_zone)
    if page.form not in FORMS:
        raise UsageError(f"--format {page.form}: must be {one_of(FORMS)}")
    for gate in page.fail_on or ():
        if gate not in GATES:
            raise UsageError(f"--fail-on {gate}: must be {one_of(GATES)}")
    common.demand_place(output)
    lakes.demand(lake)
    with in_zone, on_stderr(quiet) as progress:
        scope, before = compared(page.before, lake, _scope(part))
        progress.begin("writing the report")
        session = common.session(master, conf)
        names = names_of(lake) if page.anonymise else None
        gates = page.fail_on or ()
        tripped = write(lake, output, session, source, page.form, page.title, scope, before=before, fail_on=gates, names=names)
        if names is not None:
            write_names(f"{output}.names.csv", names)
    if not quiet:
        print(visible(f"report: {output}"))
    if tripped:
        to_stderr(f"--fail-on {'; '.join(tripped)}")
        raise SystemExit(TRIPPED)


def compared(before: str | None, lake: str, scope: Scope | None) -> tuple[Scope | None, Before | None]:
    """The scope of the report, and what it is compared with: the same names in another lake, or in a period apart from the report's."""
    from stompcap.lake import tables as lakes
    from stompcap.lake.scope import Scope
    from stompcap.report.against import Before

    if before is None:
        return scope, None
    own = scope or Scope()
    begin, dots, end = before.partition("..")
    if lakes.exists(before):
        named = replace(own, since_ns=None, until_ns=None)
        return scope, Before(before, None if named == Scope() else named, f"lake {before}")
    if not dots or not (begin or end) or "/" in before:
        raise UsageError(f"--compare {visible(before, 60)}: is neither a lake nor a period such as 2026-11-21T08:00..2026-11-21T09:00")
    since = nanoseconds("--compare", begin) if begin else None
    until = nanoseconds("--compare", end) if end else None
    if own.since_ns is None and until is not None and (own.until_ns is None or own.until_ns > until):
        own = replace(own, since_ns=until)
    if _reaches(since, own.until_ns) and _reaches(own.since_ns, until):
        raise UsageError(f"--compare {visible(before, 60)}: overlaps the period of the report; say another with --from and --to")
    words = [f"{word} {moment(ns, 0)}" for word, ns in (("from", since), ("to", until)) if ns is not None]
    return own, Before(lake, replace(own, since_ns=since, until_ns=until), " ".join(words))


def _reaches(since: int | None, until: int | None) -> bool:
    """Whether what begins at one time begins before another."""
    return since is None or until is None or since < until


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
