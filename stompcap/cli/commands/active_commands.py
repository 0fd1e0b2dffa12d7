"""`serve` and `drive`: a scripted broker and a scripted client, which judge the other side case by case."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap.cli import cases, common
from stompcap.cli.commands.proxy_command import For, Listen
from stompcap.cli.stderr import note
from stompcap.errors import UsageError

if TYPE_CHECKING:
    from stompcap.active.recording import Recording

Target = Annotated[str, typer.Argument(metavar="HOST:PORT", help="The broker to be judged.", show_default=False)]
Out = Annotated[
    str | None, typer.Option("-w", "--write", metavar="OUT.pcap", help="Record both sides. Mode 0600.", show_default=False)
]
Login = Annotated[str | None, typer.Option("--login", help="The login of CONNECT.", envvar="STOMPCAP_LOGIN", show_default=False)]
Passcode = Annotated[
    str | None,
    typer.Option("--passcode", help="The passcode of CONNECT; better in the environment.", envvar="STOMPCAP_PASSCODE", show_default=False),
]
Host = Annotated[str, typer.Option("--host", help="The header host of CONNECT.")]
Queue = Annotated[str, typer.Option("--queue", help="How the destinations begin that are made for the cases.")]
Command = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- COMMAND...]", show_default=False,
        help="Run this client for each case. It finds the broker in STOMPCAP_SERVE (HOST:PORT), STOMPCAP_SERVE_HOST and "
        "STOMPCAP_SERVE_PORT, the case in STOMPCAP_CASE.",
    ),
]  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(context_settings={"allow_interspersed_args": False})(serve)
    app.command()(drive)


def serve(
    listen: Listen = "0",
    scenario: Annotated[str, typer.Option("--scenario", metavar="NAME", help="all, names of cases, `plain`, or `list`.")] = cases.ALL,
    level: cases.Level = "MUST",
    form: cases.Format = "text",
    write: Out = None,
    patience: cases.Patience = 2,
    lasting: For = None,
    command: Command = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Be a scripted broker: a case with each connection, and a verdict on each client. docs/active.md says what the client is to do.

    `--scenario plain` is a broker that does nothing unusual, until Ctrl-C.
    """
    del verbose
    import threading

    from stompcap.active import addresses
    from stompcap.active.serving import Serving
    from stompcap.active.serving_cases import CASES

    if scenario == "list":
        cases.print_list(CASES)
        return
    cases.check_options(level, form)
    wanted = [] if scenario == cases.PLAIN else cases.select(CASES, scenario)
    seconds = common.seconds("--for", lasting) if lasting else None
    over = threading.Event()
    with addresses.listen("--listen", addresses.split("--listen", listen, alone=True)) as listening, ExitStack() as stack:
        serving = Serving(listening, patience, over, _recording(stack, write))
        if not quiet:
            note(f"listening on {addresses.host_port(serving.address)}" + (f", recording in {write}" if write else ""))
        if seconds is not None:
            timer = threading.Timer(seconds, over.set)
            timer.daemon = True
            timer.start()
        if scenario == cases.PLAIN:
            from stompcap.cli import signals

            with signals.expected():
                serving.plain()
        else:
            cases.print_results(serving.run(wanted, command or ()), form, level)


def drive(
    target: Target,
    scenario: cases.Scenario = cases.ALL,
    login: Login = None,
    passcode: Passcode = None,
    host: Host = "/",
    queue: Queue = "/queue/stompcap",
    level: cases.Level = "MUST",
    form: cases.Format = "text",
    write: Out = None,
    patience: cases.Patience = 2,
    verbose: common.Verbose = False,
) -> None:
    """Be a scripted client: play cases against a broker and judge it. It leaves queues behind: take a broker for tests."""
    del verbose
    from stompcap.active import addresses
    from stompcap.active.driving import Driver
    from stompcap.active.driving_cases import CASES

    if scenario == "list":
        cases.print_list(CASES)
        return
    cases.check_options(level, form)
    wanted = cases.select(CASES, scenario)
    where = addresses.split("HOST:PORT", target, alone=False)
    given = {"host": host, "login": login, "passcode": passcode}
    known = {name: value for name, value in given.items() if value is not None}
    if any(letter in value for value in known.values() for letter in "\n\r\0"):
        raise UsageError("--host, --login and --passcode: no ends of lines and no NULs")
    with ExitStack() as stack:
        driver = Driver(where, addresses.resolve("HOST:PORT", where), known, queue, patience, _recording(stack, write))
        cases.print_results(driver.run(wanted), form, level)


def _recording(stack: ExitStack, path: str | None) -> Recording | None:
    """The capture of -w, open until the stack ends."""
    from stompcap.active.recording import Recording

    return stack.enter_context(Recording(path)) if path else None
