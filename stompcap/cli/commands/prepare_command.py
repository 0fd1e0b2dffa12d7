"""`prepare`: does ahead what the first run would otherwise wait for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap import extras
from stompcap.cli import common
from stompcap.errors import EnvironmentProblem

if TYPE_CHECKING:
    from stompcap.spark.archive import Recording

Report = Callable[[int, int], None]  # called with how many are done, of how many
Into = Annotated[
    bool,
    typer.Option("--into-environment", help="Compile for any processor of this architecture, into the Python environment to be packed."),
]
TENTHS = 10


def _kernels(report: Report) -> int:
    from stompcap.prepare import prepare as compile_all

    return compile_all(report)


def _kernels_for_all(report: Report) -> int:
    from stompcap.prepare import ship

    return ship(report)


def _begun() -> Recording | EnvironmentProblem | None:
    """The archive that is made beside the kernels, None where there is nothing to make, or why it cannot be made."""
    from stompcap.prepare.classes import begin

    try:
        return begin()
    except EnvironmentProblem as error:
        return error


def _finished(begun: Recording | EnvironmentProblem | None, report: Report) -> int:
    """Wait for it. Runs only start slower without the archive, so that it cannot be made is a warning."""
    if begun is None:
        return 0
    try:
        if isinstance(begun, EnvironmentProblem):
            raise begun
        report(0, 1)
        begun.finish()
        report(1, 1)
    except EnvironmentProblem as error:
        print(f"warning: {error}; runs start some seconds slower; stompcap prepare tries again", file=sys.stderr)
        return -1
    return 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(prepare)


def prepare(into_environment: Into = False, quiet: common.Quiet = False, verbose: common.Verbose = False) -> None:
    """Prepare once what runs would otherwise wait for: compiled kernels and a class-data archive for the JVM. Quick if already done."""
    del verbose
    spark = extras.has(extras.SPARK) and not into_environment
    archive = _begun() if spark else None
    try:
        if extras.has(extras.JIT):
            _step("compiled kernels", _kernels_for_all if into_environment else _kernels, quiet)
        if spark:
            _step("class-data archive of the JVM", partial(_finished, archive), quiet)
    finally:
        if archive is not None and not isinstance(archive, EnvironmentProblem):
            archive.stop()


def _step(name: str, prepare: Callable[[Report], int], quiet: bool) -> None:
    """`prepare` returns how many it made, -1 where it has warned that it could not."""
    with _progress(name, quiet) as report:
        count = prepare(report)
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
