"""The command `stompcap`: its commands and options. How the process begins and ends is in `entry`."""

from __future__ import annotations

from typing import Annotated

import typer

from stompcap.cli import (
    export_command,
    forget_command,
    lake_commands,
    prepare_command,
    register_command,
    rule_commands,
    run_commands,
    sql_command,
    watch_command,
)

NAME = "stompcap"
CODES = (
    "Exit codes: 0 done, 1 a gate of --fail-on tripped, 2 usage, 3 environment, 4 some input could not be read, 5 another run holds the "
    "lake, 70 an error in stompcap itself; 128 plus its number for a signal (130 for Ctrl-C)."
)

app = typer.Typer(
    name=NAME,
    help="Batch analytics for captured STOMP traffic: captures to Delta tables, ack latencies, heart-beats and compliance.",
    epilog=CODES,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
run_commands.register(app)
watch_command.register(app)
sql_command.register(app)
register_command.register(app)
lake_commands.register(app)
forget_command.register(app)
export_command.register(app)
rule_commands.register(app)
prepare_command.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        from stompcap.version import version as installed

        print(f"{NAME} {installed()}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options before a command."""
    del version

