"""`rules compare`: products against rules, from captures or a lake."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap.cli import common
from stompcap.cli.stderr import to_stderr
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.options import one_of
from stompcap.tables.words import VERSIONS
from stompcap.units import counted
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.matrix import Matrix
    from stompcap.matrix.subjects import Subjects
    from stompcap.options import Options

NOTHING = 4
NARROWEST, WIDEST = 80, 200
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="With --lake, products to compare; without it captures: files, folders, globs or URIs.",
                   show_default=False),
]  # fmt: skip
MaybeLake = Annotated[str | None, typer.Option("--lake", help="The lake; without it, the captures that are named.", show_default=False)]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMNS", help="What is compared: client_product, client_version or server_product, server_version, and "
                 "version, the protocol's; between commas.", show_default=False),
]  # fmt: skip
Product = Annotated[list[str] | None, typer.Option("--product", help="Only this product; repeatable.", show_default=False)]
Protocol = Annotated[str | None, typer.Option("--stomp", metavar="VERSION", help="Only sessions of 1.0, 1.1 or 1.2.", show_default=False)]
Form = Annotated[str, typer.Option("--format", help="text, html, md or json.")]
Output = Annotated[str | None, typer.Option("-o", "--output", help="Write to this file.", show_default=False)]
Badge = Annotated[
    str | None,
    typer.Option("--badge", metavar="FILE", help="Write a badge of one product, too: .svg, or .json for the endpoint of shields.io.",
                 show_default=False),
]  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """What is compared, and how it is written."""

    by: By = None
    product: Product = None
    stomp: Protocol = None
    form: Form = "text"
    output: Output = None
    badge: Badge = None


COMPARED = Compared()


def compare(
    names: Names = None,
    lake: MaybeLake = None,
    compared: Compared = COMPARED,
    source: common.OfSource = None,
    keylog: common.KeyLogs = None,
    settings: common.SettingsFile = None,
    master: common.Master = None,
    conf: common.Conf = None,
    verbose: common.Verbose = False,
) -> None:
    """Compare products rule by rule: not judged, kept, or broken with the bytes that prove it.

    With --by, clients or brokers of captures or of a lake; no Spark is needed. Without it, brokers of a lake as a page of Markdown, with a
    part for each capture point.
    """
    del verbose
    if compared.by is None:
        _pages(names, lake, compared, source, master, conf)
        return
    from stompcap.matrix import badge, subjects_of
    from stompcap.matrix.formats import FORMATS, written
    from stompcap.matrix.wording import totals

    subjects = subjects_of(compared.by)
    if compared.form not in FORMATS:
        raise UsageError(f"--format {visible(compared.form, 40)}: must be {one_of(tuple(FORMATS))}")
    if compared.stomp not in (None, *VERSIONS):
        raise UsageError(f"--stomp {visible(compared.stomp, 40)}: must be {one_of(VERSIONS)}")
    for path in filter(None, (compared.output, compared.badge)):
        common.demand_place(path)
    if compared.badge is not None:
        badge.demanded(compared.badge)
    refused: list[str] = []
    if lake is not None:
        made = _of_lake(lake, subjects, [*(names or ()), *(compared.product or ())], compared, source)
    else:
        options = common.options(common.Reading(keylog=keylog), settings=settings)
        made, refused = _of_captures(names or (), subjects, compared, options)
    told = []
    if compared.badge is not None:
        _write(compared.badge, badge.written(made, compared.badge))
        told.append(f"{compared.badge}: of the MUST rules that were judged it kept {totals(made, 0)}")
    if compared.output is not None:
        _write(compared.output, written(made, compared.form, NARROWEST))
        told.append(f"{compared.output}: {counted(len(made.columns), 'product')}")
    if told and (compared.output is not None or compared.form == "text"):
        print("\n".join(map(visible, told)))
    else:
        sys.stdout.write(written(made, compared.form, min(max(_width(), NARROWEST), WIDEST)))
    if refused or not made.columns:
        raise SystemExit(NOTHING)


def _pages(names: list[str] | None, lake: str | None, compared: Compared, source: str | None, master: str | None,
           conf: list[str] | None) -> None:  # fmt: skip
    """The page of Markdown of a lake's brokers."""
    if compared != COMPARED or lake is None or not names:
        raise UsageError("say what to compare: --by client_product,client_version for clients, --by server_product,server_version for "
                         "brokers; or, without --by, brokers by name and their --lake")  # fmt: skip
    from stompcap.lake.tables import demand
    from stompcap.report.compare import compare as page

    demand(lake)
    print(page(lake, names, common.session(master, conf), source), end="")


def _of_lake(lake: str, subjects: Subjects, wanted: list[str], compared: Compared, source: str | None) -> Matrix:
    from stompcap.lake.tables import demand
    from stompcap.matrix import from_lake, matrix

    demand(lake)
    counts = from_lake.counted(lake, subjects, compared.stomp, source)
    first = matrix(counts, subjects, wanted)
    _demand_found(first, wanted, lake)
    from_lake.prove(lake, counts, {column.key for column in first.columns})
    return matrix(counts, subjects, wanted)


def _of_captures(paths: list[str] | tuple[()], subjects: Subjects, compared: Compared, options: Options) -> tuple[Matrix, list[str]]:
    """The matrix, and captures that could not be read, which are told of."""
    if not paths:
        raise UsageError("nothing to compare: name captures, or --lake")
    from stompcap.assembly import captures
    from stompcap.capture.find import find
    from stompcap.checking.judging import tables_of
    from stompcap.matrix import matrix
    from stompcap.matrix.from_tables import counted, keys_of

    refused: list[str] = []
    packets = captures.Packets()
    captures.read(packets, find(paths, lambda error: refused.append(str(error))), options, lambda error: refused.append(str(error)))
    for line in refused:
        to_stderr(line)
    tables = tables_of(packets, options)
    counts = counted(tables, packets.paths, subjects.side, keys_of(tables, subjects), compared.stomp)
    made = matrix(counts, subjects, compared.product or ())
    _demand_found(made, compared.product or [], "these captures")
    if not made.columns:
        to_stderr(f"no session shows which {subjects.side} it is of: nothing to compare")
    return made, refused


def _demand_found(made: Matrix, wanted: list[str], where: str) -> None:
    """Raise UsageError where a product was asked for that is not there."""
    found = {name for column in made.columns for name in (column.name.lower(), str(column.key[0]).lower())}
    missing = [name for name in wanted if name.lower() not in found]
    if missing:
        raise UsageError(f"{visible(where)}: no session with {visible(missing[0], 60)} as {made.subjects.by[0]}")


def _width() -> int:
    return shutil.get_terminal_size((NARROWEST, 24)).columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 110


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"{visible(path)}: cannot be written ({error.strerror}); name another file") from error
