"""Finds the connections of a lake that meet criteria: time of the last packet, address of the client, login, stream ids.

A connection is found if it is in table streams or in sessions. Parts have at most `AT_ONCE` of them, so memory does not grow with their
number.
"""

# ruff: noqa: S608  the SQL consists of our own names and of numbers; words of people are in tables

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.assembly import addresses
from stompcap.lake import data_files, open_tables
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location
from stompcap.lake.query import opened
from stompcap.lake.removal import Streams

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Database

    from stompcap.lake.data_files import File

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
AT_ONCE = 1 << 20
"""Most connections that are deleted at once; each takes about 100 octets of memory."""

BATCH_ROWS = 1 << 16
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Criteria:
    """Conditions that a connection must all meet: last packet before a moment, client in a network, login, one of some stream ids."""

    before: datetime.datetime | None = None
    client: Network | None = None
    login: str | None = None
    streams: tuple[str, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """The names of the conditions that are set, without their values."""
        values = {"before": self.before, "client": self.client, "login": self.login, "stream": self.streams or None}
        return [name for name, value in values.items() if value is not None]

    @property
    def only_time(self) -> datetime.datetime | None:
        """The moment, if it is the only condition: then runs, batches and validations that are older are deleted too."""
        return self.before if self.kinds == ["before"] else None

    @property
    def before_ns(self) -> int:
        """The moment in nanoseconds since the epoch; ValueError if none is set."""
        if self.before is None:
            raise ValueError("no moment was given")
        return (self.before - EPOCH) // datetime.timedelta(microseconds=1) * 1000


def parts(lake: str, criteria: Criteria) -> Iterator[Streams]:
    """The connections that meet the criteria, those that ended first in the first part; none where there are none."""
    behind: tuple[int, str] | None = None
    while True:
        rows = _part(lake, criteria, behind)
        if rows.num_rows:
            yield Streams.of(rows)
        if rows.num_rows < AT_ONCE:
            return
        last = rows.slice(rows.num_rows - 1).to_pylist()[0]
        behind = last["ended_ns"], last["stream_id"]


def timeless(lake: str, criteria: Criteria) -> int:
    """How many connections meet all conditions but the moment, and have no time of a last packet; 0 if no moment is set."""
    if criteria.before is None:
        return 0
    with _searched(lake, replace(criteria, before=None)) as (database, of_streams, _):
        [[count]] = database.sql(f"SELECT count(*) FROM streams WHERE last_ns IS NULL AND {of_streams}").fetchall()
    return int(count)


def _part(lake: str, criteria: Criteria, behind: tuple[int, str] | None) -> pa.Table:
    """The next connections behind a time and an id; a connection whose packets are not in order of time has null times."""
    with _searched(lake, criteria) as (database, of_streams, of_sessions):
        where = "true" if behind is None else f"(ended_ns, stream_id) > ({behind[0]}, '{behind[1]}')"
        sql = f"""
        SELECT * FROM (
            SELECT stream_id, CASE WHEN bool_and(in_order) THEN min(first_ns) END AS first_ns,
                   CASE WHEN bool_and(in_order) THEN max(last_ns) END AS last_ns, coalesce(max(last_ns), 0) AS ended_ns
            FROM (
                SELECT stream_id, first_ns, last_ns, coalesce(clock_steps_back = 0, false) AS in_order
                FROM streams WHERE {of_streams}
                UNION ALL
                SELECT stream_id, opened_ns AS first_ns, coalesce(last_ns, closed_ns) AS last_ns, CAST(NULL AS BOOLEAN) AS in_order
                FROM sessions WHERE {of_sessions}
            ) matching GROUP BY stream_id
        ) found WHERE {where} ORDER BY ended_ns, stream_id LIMIT {AT_ONCE}"""
        return database.sql(sql).to_arrow_table()


@contextmanager
def _searched(lake: str, criteria: Criteria) -> Iterator[tuple[Database, str, str]]:
    """A database with tables streams and sessions, and for each an SQL condition for the rows that meet the criteria."""
    files = {"streams": _files(lake, "streams", criteria), "sessions": _files(lake, "sessions", criteria)}
    words = {
        "clients": pa.table({"client_ip": pa.array(_clients(files, criteria.client), pa.string())}),
        "logins": pa.table({"login": pa.array([criteria.login], pa.string())}),
        "named": pa.table({"stream_id": pa.array(criteria.streams, pa.string())}),
    }
    both = ["true"]
    if criteria.client is not None:
        both.append("client_ip IN (SELECT client_ip FROM clients)")
    if criteria.streams:
        both.append("stream_id IN (SELECT stream_id FROM named)")
    of_streams, of_sessions = list(both), list(both)
    if criteria.before is not None:
        of_streams.append(f"last_ns < {criteria.before_ns}")
        of_sessions.append(f"coalesce(last_ns, closed_ns) < {criteria.before_ns}")
    if criteria.login is not None:
        of_sessions.append("login IN (SELECT login FROM logins)")
        of_streams.append("stream_id IN (SELECT stream_id FROM sessions WHERE login IN (SELECT login FROM logins))")
    with opened(files | words) as database:
        yield database, " AND ".join(of_streams), " AND ".join(of_sessions)


def _files(lake: str, table: str, criteria: Criteria) -> Files:
    """The files of a table whose statistics of time allow matching rows."""
    column = {"streams": "last_ns", "sessions": "last_ts"}[table]
    held = data_files.of(open_tables.table(location(lake, table)), [column])
    if criteria.before is None or criteria.login is not None:  # the session with the login may be in any file
        return Files.of(table, held)
    end = criteria.before_ns if column.endswith("_ns") else criteria.before
    return Files.of(table, (file for file in held if _begins_before(file, column, end)))


def _begins_before(file: File, column: str, end: int | datetime.datetime | None) -> bool:
    bounds = file.bounds[column]
    return not bounds.known or bounds.nulls or bounds.least is None or bool(bounds.least < end)


def _clients(files: dict[str, Files], network: Network | None) -> list[str]:
    """The addresses of a network as the lake writes them; if it has several, only those that occur in the lake."""
    if network is None:
        return []
    if network.num_addresses == 1:
        packed = network.network_address.packed
        return [addresses.text(packed if len(packed) == 16 else addresses.MAPPED + packed)]
    found = []
    with opened(dict(files)) as database:
        rows = database.sql("SELECT client_ip FROM streams UNION SELECT client_ip FROM sessions")
        for batch in rows.to_arrow_reader(BATCH_ROWS):
            found += [text for text in batch.column(0).to_pylist() if text and ipaddress.ip_address(text) in network]
    return found
