"""The application that commands are added to: its name, its help, its version."""

from __future__ import annotations

from typing import Annotated

import typer

NAME = "stompcap"
CODES = (
    "Exit codes: 0 done, 1 a gate of --fail-on tripped or check found something, 2 usage, 3 environment, 4 some input could not be read, 5 "
    "another run holds the lake, 70 an error in stompcap itself; 128 plus its number for a signal (130 for Ctrl-C)."
)


def new() -> typer.Typer:
    """An application without commands."""
    app = typer.Typer(
        name=NAME,
        help="Batch analytics for captured STOMP traffic: captures to Delta tables, ack latencies, heart-beats and compliance.",
        epilog=CODES,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback()(_about)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from stompcap.version import version as installed

        print(f"{NAME} {installed()}")
        raise typer.Exit


def _about(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options before a command."""
    del version
