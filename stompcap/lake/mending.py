"""Tables of a damaged lake made readable: logs cut back to what can be read, data files that cannot be read dropped, tables made again.

Each step leaves the damage that is left as it was found, so that whoever is killed between two of them begins again with the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltalake.exceptions import DeltaError

from stompcap.lake import open_tables, other_writers, tables
from stompcap.lake.commits import CommitInfo, replace_files
from stompcap.lake.damage import Entry, culprit, footer, listing, unreadable
from stompcap.lake.delta_log import ENTRY
from stompcap.lake.maintenance import clustering
from stompcap.lake.paths import filesystem, location

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyarrow import fs

LAST = "_last_checkpoint"


@dataclass(frozen=True)
class Lost:
    """What a table has lost: rows of times from `begin` to `end`, as its column of time has them; `all_of_it`: of any time.

    `rows` is how many; None where nobody knows.
    """

    table: str
    rows: int | None
    begin: Any = None
    end: Any = None
    all_of_it: bool = True


def mend(lake: str, damaged: list[str], run_id: str) -> list[Lost]:
    """Make tables of a lake readable, each with what is left of it; what each has lost by that."""
    found = [Lost(table, None) for table in damaged if _cut_back(lake, table)]
    with ThreadPoolExecutor(1) as pool:
        tables.make_tables(lake, pool)
    tables.bring_up(lake)
    for table in damaged:
        found += _drop(table, open_tables.table(location(lake, table)), run_id)
    other_writers.take_out_open_rows(lake)
    return found


def _cut_back(lake: str, table: str) -> bool:
    """Cut a table's log back to its latest version that can be read; whether anything was lost by that, or it was gone before."""
    where = location(lake, table)
    system, folder = filesystem(f"{where}/_delta_log")
    log = listing(system, folder)
    if LAST in log and (broken := culprit(system, folder, log)) and broken[0] == LAST:  # only a hint: readers list the folder then
        system.delete_file(f"{folder}/{LAST}")
        del log[LAST]
    if log and culprit(system, folder, log) is None and _opens(where):
        return False
    if LAST in log:
        system.delete_file(f"{folder}/{LAST}")
    for name in [name for name in log if name.endswith(".parquet") and footer(system, f"{folder}/{name}")]:
        system.delete_file(f"{folder}/{name}")
        del log[name]
    versions = {name: int(entry[1]) for name in log if (entry := ENTRY.fullmatch(name))}
    top = max((version for name, version in versions.items() if name.endswith(".json")), default=-1)
    kept = next(_readable(where, system, folder, log, top), -1)
    for name, _ in sorted(versions.items(), key=lambda one: -one[1]):
        if versions[name] > kept:
            system.delete_file(f"{folder}/{name}")
    if kept < 0 and log:
        system.delete_dir_contents(folder)
    return kept < top or top < 0


def _readable(where: str, system: fs.FileSystem, folder: str, log: dict[str, Entry], top: int) -> Iterator[int]:
    """The versions of a table that can be read, the latest first."""
    for version in range(top, -1, -1):
        upto = {name: info for name, info in log.items() if (entry := ENTRY.fullmatch(name)) and int(entry[1]) <= version}
        if f"{version:020d}.json" in upto and culprit(system, folder, upto) is None and _opens(where, version):
            yield version


def _opens(where: str, version: int | None = None) -> bool:
    try:
        open_tables.at(where, version)
    except DeltaError:
        return False
    return True


def _drop(table: str, delta: DeltaTable, run_id: str) -> Iterator[Lost]:
    """Take the data files out of a table that cannot be read, in one commit."""
    time = clustering(table)
    gone = [file for file, _ in unreadable(delta, time)]
    if not gone:
        return
    replace_files(delta, [], gone, CommitInfo(run_id))
    for file in gone:
        bounds = file.bounds[time[0]] if time else None
        if bounds is None or not bounds.known or bounds.nulls:
            yield Lost(table, file.rows)
        else:
            yield Lost(table, file.rows, bounds.least, bounds.most, all_of_it=False)
