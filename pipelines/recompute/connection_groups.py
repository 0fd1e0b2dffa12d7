"""Groups connections that must be computed together: those between the same endpoints, unless the flow was idle between them.

Which connection of a flow a packet belongs to depends on the packets before it (`stompcap.tcp.matching`). It does not depend on packets
before a silence in which the flow was idle (`stompcap.tcp.idle`).
"""

# ruff: noqa: S608  the SQL consists of our own names and of numbers; words of people are in tables

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.assembly.addresses import endpoints_of
from stompcap.columns import I64, integers
from stompcap.lake.data_files import Files
from stompcap.lake.query import opened
from stompcap.lake.removal import Streams, disjoint
from stompcap.spark.slices import Periods
from stompcap.tables import TABLES
from stompcap.tcp.idle import OPEN_SQL, over_sql

ENDS = ("client_ip", "client_port", "server_ip", "server_port")
COLUMNS = ("stream_id", "batch_id", *ENDS, "first_ns", "last_ns", "clock_steps_back", "close_kind", "fin_ns_c2s", "fin_ns_s2c", "rst_ns",
           "history")  # fmt: skip
LIFE = ("first_ns", "last_ns")
FLOW = """CASE WHEN (client_ip, client_port) <= (server_ip, server_port)
    THEN concat_ws(' ', client_ip, client_port, server_ip, server_port)
    ELSE concat_ws(' ', server_ip, server_port, client_ip, client_port) END"""
ORDER = "PARTITION BY flow ORDER BY first_ns, last_ns, stream_id, came"


@dataclass(frozen=True)
class Connections:
    """Connections of whole groups: rows with the columns COLUMNS, `came` and `together`.

    `came`: the connection is of the batch being made, not in the lake. `together`: the number of its group; groups are computed whole.
    """

    rows: pa.Table

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def before(self) -> pa.Table:
        """The connections that the lake has."""
        return self.rows.filter(pc.invert(self.rows.column("came")))

    @property
    def streams(self) -> Streams:
        """The connections that the lake has; their rows are removed if they are computed again."""
        held = self.before
        if pc.any(pc.not_equal(pc.fill_null(held.column("clock_steps_back"), 1), 0)).as_py():
            return Streams(held.column("stream_id").combine_chunks().unique().sort(), None)
        return Streams.of(held)

    @property
    def periods(self) -> tuple[I64, I64]:
        """The times at which any of them was open, ascending and disjoint."""
        return disjoint(integers(self.rows.column("first_ns")), integers(self.rows.column("last_ns")))

    @property
    def segments(self) -> Periods:
        """Selects their segments by endpoints and time."""
        ends = self.rows.select(ENDS).to_pylist()
        endpoints = pa.array([endpoints_of(one)[0] for one in ends], pa.binary())
        return Periods.of(endpoints, integers(self.rows.column("first_ns")), integers(self.rows.column("last_ns")))

    def overlapping(self, captures: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The captures, rows of table captures, with packets from a time at which one of the connections was open."""
        begins, ends = self.periods
        some = [row for row in captures if row["first_ns"] is not None]
        index = np.searchsorted(ends, np.array([row["first_ns"] for row in some], np.int64))
        last = np.array([row["last_ns"] for row in some], np.int64)
        touched = (index < len(begins)) & (np.append(begins, 0)[np.minimum(index, len(begins))] <= last)
        return [row for row, hit in zip(some, touched.tolist(), strict=True) if hit]

    def split(self, missing: Sequence[Mapping[str, Any]]) -> tuple[Connections, Connections]:
        """The connections that can be computed again although some captures are missing, and those that cannot."""
        times = [np.array([row[name] for row in missing], np.int64) for name in ("first_ns", "last_ns")]
        begins, ends = disjoint(*times)
        first, last = integers(self.rows.column("first_ns")), integers(self.rows.column("last_ns"))
        index = np.searchsorted(ends, first)
        hit = (index < len(begins)) & (np.append(begins, 0)[np.minimum(index, len(begins))] <= last)
        together = integers(self.rows.column("together"))
        lost = pa.array(np.isin(together, np.unique(together[hit])))
        return Connections(self.rows.filter(pc.invert(lost))), Connections(self.rows.filter(lost))


NO_CONNECTIONS = Connections(pa.schema([
    *((name, TABLES["streams"].column(name).type) for name in COLUMNS), ("came", pa.bool_()), ("together", pa.int64())
]).empty_table())


def together(
    tables: Mapping[str, Files | pa.Table], selected: str, idle_ns: int, *, share: str = "true", came: str = "false", both: bool = False
) -> Connections:
    """The groups that have a selected connection, in order of flow and time.

    Args:
        tables: `streams`; `new_streams`, those of a batch being made; `open_streams`, more rows of streams, all of which are selected;
            `sources`, the name of the source; and the tables that the conditions name.
        selected: SQL, the condition by which rows of `streams` are selected.
        came: the same for rows of `new_streams`.
        share: SQL, the condition that rows of both must meet at all.
        idle_ns: the idle timeout.
        both: give only groups that have connections of `streams`, too.
    """
    names = ", ".join(COLUMNS)
    zero = ", ".join(f"coalesce({name}, 0) AS {name}" if name in LIFE else name for name in COLUMNS)
    sql = f"""
    WITH lives AS (
        SELECT {zero}, {FLOW} AS flow, false AS came, ({selected}) AS selected FROM streams
        WHERE source IN (SELECT source FROM sources) AND ({share})
        UNION ALL SELECT {zero}, {FLOW}, false, true FROM open_streams
        UNION ALL SELECT {zero}, {FLOW}, true, ({came}) FROM new_streams WHERE {share}
    ), mine AS (
        SELECT * FROM lives WHERE flow IN (SELECT flow FROM lives WHERE selected)
    ), silent AS (
        SELECT *, first_ns - max(last_ns) OVER before AS silence, coalesce(bool_or({OPEN_SQL}) OVER before, false) AS some_open
        FROM mine WINDOW before AS ({ORDER} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    ), parted AS (
        SELECT *, sum(CASE WHEN silence IS NULL OR {over_sql("silence", idle_ns, "some_open")} THEN 1 ELSE 0 END) OVER ({ORDER}) AS part
        FROM silent
    ), grouped AS (
        SELECT *, bool_or(selected) OVER (PARTITION BY flow, part) AS wanted, bool_or(NOT came) OVER (PARTITION BY flow, part) AS held
        FROM parted
    )
    SELECT {names}, came, dense_rank() OVER (ORDER BY flow, part) AS together FROM grouped
    WHERE wanted{" AND held" if both else ""} ORDER BY together, first_ns, stream_id"""
    nothing = {name: Files("streams", ()) for name in ("new_streams", "open_streams")}
    with opened(nothing | dict(tables)) as database:
        return Connections(database.sql(sql).to_arrow_table())


def count(tables: Mapping[str, Files | pa.Table]) -> int:
    """How many connections of the source there are."""
    with opened(dict(tables)) as database:
        [[number]] = database.sql("SELECT count(*) FROM streams WHERE source IN (SELECT source FROM sources)").fetchall()
    return int(number)


def named(source: str) -> pa.Table:
    """The table `sources`."""
    return pa.table({"source": pa.array([source], pa.string())})
