"""`rules` and `doctor`: the checks of the traffic, and of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from stompcap.cli import common

RuleId = Annotated[str, typer.Argument(help="A rule's id, such as FR-07.", show_default=False)]
Products = Annotated[list[str], typer.Argument(help="Brokers, as named in sessions.server_product.", show_default=False)]
MaybeLake = Annotated[str | None, typer.Option("--lake", help="A lake whose location is checked too.", show_default=False)]
ENVIRONMENT = 3

rules = typer.Typer(help="The rule catalogue.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
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


@rules.command()
def compare(
    products: Products, lake: common.Lake, source: common.OfSource = None, master: common.Master = None, conf: common.Conf = None,
    verbose: common.Verbose = False,
) -> None:
    """Compare brokers of a lake rule by rule, as a page of Markdown; with a part for each capture point."""
    del verbose
    from stompcap.lake.tables import demand
    from stompcap.report.compare import compare as page

    demand(lake)
    print(page(lake, products, common.session(master, conf), source), end="")


def doctor(lake: MaybeLake = None, master: common.Master = None, verbose: common.Verbose = False) -> None:
    """Check Java, Spark, Delta's JARs, Python on the executors, disk and time zone; each failure with its remedy."""
    del verbose
    from stompcap.cli.commands.doctor import checks

    well = True
    for check in checks(lake, master):
        print(f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.found}", flush=True)
        if not check.ok:
            print(f"      remedy: {check.remedy}")
            well = False
    if not well:
        raise SystemExit(ENVIRONMENT)
