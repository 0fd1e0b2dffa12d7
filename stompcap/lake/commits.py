"""Commits to a table that add and remove files in one transaction: parts of the table replaced, small files compacted.

The cost of such a commit is that of the files it names, whatever else the table contains; a reader sees the table before it or after it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, PostCommitHookProperties, Transaction
from deltalake.transaction import AddAction, RemoveAction

from stompcap.lake import data_files, delta_log, open_tables
from stompcap.lake.paths import OPEN, DataFile, location
from stompcap.tables import TABLES
from stompcap.version import version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltalake import DeltaTable

    from stompcap.lake.data_files import File

APP, SOURCE = "stompcap:", "stompcap-source:"
"""Prefixes of application ids (Delta protocol, Transaction Identifiers): of what a commit brings, such as a batch, by which a repeated
commit is known; and of a table that this one was made from, with the version of that table."""

NOTHING: Mapping[str, str] = {}

CLEANED_UP = 100
"""Commits of which one has deltalake remove the log's entries that are too old, as the table's settings say. For that it looks at every
entry: if each commit did, a run would cost more with each run before it."""

FILE_ROWS = 100_000
"""Rows of a file of a table that is replaced in parts."""

SMALL_OCTETS = 1 << 20
MOST_SMALL = 8
"""A table may have so many files of less than `SMALL_OCTETS` before a writer compacts some."""

GROWTH = 2
"""A small file of at most so many times the octets of all smaller ones becomes one with them: each row is written a few times in all."""

COMPACTED_OCTETS = 1 << 25
"""Octets of small files that a writer compacts at a time, for their rows stand in memory; where a commit adds more, `maintain` does."""


@dataclass(frozen=True)
class CommitInfo:
    """What a commit records, besides our own version."""

    run_id: str
    app_ids: tuple[str, ...] = ()
    """The names of what it brings: of batches, or of a stage of a run."""

    sources: Mapping[str, int] = field(default_factory=dict)
    """The versions of the tables that its rows were made from."""

    taken_back: tuple[str, ...] = ()
    """The names of what is not there any more behind it."""

    @property
    def properties(self) -> CommitProperties:
        """As deltalake takes it."""
        transactions = [Transaction(APP + app_id, 1) for app_id in self.app_ids]
        transactions += [Transaction(APP + app_id, 0) for app_id in self.taken_back]
        transactions += [Transaction(SOURCE + table, version) for table, version in self.sources.items()]
        metadata = {"run_id": self.run_id, "tool_version": version()}
        return CommitProperties(custom_metadata={"userMetadata": json.dumps(metadata)}, app_transactions=transactions)


def replace_files(
    delta: DeltaTable, added: Iterable[DataFile], removed: Iterable[File], info: CommitInfo, *, rows_stay: bool = False,
    age_stays: bool = False,
) -> None:
    """Replace files by others. `rows_stay`: the new files have the same rows, and count as added when the latest of the old ones was.

    `age_stays`: they count so though some rows are missing.
    """
    gone, now = list(removed), int(time.time() * 1000)
    when = max((file.added_ms for file in gone), default=now) if rows_stay or age_stays else now
    actions: list[AddAction | RemoveAction] = [AddAction(f.path, f.size, {}, when, not rows_stay, f.statistics) for f in added]
    no_partition: dict[str, str | None] = {}  # where this is not said, Spark reads no change feed across the commit
    actions += [RemoveAction(file.name, not rows_stay, now, file.size, no_partition) for file in gone]
    hooks = PostCommitHookProperties(cleanup_expired_logs=None if (delta.version() + 1) % CLEANED_UP == 0 else False)
    delta.create_write_transaction(actions, "append", delta.schema(), commit_properties=info.properties, post_commithook_properties=hooks)


FINAL_ROWS = ":final"
"""Behind the name of what a commit brings: of the commit before it, which has the final rows."""


@dataclass(frozen=True)
class Brought:
    """What a batch brings to a table: files with its final rows, those of open streams, and the files that these replace."""

    final: Sequence[DataFile] = ()
    provisional: Sequence[DataFile] = ()
    replaced: Sequence[File] = ()


def brought(files: Iterable[DataFile], replaced: Iterable[File]) -> Brought:
    """New files by their names, and those that they replace."""
    every = list(files)
    final, provisional = ([file for file in every if file.path.startswith(OPEN) is is_open] for is_open in (False, True))
    return Brought(final, provisional, list(replaced))


def bring(delta: DeltaTable, brought: Brought, info: CommitInfo) -> None:
    """Commit what a batch brings: its final rows in a commit that adds and nothing else, and what replaces others in one behind it.

    So whoever follows a table can take final rows as they are appended. A reader between both commits sees rows that have become final
    twice, once as not final. A batch that was killed there is finished by the second commit alone, as the table has the first one's name.
    """
    final = CommitInfo(info.run_id, tuple(app_id + FINAL_ROWS for app_id in info.app_ids))
    if not brought.provisional and not brought.replaced and not has_final_rows(delta, info):
        replace_files(delta, brought.final, [], info)
        return
    if brought.final and not has_final_rows(delta, info):
        replace_files(delta, brought.final, [], final)
    replace_files(delta, brought.provisional, brought.replaced, info)


def has_final_rows(delta: DeltaTable, info: CommitInfo) -> bool:
    """Whether a table has the final rows of a batch already, as after a kill behind the first of its two commits."""
    return bool(info.app_ids) and all(delta.transaction_version(APP + app_id + FINAL_ROWS) == 1 for app_id in info.app_ids)


def half_brought(lake: str, table: str) -> set[str]:
    """The batches of which a table has the final rows and not yet what comes with them: some of its rows are there twice."""
    ids = delta_log.transactions(open_tables.table(location(lake, table)))
    half = (name.removesuffix(FINAL_ROWS) for name, version in ids.items() if version == 1 and name.endswith(FINAL_ROWS))
    return {name.removeprefix(APP) for name in half if name not in ids}


def take_back(lake: str, table: str, batch: str, run_id: str) -> None:
    """Take out the final rows of a batch that cannot be finished, if a table has these alone."""
    if batch in half_brought(lake, table):
        delta = open_tables.table(location(lake, table))
        brought = delta_log.added_by(delta, {APP + batch + FINAL_ROWS})
        files = [file for file in data_files.of(delta) if file.name in brought]
        replace_files(delta, [], files, CommitInfo(run_id, taken_back=(batch + FINAL_ROWS,)))


def written(lake: str, table: str, rows: pa.Table) -> list[DataFile]:
    """The rows as files that no commit names yet, in their order."""
    from stompcap.lake.table_writer import write

    return [write(lake, table, rows.slice(begin, FILE_ROWS)) for begin in range(0, rows.num_rows, FILE_ROWS)]


def read(table: str, files: Iterable[File], columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of some files, with the table's columns or those named; a column that an older file lacks is null."""
    schema = TABLES[table].arrow
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    uris = [file.uri for file in files]
    return data_files.dataset(table, uris).to_table(columns=schema.names).cast(schema) if uris else schema.empty_table()


