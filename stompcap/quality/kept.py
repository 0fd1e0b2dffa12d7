"""Reports on data files, kept beside the tables of a lake from one validation to the next.

Data files never change, so a file is read by one validation only; the next ones take its report from here, and read what is new. Kept
reports are in Arrow files, a batch for each block (stompcap.quality.blocks), which are mapped where the lake is local: reports are not
looked at one by one, and hashes not read unless they are compared. They can be lost at any time: then the next validation reads all files.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import fs

from stompcap.lake.paths import filesystem, location
from stompcap.quality.blocks import SCHEMA, Block, merged
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.quantities import LEDGERS
from stompcap.quality.row_rules import ROW_RULES
from stompcap.quality.sums import HASHING
from stompcap.tables import TABLES
from stompcap.version import version

FOLDER = "_quality"
PARTS = 16
"""Files of reports at most; those of other declarations go behind so many validations."""

ABOUT = b"stompcap"

GROWTH = 2
"""A file of at most so many times the reports of those that come becomes one with them: each report is written again a few times in all."""


@dataclass
class Kept:
    """Reports in blocks; `unique` are the tables in which no key was repeated among these files.

    `failing`: by ledger the hashes of keys that broke a check across tables. `parts` are the files they lie in, the oldest first, and
    `foreign` those of other declarations, or that cannot be read.
    """

    blocks: list[Block] = field(default_factory=list)
    unique: frozenset[str] = frozenset()
    failing: Mapping[str, Sequence[int]] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """One file of reports: the declarations that they were made by, its number, the tables without repeated keys then, and the reports."""

    declarations: str
    number: int
    unique: frozenset[str]
    blocks: tuple[Block, ...]
    failing: Mapping[str, Sequence[int]]


_READ: dict[str, Part] = {}
"""The files that were read last, by their paths, which name no other file later: a process that validates again has them."""


def load(lake: str, names: Sequence[str]) -> Kept:
    """What validations of the same tables, by the same declarations, have kept; nothing where that cannot be read."""
    system, folder = filesystem(location(lake, FOLDER))
    declared, found, paths = _declarations(names), Kept(), sorted(_files(system, folder))
    for path in [path for path in _READ if path not in paths]:
        del _READ[path]
    for path in paths:
        with suppress(OSError, pa.ArrowInvalid, KeyError, ValueError):
            part = _READ[path] = _READ.get(path) or _part(system, path)
            if part.declarations == declared:
                found.parts.append(path)
                found.blocks += part.blocks
                found.unique, found.failing = part.unique, part.failing
    found.foreign = [path for path in paths if path not in found.parts]
    return found


def _part(system: fs.FileSystem, path: str) -> Part:
    """A file of reports; mapped where it is a local one."""
    reader = pa.ipc.open_file(pa.memory_map(path) if isinstance(system, fs.LocalFileSystem) else system.open_input_file(path))
    if not reader.schema.equals(SCHEMA, check_metadata=False):  # an older version wrote it
        raise ValueError(path)
    about, blocks = json.loads(reader.schema.metadata[ABOUT]), []
    for number in range(reader.num_record_batches):
        one = reader.get_batch_with_custom_metadata(number)
        of_all = json.loads(one.custom_metadata[ABOUT])
        blocks.append(Block(of_all["table"], of_all["facts"], one.batch, path))
    return Part(about["declarations"], about["number"], frozenset(about["unique"]), tuple(blocks), about["failing"])


def save(
    lake: str, names: Sequence[str], before: Kept, current: Sequence[Block], unique: Iterable[str], failing: Mapping[str, Sequence[int]]
) -> None:
    """Keep the reports on the files that the tables have now: the new ones as one more file, which takes in others not much larger."""
    system, folder = filesystem(location(lake, FOLDER))
    gone = _taken_in(before, current)
    number = 1 + max(map(_number, (*before.parts, *before.foreign)), default=0)
    about = {"declarations": _declarations(names), "number": number, "unique": sorted(unique), "failing": failing}
    schema = SCHEMA.with_metadata({ABOUT: json.dumps(about)})
    with suppress(OSError):  # a folder that cannot be written costs the next validation its time
        if isinstance(system, fs.LocalFileSystem):  # others make folders as they are written to
            system.create_dir(folder, recursive=True)
        path = f"{folder}/{number:08d}-{uuid.uuid4().hex}.arrow"
        with system.open_output_stream(path) as stream, pa.ipc.new_file(stream, schema) as writer:
            for one in merged([one for one in current if one.path in {"", *gone}]):
                writer.write_batch(one.rows, custom_metadata={ABOUT: json.dumps({"table": one.table, "facts": one.facts})})
        for old in (*gone, *(path for path in before.foreign if _number(path) + PARTS <= number)):
            system.delete_file(old)


def _taken_in(before: Kept, current: Sequence[Block]) -> list[str]:
    """The files of reports that one more takes in: the latest where they are not much larger, and those half of which is gone."""
    held, left = Counter[str](), Counter[str]()
    for count, blocks in ((held, before.blocks), (left, current)):
        for one in blocks:
            count[one.path] += one.rows.num_rows
    gone, rows = [path for path in before.parts if left[path] * 2 < held[path] or not left[path]], left[""]
    rows += sum(left[path] for path in gone)
    stay = [path for path in before.parts if path not in gone]
    many = len(stay) >= PARTS
    while stay and (many or left[stay[-1]] <= GROWTH * rows):
        rows += left[stay[-1]]
        gone.append(stay.pop())
    return gone


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


def _number(path: str) -> int:
    """The number of a file of reports."""
    number = path.rpartition("/")[2].partition("-")[0]
    return int(number) if number.isdigit() else 0


def _declarations(names: Sequence[str]) -> str:
    """A digest of what a report depends on beside its file."""
    declared = repr((version(), HASHING, sorted(names), list(TABLES.values()), INVARIANTS, LEDGERS, [one.label for one in ROW_RULES]))
    return hashlib.sha256(declared.encode()).hexdigest()[:16]
