"""The process of a command: how it begins, handles signals and errors, and ends, with nothing left behind.

An error that users can meet is one line on standard error and the exit code of its kind, with --json also an object on standard output; a
traceback is printed only with --verbose. Little is imported before signals are handled, for Ctrl-C may come at any moment.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

from stompcap.cli.signals import Interrupted, Signals
from stompcap.cli.stderr import to_stderr

if TYPE_CHECKING:
    import typer

NEW_OBJECTS = 10_000
"""After so many new objects garbage is looked for: imports make hundreds of thousands and no garbage, and with Python's own number, 700,
half a second of a run's start is spent on that."""

LEFT_S = 1.0
"""How long the processes that a JVM or a pool leaves behind may take to end."""


def main() -> None:
    """Entry point; ends the process with the right exit code."""
    signals, code = Signals(), 0
    with suppress(Interrupted):
        signals.install()
        gc.set_threshold(NEW_OBJECTS)
        if sys.argv[1:2] == ["watch"]:
            from stompcap import memory

            memory.keep_little()
        if sys.argv[1:2] in (["peek"], ["show"], ["check"]):
            from stompcap.cli import lean

            lean.begin()
        code = outcome(signals)
        signals.ignore()
    if signals.interrupted is not None:
        code, signals.reported = signals.interrupted.code, True
        if not signals.interrupted.expected:
            _report(f"{signals.interrupted}; finished work is kept, run again to continue", code)
    _end(code, by_force=signals.interrupted is not None)


def job(*words: str) -> None:
    """Entry point of jobs/: a command of `stompcap`, with the arguments of the process."""
    sys.argv[1:1] = words
    main()


def outcome(signals: Signals | None = None) -> int:
    """Run the command line and report errors; returns the exit code."""
    if _named(sys.argv[1:], "--log-format") == "json":
        from stompcap import logs

        logs.begin("DEBUG" if "--verbose" in sys.argv else "WARNING" if "--quiet" in sys.argv else "INFO")
    try:
        return _command()
    except Exception as error:  # noqa: BLE001 - no traceback reaches a user; --verbose shows it
        if signals is not None and signals.interrupted is not None:  # a library turned the signal into this error
            raise signals.interrupted from None
        from stompcap.cli.failures import explain

        line, code = explain(error, _named(sys.argv[1:], "--lake"))
        _report(line, code, error if "--verbose" in sys.argv else None)
        return code


def _command() -> int:
    import typer

    from stompcap.cli import needs
    from stompcap.cli.application import NAME

    needs.demand(sys.argv[1:])
    try:
        app = _application()
        if f"_{NAME.upper()}_COMPLETE" in os.environ:  # a shell asks for words to complete
            app(prog_name=NAME)
        with typer.main.get_command(app).make_context(NAME, with_seconds(sys.argv[1:])) as context:
            context.command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as over:
        return over.exit_code
    except BrokenPipeError:  # the reader of standard output has closed it
        return 0
    except SystemExit as over:
        return over.code if isinstance(over.code, int) else int(over.code is not None)
    return 0


def _application() -> typer.Typer:
    """The commands; `peek` or `check` alone where it is called, for the modules of others take longer than it does."""
    if sys.argv[1:2] in (["peek"], ["check"]):
        from stompcap.cli import application

        app = application.new()
        import_module(f"stompcap.cli.commands.{sys.argv[1]}_command").register(app)
        return app
    from stompcap.cli.main import app as whole

    return whole


def with_seconds(words: list[str]) -> list[str]:
    """A command line in which every --wait has its seconds."""
    found: list[str] = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        found.append("--wait=inf" if word == "--wait" and not after.replace(".", "", 1).isdecimal() else word)
    return found


def _named(words: list[str], option: str) -> str | None:
    """What a command line gives for an option, if it does."""
    for word, after in pairwise([*words, ""]):
        if word == option or word.startswith(f"{option}="):
            return (after if word == option else word.removeprefix(f"{option}=")) or None
    return None


def _report(line: str, code: int, error: Exception | None = None) -> None:
    """Tell how a command failed; an `error` with its traceback."""
    from stompcap import logs

    if error is not None and not logs.structured():
        import traceback

        traceback.print_exception(error)
    if line:
        to_stderr(line, "ERROR", exit_code=code, **({"error": error} if error is not None else {}))
    if "--json" in sys.argv:
        import json

        with suppress(OSError):
            print(json.dumps({"status": "failed", "exit_code": code, "error": line}), flush=True)


def _end(code: int, *, by_force: bool) -> None:
    """End all processes that were started, then this one. When Java ends, libraries print messages about it, which are discarded."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if by_force or "stompcap.spark.gateway" in sys.modules:
        from stompcap.spark import gateway, processes

        processes.adopt()
        if gateway.stop(0 if by_force else gateway.PATIENCE_S) is not None or by_force:
            processes.end_children(LEFT_S)
    if by_force:
        os._exit(code)
    gc.freeze()  # else a last garbage collection takes a second
    raise SystemExit(code)


if __name__ == "__main__":
    main()