def replace_where(lake: str, table: str, column: str, values: pa.Array | None, rows: pa.Table, info: CommitInfo) -> int:
    """Replace the rows whose `column` has one of `values`, or all rows where these are None; returns the number of rows written.

    Only files that may contain such rows are rewritten.
    """
    delta = open_tables.table(location(lake, table))
    held = data_files.of(delta, [column])
    replaced = held if values is None else [file for file in held if may_hold(file, column, values)]
    before = read(table, replaced)
    stay = before.slice(0, 0) if values is None else before.filter(pc.invert(pc.is_in(before.column(column), value_set=values)))
    after = ordered(table, pa.concat_tables([stay, rows.select(before.column_names).cast(before.schema)]))
    if ordered(table, before).equals(after):
        replace_files(delta, [], [], info)
        return 0
    replace_files(delta, written(lake, table, after), replaced, info)
    compact(lake, table)
    return int(rows.num_rows)


def may_hold(file: File, column: str, values: pa.Array) -> bool:
    """Whether a file may have a row whose column has one of the values, which may include null, by its statistics."""
    bounds = file.bounds[column]
    if not bounds.known or (values.null_count and bounds.nulls):
        return True
    if bounds.least is None:
        return False
    least, most = (pa.scalar(bound).cast(values.type) for bound in (bounds.least, bounds.most))
    within = pc.and_(pc.greater_equal(values, least), pc.less_equal(values, most))
    return bool(pc.any(within).as_py())


def ordered(table: str, rows: pa.Table) -> pa.Table:
    """Rows in the order of the table's key."""
    return rows.sort_by([(name, "ascending") for name in TABLES[table].key])


def compact(lake: str, table: str, apart: Mapping[str, str] = NOTHING) -> int:
    """Merge a table's small files where it has more than `MOST_SMALL` of them; how many these were.

    A commit of a run adds a file or two to a table: without this, whatever reads the table would cost more with every run. Files in which
    all rows have the value `apart` names for a column become none with others, for their rows will be replaced before those.
    """
    delta = open_tables.table(location(lake, table))
    alike: dict[str | None, list[File]] = {}
    for file in data_files.of(delta, list(apart)):
        if file.size < SMALL_OCTETS and not file.name.startswith(OPEN):
            column = next((name for name, value in apart.items() if file.bounds[name].least == file.bounds[name].most == value), None)
            alike.setdefault(column, []).append(file)
    return sum(_merged(lake, table, delta, small) for small in alike.values() if len(small) > MOST_SMALL)


def _merged(lake: str, table: str, delta: DeltaTable, small: Sequence[File]) -> int:
    """Merge small files but for those that are much larger than all others together; how many were merged."""
    from stompcap.lake.table_writer import write

    by_size, octets = sorted(small, key=lambda file: file.size), 0
    chosen = set[str]()
    for number, file in enumerate(by_size):
        if (number > 1 and file.size > GROWTH * octets) or octets + file.size > COMPACTED_OCTETS:
            break
        chosen.add(file.name)
        octets += file.size
    merged = [file for file in small if file.name in chosen]
    rows = read(table, merged)
    replace_files(delta, [write(lake, table, rows)] if rows.num_rows else [], merged, CommitInfo("compact"), rows_stay=True)
    return len(merged)
