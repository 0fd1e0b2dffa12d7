"""The lake: creating its tables, appending files that tasks wrote, reading it with Spark.

One way of writing per kind of table. Rows that many tasks make are written as Parquet where they are made and committed here, by
the driver, in one Delta transaction a table; the transaction carries an application id and version (Delta protocol, "Transaction
Identifiers") so that a retry commits nothing twice. Statistics are the writer's duty on that path and are made with the files.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError

from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.lake import damage, data_files, delta_log, hash_key, open_tables, remote, stores, upgrade
from stompcap.lake.commits import APP, CommitInfo, bring, brought, compact, replace_files, written
from stompcap.lake.commits import read as read_files
from stompcap.lake.finality import stored
from stompcap.lake.open_rows import OpenRows, rewritten
from stompcap.lake.paths import DataFile, filesystem, location
from stompcap.lake.replaced import drop, due
from stompcap.tables import TABLES, Table
from stompcap.views import VIEWS
from stompcap.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

AT_ONCE = 8
"""Tables that are opened at a time: most of it is waiting for files, on an object store all of it."""


def is_local(lake: str) -> bool:
    """Whether a lake lies in a file system of this machine; else it has a URI."""
    return "://" not in lake


def create(lake: str) -> None:
    """Create the tables the lake lacks, with comments, constraints and statistics columns; reader version 1; and its key of hashes.

    Raises EnvironmentProblem where the lake's folder cannot be made or written, and where a table is gone that the lake had.
    """
    try:
        if is_local(lake):
            os.makedirs(lake, exist_ok=True)
        filesystem(lake)  # raises for a scheme that pyarrow does not know
        with stores.explained(lake), ThreadPoolExecutor(AT_ONCE) as pool:
            damage.demand_repaired(lake)
            damage.demand_tables(lake)
            make_tables(lake, pool)
            hash_key.of_lake(lake)
    except (OSError, PermissionError) as error:
        raise EnvironmentProblem(f"{lake}: the lake cannot be made here ({error.strerror or error}); name another --lake") from error


def make_tables(lake: str, pool: ThreadPoolExecutor) -> None:
    """Make the tables that are not there; runs last, for it says which a lake has."""
    list(pool.map(lambda table: _create_table(lake, table), (table for table in TABLES.values() if table.name != "runs")))
    _create_table(lake, TABLES["runs"])


def _create_table(lake: str, table: Table) -> None:
    """One table, in one commit, if it is not there."""
    where = location(lake, table.name)
    if open_tables.is_there(where):
        open_tables.table(where)  # which it is opened for here, beside others
        return
    try:
        DeltaTable.create(
            where,
            schema=stored(table),
            mode="ignore",
            name=table.name,
            description=table.comment,
            configuration={"delta.minReaderVersion": "1", "delta.minWriterVersion": "4", **upgrade.configuration(table)},
            storage_options=stores.settings(where),
            commit_properties=CommitProperties(max_commit_retries=0),  # else it would make a table twice that another run makes now
            raise_if_key_not_exists=False,
        )
    except CommitFailedError:
        if not open_tables.is_there(where):
            raise


def bring_up(lake: str) -> None:
    """Bring the tables of a lake that an older version made to what this version declares; who does so holds the lake."""
    with stores.explained(lake), ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda table: upgrade.bring_up(lake, table), TABLES.values()))


def exists(lake: str) -> bool:
    """Whether the lake has been made."""
    with stores.explained(lake):
        return open_tables.is_there(location(lake, "runs"))


def demand(lake: str) -> None:
    """Raise EnvironmentProblem where there is no lake, or where a table of it is gone."""
    with stores.explained(lake):
        damage.demand_tables(lake)
    if not exists(lake):
        raise EnvironmentProblem(f"{lake}: no lake here; make one with: stompcap run CAPTURE... --lake {lake}")
    damage.demand_repaired(lake)


_COMPARED: dict[str, tuple[str, frozenset[str], frozenset[str]]] = {}
"""By table: its era, application ids that were asked for, and those of them that it lacked. A table never loses one that it has."""


def lacking(lake: str, table: str, app_ids: frozenset[str]) -> frozenset[str]:
    """Those of some application ids, such as names of batches, of which a table has no commit."""
    where = location(lake, table)
    delta = open_tables.table(where)
    word = delta_log.era(delta)
    before, asked, lacked = _COMPARED.get(where, ("", frozenset(), frozenset()))
    if before != word:
        asked, lacked = frozenset(), frozenset()
    new = app_ids - asked
    if unclear := lacked | new:
        committed = delta_log.transactions(delta)
        lacked = frozenset(app_id for app_id in unclear if APP + app_id not in committed)
    _COMPARED[where] = word, asked | new if new else asked, lacked
    return lacked & app_ids


def has_committed(lake: str, table: str, app_id: str) -> bool:
    """Whether a table has a commit with this application id."""
    return open_tables.table(location(lake, table)).transaction_version(APP + app_id) is not None


def commit(
    lake: str, table: str, files: Iterable[DataFile], app_ids: Sequence[str], run_id: str, open_rows: OpenRows | None = None,
    sources: Mapping[str, int] | None = None,
) -> int:
    """Add files to a table in one transaction that bears application ids, such as the name of their batch; rows added.

    Where the table has these ids already, nothing is added. A batch without rows is entered all the same. `open_rows`: what becomes of
    rows of open streams with it; where these change, final rows have a transaction of their own (`stompcap.lake.commits.bring`).
    `sources`: the versions of the tables that its rows were made from.
    """
    listed = list(files)
    delta = open_tables.table(location(lake, table))
    if all(delta.transaction_version(APP + app_id) is not None for app_id in app_ids):
        return 0
    made, gone = rewritten(lake, table, delta, open_rows) if open_rows else ([], [])
    before = delta.version()
    bring(delta, brought([*listed, *made], gone), CommitInfo(run_id, tuple(app_ids), sources or {}))
    if listed or made:
        compact(lake, table)
    if due(before):
        drop(lake, table)
    return sum(f.rows for f in listed)


def append(
    lake: str, table: str, rows: pa.Table, app_ids: Sequence[str], run_id: str, sources: Mapping[str, int] | None = None
) -> int:
    """Append a small Arrow table that the driver already holds, in one transaction as `commit` does; rows added."""
    return commit(lake, table, written(lake, table, rows), app_ids, run_id, sources=sources)


def small(lake: str, table: str, columns: list[str] | None = None, filters: list[tuple[str, str, Any]] | None = None) -> pa.Table:
    """A small table (captures, runs), or the few rows of one that pass `filters`, as Arrow, without a Spark job; it must fit the driver."""
    where = location(lake, table)
    delta = open_tables.table(where)
    if filters:
        return delta.to_pyarrow_table(columns=columns, filters=filters)
    schema = TABLES[table].arrow
    wanted = pa.schema([schema.field(name) for name in columns or schema.names])
    files = {file.uri: file for file in data_files.of(delta)}
    return open_tables.rows(where, list(files), wanted, lambda uri, names: read_files(table, [files[uri]], names))


def matching(
    lake: str, table: str, by: Sequence[str], mask: Callable[[pa.Table], pa.Array], columns: Sequence[str] | None = None
) -> pa.Table:
    """The few rows of a table for which `mask` is true, given their columns `by`; of files without one, no other column is read."""
    files = data_files.of(open_tables.table(location(lake, table)))
    found = [read_files(table, [], columns)]
    for file in files:
        chosen = mask(read_files(table, [file], by))
        if pc.any(chosen).as_py():
            found.append(read_files(table, [file], columns).filter(chosen))
    return pa.concat_tables(found)


def read(spark: SparkSession, lake: str, table: str) -> DataFrame:
    """A table or view of the lake as a DataFrame; UsageError for a name that lakes have not."""
    if view := VIEWS.get(table):
        tables: dict[str, Any] = {name: read(spark, lake, name) for name in view.tables}
        return spark.sql(view.sql, **tables)
    if table not in TABLES:
        raise UsageError(f"{visible(table, 60)}: not a table or view of a lake, which are {', '.join((*TABLES, *VIEWS))}")
    where = location(lake, TABLES[table].name)
    for_spark = where if is_local(lake) else remote.named(spark, where)
    if not for_spark:
        return remote.read(spark, table, data_files.of(open_tables.table(where)))
    return _with_all(spark.read.format("delta").load(for_spark), table)


def _with_all(rows: DataFrame, table: str) -> DataFrame:
    """The rows of a table; a column that it lacks, as it is older than that, is null."""
    from pyspark.sql.functions import expr

    lacking = [column for column in TABLES[table].columns if column.name not in rows.columns]
    return rows.withColumns({column.name: expr(f"CAST(NULL AS {column.sql_type})") for column in lacking}) if lacking else rows


def views(spark: SparkSession, lake: str, names: Container[str] | None = None) -> None:
    """Tables and views, all or those of some names, as temporary views, with the tables that they are made of.

    Each takes Spark some tenths of a second.
    """
    shown = (*TABLES, *VIEWS) if names is None else names
    wanted = [view for view in VIEWS.values() if view.name in shown]
    for name in TABLES:
        if name in shown or any(name in view.tables for view in wanted):
            read(spark, lake, name).createOrReplaceTempView(name)
    for view in wanted:
        spark.sql(view.of()).createOrReplaceTempView(view.name)


def replace(lake: str, table: str, rows: pa.Table, run_id: str, app_ids: Sequence[str] = ()) -> int:
    """Replace a small table the driver holds, unless it says the same already; rows written. `app_ids` as for `commit`."""
    rows = rows.cast(TABLES[table].arrow)
    if small(lake, table).equals(rows):
        return 0
    delta = open_tables.table(location(lake, table))
    replace_files(delta, written(lake, table, rows), data_files.of(delta), CommitInfo(run_id, tuple(app_ids)))
    return int(rows.num_rows)
