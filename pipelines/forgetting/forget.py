"""Deletes connections from a lake: their rows in every table with a stream_id, and their share of the aggregates.

Each table is changed in one transaction. Tables streams and sessions, in which the connections are found, come last: if the command is
killed before that, the next one finds them again. Deleting twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.forgetting import remembered, retention
from pipelines.forgetting.criteria import parts, timeless
from pipelines.incidents import refresh as incidents
from pipelines.incidents.pace import Pace
from pipelines.ingest import ledger
from pipelines.ingest.unfinished import partly_in, unfinished
from pipelines.locking import lock
from pipelines.metrics import gold, journeys
from pipelines.metrics.aggregates import refresh
from stompcap import units
from stompcap.errors import EnvironmentProblem
from stompcap.lake import damage, data_files, delta_log, open_tables, other_writers, removal, replaced
from stompcap.lake import tables as lakes
from stompcap.lake.commits import SOURCE
from stompcap.lake.paths import location
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from pipelines.forgetting.criteria import Criteria
    from pipelines.job import Job

LAST = ("streams", "sessions")
"""The tables in which connections are found; one suffices if a killed command has changed only the other."""

FIRST = tuple(table.name for table in TABLES.values() if "stream_id" in table.arrow.names and table.name not in LAST)
KEYED = (*FIRST, *LAST)


@dataclass
class Forgotten:
    """How many connections meet the criteria, and how many rows of each table go with them."""

    connections: int = 0
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, table: str, rows: int) -> None:
        """Count deleted rows of a table."""
        if rows:
            self.rows[table] = self.rows.get(table, 0) + rows


def count(job: Job, criteria: Criteria) -> Forgotten:
    """What `forget` would delete; the lake is only read."""
    found = Forgotten()
    with open_tables.keep_open(job.lake):
        job.progress.begin("searching for connections")
        for streams in parts(job.lake, criteria):
            found.connections += len(streams.ids)
            for table in KEYED:
                job.progress.begin(f"counting rows of {table}")
                found.add(table, removal.count(job.lake, table, streams))
        for table, rows in retention.outdated(job.lake, criteria.only_time).items():
            found.add(table, rows)
    return found


def forget(job: Job, criteria: Criteria, wait_s: float = 0) -> Forgotten:
    """Delete the connections that meet the criteria, and record that in table runs; returns what was deleted.

    Raises LakeBusy; EnvironmentProblem if a killed run left a batch in some tables only, whose connections cannot all be found yet.
    """
    found = Forgotten()
    with _held(job, wait_s):
        _demand_whole(job.lake)
        with job.stage("forget", criteria.kinds) as rows:
            for streams in parts(job.lake, criteria):
                if criteria.before is None:  # what comes later is not before it
                    remembered.remember(job.lake, streams)
                _take_out(job, streams, found)
            _refresh(job)  # also if a killed command deleted all rows; and the log may be cut at the versions that it records
            for table, gone in retention.drop_outdated(job.lake, criteria.only_time, job.result.run_id).items():
                found.add(table, gone)
            if _made(job.lake, gold.INCIDENTS):  # last of all, as they name connections
                job.progress.begin("recomputing incidents")
                incidents.refresh(job.lake, [], job.result.run_id, Pace())
            rows.update({"connections": found.connections} | found.rows)
        retention.show_checks(job.lake)
    return found


def forget_later(job: Job) -> None:
    """Delete what a run has brought of connections that were open when they were forgotten."""
    streams, left = remembered.come_later(job.lake, job.options)
    if streams is not None:
        _take_out(job, streams, Forgotten())
    if left is not None:
        remembered.save(job.lake, left)


def _take_out(job: Job, streams: removal.Streams, found: Forgotten) -> None:
    """Delete all that is of some streams; counted."""
    found.connections += len(streams.ids)
    for table in FIRST:
        _remove(job, table, streams, found)
    retention.clear_examples(job.lake, streams, job.result.run_id)
    _refresh(job)
    for table in LAST:
        _remove(job, table, streams, found)


@contextmanager
def _held(job: Job, wait_s: float) -> Iterator[None]:
    """Lock the lake, and add the tables and columns that it lacks because an older version made it."""
    lakes.demand(job.lake)
    with open_tables.keep_open(job.lake), lock.held(job.lake, wait_s, job.progress):
        for name in TABLES:  # files that runs have replaced go first, for the disk may be full
            if open_tables.is_there(location(job.lake, name)):
                replaced.drop(job.lake, name)
        lakes.create(job.lake)
        lakes.bring_up(job.lake)
        damage.demand_whole(job.lake)
        other_writers.take_out_open_rows(job.lake)
        yield


def _demand_whole(lake: str) -> None:
    """Raise EnvironmentProblem if a batch is in some tables only: finishing it later would add rows of deleted connections."""
    for batch in unfinished(lake):
        if partly_in(lake, batch):
            says = f"{lake}: run {batch.run_id} was killed while it committed {', '.join(batch.files)}"
            raise EnvironmentProblem(f"{says}; finish it first, with any stompcap run CAPTURE... --lake {lake}, then forget")


def _remove(job: Job, table: str, streams: removal.Streams, found: Forgotten) -> None:
    """Delete the rows of streams from a table."""
    job.progress.begin(f"deleting rows of {table}")
    found.add(table, removal.remove(job.spark, job.lake, table, streams, job.result.run_id))


def _refresh(job: Job) -> None:
    """Recompute the aggregates without the deleted rows."""
    if _made(job.lake, gold.JOURNEYS):
        job.progress.begin("recomputing journeys")
        journeys.refresh(job.lake, [], job.result.run_id, job.spark)
    for one in gold.AGGREGATES:
        if _made(job.lake, one.name):
            job.progress.begin(f"recomputing {one.name}")
            refresh(job.lake, one, [], job.result.run_id, job.spark)


def _made(lake: str, table: str) -> bool:
    """Whether the stage metrics has made a table of figures; if not, it is not made here."""
    delta: Any = open_tables.table(location(lake, table))
    return bool(data_files.of(delta)) or any(name.startswith(SOURCE) for name in delta_log.transactions(delta))


def warnings(lake: str, criteria: Criteria) -> list[str]:
    """Warnings of connections that the criteria cannot find: those without a session, whose login is unknown, and those without times."""
    found = []
    if criteria.login is not None and ledger.pending(lake, ["sessions"]):
        says = "captures that have not been through correlate have no logins yet"
        found.append(f"{says}; run stompcap decode and correlate, then forget again")
    if some := timeless(lake, criteria):
        which = "1 connection of unknown time stays" if some == 1 else f"{units.count(some)} connections of unknown time stay"
        found.append(f"{which}, as the captures have no times: --client, --login and --stream find such connections")
    return found
