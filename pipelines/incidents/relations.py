"""Makes the relations that kinds of incidents share, and what is asked of them: each once, in a table of its own, two at once.

DuckDB then knows how large each is. Most have fewer rows than it gives to a second core, so two queries at once are what keeps both busy.
"""

from __future__ import annotations

import re
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from graphlib import TopologicalSorter
from itertools import takewhile
from queue import SimpleQueue
from typing import TYPE_CHECKING

from pipelines.incidents import (
    connection_events,
    consumer_events,
    consumer_minutes,
    cut_events,
    destination_events,
    end_events,
    instance_events,
    leaps,
    silent_brokers,
    stalled_consumers,
    unread_events,
    who,
    wire_events,
)
from stompcap.lake import query

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from stompcap.lake.data_files import Files

AT_ONCE = 2
READ = re.compile(r"\b(?:FROM|JOIN) (\w+)")

RELATIONS: dict[str, str] = {
    **who.CTES, **leaps.CTES, "stops": end_events.STOPS, "idles": end_events.IDLES, **connection_events.CTES, **consumer_minutes.CTES,
    **cut_events.CTES, **wire_events.CTES, **consumer_events.CTES, **stalled_consumers.CTES,
    **instance_events.CTES, **destination_events.CTES, **unread_events.CTES,
    **silent_brokers.CTES,
}  # fmt: skip
"""Each names none that stands behind it."""


def make(database: DuckDBPyConnection, tables: Mapping[str, Files | pa.Table], wanted: Mapping[str, str]) -> None:
    """Make tables of some queries, by name, and before them those of all relations that they name; `tables` has the database's views."""
    sql = dict(wanted)
    order = TopologicalSorter[str]()
    waiting = list(sql)
    while waiting:
        name = waiting.pop()
        needed = _named(name, sql[name])
        order.add(name, *needed)
        waiting += [one for one in needed if one not in sql]
        sql |= {one: RELATIONS[one] for one in needed}
    order.prepare()
    free: SimpleQueue[DuckDBPyConnection] = SimpleQueue()

    def one(name: str) -> str:
        connection = free.get()
        try:
            connection.execute(f"CREATE TABLE {name} AS {sql[name]}")
        finally:
            free.put(connection)
        return name

    with query.asked_at_once(database, AT_ONCE), ExitStack() as connections, ThreadPoolExecutor(AT_ONCE) as pool:
        free.put(database)
        for _ in range(1, AT_ONCE):
            free.put(connections.enter_context(query.beside(database, tables)))
        running = set[Future[str]]()
        while order.is_active():
            running |= {pool.submit(one, name) for name in order.get_ready()}
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            order.done(*(future.result() for future in ended))


def _named(name: str, sql: str) -> list[str]:
    """The relations that the query for one, or for something else, names."""
    before = takewhile(lambda one: one != name, RELATIONS)  # a step within the query may go by the name of one that stands behind it
    read = set(READ.findall(sql))
    return [one for one in before if one in read]
