"""`prepare`: does ahead what the first run would otherwise wait for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from stompcap import extras
from stompcap.cli import common
from stompcap.errors import EnvironmentProblem

Report = Callable[[int, int], None]  # called with how many are done, of how many
Step = tuple[str, Callable[[Report], int]]  # what is prepared, and a function that does it and returns how many it made, -1 for a warning
Into = Annotated[
    bool,
    typer.Option("--into-environment", help="Compile for any processor of this architecture, into the Python environment to be packed."),
]
TENTHS = 10
ARCHIVE = "class-data archive of the JVM"


def _kernels(report: Report) -> int:
    from stompcap.prepare import prepare as compile_all

    return compile_all(report)


def _kernels_for_all(report: Report) -> int:
    from stompcap.prepare import ship

    return ship(report)


def _classes(report: Report) -> int:
    """Runs only start slower without the archive, so that it cannot be made is a warning."""
    from stompcap.prepare.classes import record

    try:
        return record(report)
    except EnvironmentProblem as error:
        print(f"warning: {error}; runs start some seconds slower; stompcap prepare tries again", file=sys.stderr)
        return -1


STEPS: tuple[Step, ...] = (("compiled kernels", _kernels), (ARCHIVE, _classes))
INTO_ENVIRONMENT: tuple[Step, ...] = (("compiled kernels", _kernels_for_all),)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(prepare)


def prepare(into_environment: Into = False, quiet: common.Quiet = False, verbose: common.Verbose = False) -> None:
    """Prepare once what runs would otherwise wait for: compiled kernels and a class-data archive for the JVM. Quick if already done."""
    del verbose
    for name, step in INTO_ENVIRONMENT if into_environment else STEPS:
        if not extras.has(extras.SPARK if name == ARCHIVE else extras.JIT):
            continue
        with _progress(name, quiet) as report:
            count = step(report)
        if not quiet and count >= 0:
            print(f"{name}: {f'{count} made' if count else 'all there'}", file=sys.stderr)


@contextmanager
def _progress(name: str, quiet: bool) -> Iterator[Report]:
    """A function that reports progress on standard error: a bar on a terminal, else a line for each tenth."""
    if quiet:
        yield lambda done, total: None
    elif not sys.stderr.isatty():
        yield _lines(name)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(f"preparing {name}", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(name: str) -> Report:
    """A function that prints each tenth once."""
    latest = -1

    def report(done: int, total: int) -> None:
        nonlocal latest
        tenth = TENTHS * done // total if total else TENTHS
        if tenth != latest:
            latest = tenth
            print(f"{name}: {done} of {total} made", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":  # runs without pyspark, which the other commands import
    typer.run(prepare)
