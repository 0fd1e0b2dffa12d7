"""`prepare`: once, what the first run would otherwise wait for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from stompcap.cli import common

Say = Callable[[int, int], None]  # how many are done, of how many
Step = tuple[str, Callable[[Say], int]]  # what is prepared, and the function that does it: how many were made, 0 where all was there
Into = Annotated[
    bool,
    typer.Option("--into-environment", help="Compile for all processors of this kind, into the Python environment, for it to be packed."),
]
TENTHS = 10


def _kernels(say: Say) -> int:
    from stompcap.prepare import prepare as compile_all

    return compile_all(say)


def _kernels_for_all(say: Say) -> int:
    from stompcap.prepare import ship

    return ship(say)


def _classes(say: Say) -> int:
    from stompcap.prepare.classes import record

    return record(say)


STEPS: tuple[Step, ...] = (("compiled kernels", _kernels), ("class-data archive of the JVM", _classes))
INTO_ENVIRONMENT: tuple[Step, ...] = (("compiled kernels", _kernels_for_all),)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(prepare)


def prepare(into_environment: Into = False, quiet: common.Quiet = False, verbose: common.Verbose = False) -> None:
    """Do once what runs would otherwise wait for: compile the kernels, archive the classes of the JVM. Quick where that is done."""
    del verbose
    for name, step in INTO_ENVIRONMENT if into_environment else STEPS:
        with _progress(name, quiet) as say:
            count = step(say)
        if not quiet:
            print(f"{name}: {f'{count} made' if count else 'all there'}", file=sys.stderr)


@contextmanager
def _progress(name: str, quiet: bool) -> Iterator[Say]:
    """A function that says how far a step is: a bar on a terminal, a line for each tenth elsewhere; to standard error."""
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


def _lines(name: str) -> Say:
    """Lines that say each tenth once."""
    said = -1

    def say(done: int, total: int) -> None:
        nonlocal said
        tenth = TENTHS * done // total if total else TENTHS
        if tenth != said:
            said = tenth
            print(f"{name}: {done} of {total} made", file=sys.stderr, flush=True)

    return say


if __name__ == "__main__":  # where there is no pyspark, which the other commands need
    typer.run(prepare)
