"""The data files of a table, by its log: rows, octets, and the ranges of their statistics, by which a reader skips files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.lake.finality import stored
from stompcap.lake.paths import filesystem
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltalake import DeltaTable
    from pyarrow.dataset import Dataset


@dataclass(frozen=True)
class Bounds:
    """What a file's statistics say of a column; where they say nothing, `known` is false."""

    least: Any
    most: Any
    known: bool
    nulls: bool

    @staticmethod
    def of(action: dict[str, Any], column: str) -> Bounds:
        """Those of a column in an add action."""
        least, most, nulls = (action.get(f"{what}.{column}") for what in ("min", "max", "null_count"))
        empty = nulls is not None and nulls == action["num_records"]
        return Bounds(least, most, (least is not None and most is not None) or empty, nulls is None or nulls > 0)

    def may_hold(self, value: Any) -> bool:
        """Whether a row of the file may have this value."""
        return not self.known or (self.least is not None and self.least <= value <= self.most)


@dataclass(frozen=True)
class File:
    """A data file of a table: its name in the log, where it lies, octets, rows, when it was added, the bounds of some columns."""

    name: str
    uri: str
    size: int
    rows: int
    added_ms: int
    bounds: dict[str, Bounds]


@dataclass(frozen=True)
class Files:
    """Files of a table of the lake that is named `table`."""

    table: str
    uris: tuple[str, ...]
    rows: int = 0

    @staticmethod
    def of(table: str, files: Iterable[File]) -> Files:
        """These files."""
        held = list(files)
        return Files(table, tuple(file.uri for file in held), sum(file.rows for file in held))


def is_remote(table: DeltaTable) -> bool:
    """Whether a table does not lie in a file system of this machine."""
    return not table.table_uri.startswith("file://")


def uris(table: DeltaTable) -> list[str]:
    """The data files of a table, as its log names them: paths where they are local (the log escapes these), else URIs."""
    remote = is_remote(table)
    return [uri if remote else unquote(uri.removeprefix("file://")) for uri in table.file_uris()]


def names(table: DeltaTable) -> pa.Array:
    """The names of a table's data files, as `File` has them."""
    return pa.table(table.get_add_actions(flatten=True)).column("path").combine_chunks().cast(pa.string())


def of(table: DeltaTable, columns: Sequence[str] = (), among: pa.Array | None = None) -> list[File]:
    """The data files of a table, or those with names `among` some, with the bounds of some columns."""
    actions, where = pa.table(table.get_add_actions(flatten=True)), uris(table)
    if among is not None:
        chosen = pc.index_in(among, actions.column("path").cast(pa.string())).drop_null()
        actions, where = actions.take(chosen), [where[at] for at in chosen.to_pylist()]
    wanted = ["path", "size_bytes", "num_records", "modification_time"]
    wanted += [f"{what}.{column}" for column in columns for what in ("min", "max", "null_count")]
    rows = actions.select([name for name in wanted if name in actions.column_names]).to_pylist()
    return [
        File(
            row["path"], uri, row["size_bytes"], row["num_records"] or 0, row["modification_time"],
            {column: Bounds.of(row, column) for column in columns},
        )
        for row, uri in zip(rows, where, strict=True)
    ]  # fmt: skip


def dataset(table: str, uris: Sequence[str]) -> Dataset:
    """The rows of some files of a table, at least one; what an older file has no column for is null."""
    from pyarrow.dataset import dataset as opened

    found = [filesystem(uri) for uri in uris]
    return opened([path for _, path in found], schema=stored(TABLES[table]), filesystem=found[0][0], format="parquet")


def exist(uris: Iterable[str]) -> bool:
    """Whether all these files are still there."""
    return all(system.get_file_info(path).is_file for system, path in map(filesystem, uris))


def overlapping(files: Iterable[File], columns: Sequence[str], ranges: Sequence[tuple[Any, Any]], timeless: bool) -> list[File]:
    """The files that may have a row whose time, from the first of `columns` to the last, overlaps a range; `timeless`: or has no time.

    The end of a range is not part of it.
    """

    def touches(file: File) -> bool:
        first, last = file.bounds[columns[0]], file.bounds[columns[-1]]
        if not (first.known and last.known) or (timeless and (first.nulls or last.nulls)):
            return True
        return first.least is not None and last.most is not None and any(a <= last.most and first.least < b for a, b in ranges)

    return [file for file in files if touches(file)]
