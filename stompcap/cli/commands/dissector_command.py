"""`dissector`: STOMP for Wireshark and tshark."""

from __future__ import annotations

import sys

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(dissector)


def dissector() -> None:
    """Print a Lua dissector of STOMP for Wireshark and tshark: stompcap dissector > stomp.lua."""
    from stompcap.wireshark import dissector as text

    sys.stdout.write(text())
