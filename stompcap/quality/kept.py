"""Reports on data files, kept beside the tables of a lake from one validation to the next.

Data files never change, so a file is read by one validation only; the next ones take its report from here, and read what is new. Kept
reports are in Arrow files, which are mapped where the lake is local: hashes are not read unless they are compared. They can be lost at any
time: then the next validation reads all files.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import fs

from stompcap.lake.paths import filesystem, location
from stompcap.quality import report
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.quantities import LEDGERS
from stompcap.quality.report import Report
from stompcap.quality.row_rules import ROW_RULES
from stompcap.tables import TABLES
from stompcap.version import version

FOLDER = "_quality"
PARTS = 16
"""Files of reports, beyond which all become one."""

WIDE = pa.schema([f.with_type(pa.large_binary()) if pa.types.is_binary(f.type) else f for f in report.SCHEMA])

Key = tuple[str, str]


@dataclass
class Kept:
    """Reports by table and data file; `unique` are the tables in which no key was repeated among these files.

    `failing`: by ledger the hashes of keys that broke a check across tables.
    """

    reports: dict[Key, Report] = field(default_factory=dict)
    unique: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    failing: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One file of reports: the declarations that they were made by, its number, the tables without repeated keys then, and the reports."""

    declarations: str
    number: int
    unique: frozenset[str]
    reports: tuple[Report, ...]
    failing: Mapping[str, Sequence[int]]


_READ: dict[str, Part] = {}
"""The files that were read last, by their paths, which name no other file later: a process that validates again has them."""


def load(lake: str, names: Sequence[str]) -> Kept:
    """What validations of the same tables, by the same declarations, have kept; nothing where that cannot be read."""
    system, folder = filesystem(location(lake, FOLDER))
    declared = _declarations(names)
    found = Kept(parts=tuple(sorted(_files(system, folder))))
    last = 0
    for path in [path for path in _READ if path not in found.parts]:
        del _READ[path]
    for path in found.parts:
        with suppress(OSError, pa.ArrowInvalid, KeyError, ValueError):
            part = _READ[path] = _READ.get(path) or _part(system, path)
            if part.declarations != declared:
                continue
            if part.number > last:
                last, found.unique, found.failing = part.number, part.unique, part.failing
            found.reports.update({(one.table, one.file): one for one in part.reports})
    return found


def _part(system: fs.FileSystem, path: str) -> Part:
    table = _open(system, path)
    about = json.loads(table.schema.metadata[b"stompcap"])
    columns = [table.column(name) for name in report.SCHEMA.names]
    reports = []
    for at in range(table.num_rows):
        name, file, facts, *hashes = (column[at] for column in columns)
        reports.append(Report.of(name.as_py(), file.as_py(), facts.as_py(), *(one.as_buffer() for one in hashes)))
    return Part(about["declarations"], about["number"], frozenset(about["unique"]), tuple(reports), about["failing"])


def save(
    lake: str, names: Sequence[str], before: Kept, current: Mapping[Key, Report], unique: Iterable[str],
    failing: Mapping[str, Sequence[int]],
) -> None:
    """Keep the reports on the files that the tables have now: the new ones as one more file, or all where there are many files."""
    system, folder = filesystem(location(lake, FOLDER))
    new = [one for key, one in current.items() if key not in before.reports]
    compacts = len(before.parts) >= PARTS or not before.reports
    about = {"declarations": _declarations(names), "number": 1 + _last(before.parts), "unique": sorted(unique), "failing": failing}
    rows = [one.row for one in (current.values() if compacts else new)]
    table = pa.Table.from_pylist(rows, schema=WIDE.with_metadata({"stompcap": json.dumps(about)}))
    with suppress(OSError):  # a folder that cannot be written costs the next validation its time
        if isinstance(system, fs.LocalFileSystem):  # others make folders as they are written to
            system.create_dir(folder, recursive=True)
        path = f"{folder}/{about['number']:08d}-{uuid.uuid4().hex}.arrow"
        with system.open_output_stream(path) as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)
        for old in before.parts if compacts else ():
            system.delete_file(old)


def forget(lake: str) -> None:
    """Remove what is kept: it has hashes of streams, and examples."""
    system, folder = filesystem(location(lake, FOLDER))
    for path in _files(system, folder):
        system.delete_file(path)


def _files(system: fs.FileSystem, folder: str) -> list[str]:
    found: list[fs.FileInfo] = []
    with suppress(OSError):
        found = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return [info.path for info in found if info.path.endswith(".arrow")]


def _open(system: fs.FileSystem, path: str) -> pa.Table:
    """A file of reports; mapped where it is a local one."""
    source = pa.memory_map(path) if isinstance(system, fs.LocalFileSystem) else system.open_input_file(path)
    return pa.ipc.open_file(source).read_all()


def _last(parts: Sequence[str]) -> int:
    """The number of the last file."""
    names = [path.rpartition("/")[2].partition("-")[0] for path in parts]
    return max((int(name) for name in names if name.isdigit()), default=0)


def _declarations(names: Sequence[str]) -> str:
    """A digest of what a report depends on beside its file."""
    declared = repr((version(), sorted(names), list(TABLES.values()), INVARIANTS, LEDGERS, [one.label for one in ROW_RULES]))
    return hashlib.sha256(declared.encode()).hexdigest()[:16]
