"""`proxy`: a TCP proxy that records what it passes on, without root."""

from __future__ import annotations

import json
import resource
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap import units
from stompcap.cli import common
from stompcap.cli.stderr import note, to_stderr
from stompcap.errors import EnvironmentProblem

if TYPE_CHECKING:
    from stompcap.active.proxy import Proxy

Listen = Annotated[
    str, typer.Option("--listen", metavar="[HOST:]PORT", help="Where clients connect. HOST: this machine alone; port 0: any free one.")
]
To = Annotated[str, typer.Option("--to", metavar="HOST:PORT", help="The broker to pass connections on to.")]
Out = Annotated[
    str,
    typer.Option("-w", "--write", metavar="OUT.pcap", help="The capture to write or replace; pcapng where its name ends so. Mode 0600."),
]
For = Annotated[str | None, typer.Option("--for", help="End after this time (90s, 5min).", show_default=False)]
Connections = Annotated[
    int | None, typer.Option("--connections", min=1, help="End after this many connections have ended.", show_default=False)
]
Command = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- COMMAND...]", show_default=False,
        help="Run this beside the proxy, end with it, and exit with its code. It finds the proxy in STOMPCAP_PROXY (HOST:PORT), "
        "STOMPCAP_PROXY_HOST and STOMPCAP_PROXY_PORT.",
    ),
]  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(context_settings={"allow_interspersed_args": False})(proxy)


def proxy(
    listen: Listen,
    to: To,
    write: Out,
    lasting: For = None,
    connections: Connections = None,
    command: Command = None,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Pass TCP connections on to a broker and record them, until Ctrl-C or SIGTERM; needs no root.

    The capture has what was on the wire, passcodes too.
    """
    del verbose
    import asyncio

    from stompcap.active import addresses
    from stompcap.active.proxy import Ends, Proxy
    from stompcap.active.recording import Recording

    target = addresses.split("--to", to, alone=False)
    here = addresses.split("--listen", listen, alone=True)
    ends = Ends(common.seconds("--for", lasting) if lasting else None, connections, command or ())
    places = addresses.resolve("--to", target)
    _many_files()
    with addresses.listen("--listen", here) as listening, Recording(write) as recording:
        running = Proxy(recording, listening, target, places, to_stderr)
        if not quiet:
            note(f"listening on {addresses.host_port(running.address)}, passing on to {addresses.host_port(target)}, recording in {write}")
        asyncio.run(running.run(ends))
        _tell(running, write, as_json=as_json, quiet=quiet)
    if running.code is not None:
        raise SystemExit(running.code)
    if running.failed and not running.passed_on:
        target_name = addresses.host_port(target)
        raise EnvironmentProblem(f"{target_name}: no connection could be passed on; start the broker or name another with --to")


def _many_files() -> None:
    """Permit this process as many open files as it may have: a connection takes two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _tell(running: Proxy, path: str, *, as_json: bool, quiet: bool) -> None:
    """The summary."""
    recording = running.recording
    found: dict[str, Any] = {"capture": path, "connections": running.accepted, "failed": running.failed}
    found |= {"packets": recording.packets, "octets": recording.octets}
    if as_json:
        print(json.dumps(found), flush=True)
    elif not quiet:
        counts = [units.counted(running.accepted, "connection"), units.counted(recording.packets, "packet")]
        failed = [f"{units.count(running.failed)} not passed on"] * bool(running.failed)
        note(f"{path}: {units.size(recording.octets)}, {', '.join([counts[0], *failed, counts[1]])}")
