"""`rules` and `doctor`: the checks of the traffic, and of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stompcap.cli import common
from stompcap.cli.commands.compare_command import compare
from stompcap.cli.grouped import grouped
from stompcap.errors import UsageError
from stompcap.units import counted
from stompcap.visible import visible

RuleId = Annotated[str, typer.Argument(help="A rule's id, such as FR-07.", show_default=False)]
MaybeLake = Annotated[
    str | None, typer.Option("--lake", help="A lake to check too: its disk or store, its rows, its clocks.", show_default=False)
]
Captures = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CAPTURE]...", help="What a run would be given: whether it can be listed and opened.", show_default=False),
]
SecretsFile = Annotated[
    str | None,
    typer.Option(
        "--secrets", metavar="FILE", show_default=False,
        help="Search all files of the lake for the secrets of this file, one a line, in all forms; exit code 1 if there are any.",
    ),
]  # fmt: skip
ENVIRONMENT = 3

rules = typer.Typer(help="The rule catalogue.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    rules.command()(grouped(compare))
    app.add_typer(rules, name="rules")
    app.command()(doctor)


@rules.command("list")
def list_all(settings: common.SettingsFile = None) -> None:
    """List all rules, one per line, with the level in force or `off`."""
    from stompcap.rules import list_rules, settings_of

    print(list_rules(settings_of(settings)), end="")


@rules.command()
def explain(rule: RuleId, settings: common.SettingsFile = None) -> None:
    """Explain one rule: its text, its source, its pitfalls, an example that breaks it and one that keeps it."""
    from stompcap.rules import explain_rule, settings_of

    print(explain_rule(rule, settings_of(settings)), end="")


def doctor(
    captures: Captures = None, lake: MaybeLake = None, secrets: SecretsFile = None, master: common.Master = None,
    conf: common.Conf = None, verbose: common.Verbose = False,
) -> None:
    """Check Java, Spark, Delta's JARs, executors with their kernels, places on disk and S3, time zone; each failure with its remedy.

    With --secrets nothing else is checked than whether a file of the lake has one of these secrets.
    """
    del verbose
    if secrets is not None:
        search_for(secrets, lake)
        return
    from stompcap.cli.commands.doctor import checks

    well = True
    for check in checks(lake, master, captures or (), conf=conf):
        print(f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.found}", flush=True)
        if not check.ok:
            print(f"      remedy: {check.remedy}")
            well = False
    if not well:
        raise SystemExit(ENVIRONMENT)


def search_for(path: str, lake: str | None) -> None:
    """Print where a lake has secrets of a file, never what they are; exit code 1 if it has some."""
    from stompcap.lake.secret_search import Searcher, lines_of
    from stompcap.lake.tables import demand
    from stompcap.stomp.secret_forms import LEAST

    if lake is None:
        raise UsageError("--secrets searches the files of a lake; name it with --lake")
    demand(lake)
    try:
        secrets = lines_of(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a file with a secret on each line") from error
    searcher = Searcher(secrets)
    for line in searcher.short:
        print(f"{visible(path)}, line {line}: shorter than {LEAST} bytes, not searched for")
    count = 0
    for one in searcher.lake(lake):
        where = f", column {one.column}" if one.column else ""
        print(f"{visible(one.path)}{where}: the secret of line {one.line}, {one.form}, {counted(one.times, 'time')}")
        count += 1
    if count:
        raise SystemExit(1)
    searched = sum(len(one) >= LEAST for one in secrets)
    print(f"{counted(searched, 'secret')} looked for in the files of {visible(lake)}: none found")
