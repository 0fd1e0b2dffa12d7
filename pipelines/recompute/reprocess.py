"""Computes connections of the lake again from their captures: all of a source, or those that criteria select.

Connections of a group (`pipelines.recompute.connection_groups`) are computed together; a group stays as it is unless all of its captures
are there. What is computed again is a batch of its own: one commit per table replaces the old rows by the new ones. Memory does not
grow with the number of connections: many connections are computed in shares of their flows, one share after the other.
"""

# ruff: noqa: S608  the SQL consists of our own names and of numbers; words of people are in tables

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest import ledger
from pipelines.ingest.baseline import Baseline, baseline
from pipelines.ingest.extract import Recomputed, RereadError, extract, outputs
from pipelines.ingest.unfinished import Unfinished, begin, partly_in, taken_back
from pipelines.metrics.aggregates import refresh_all
from pipelines.recompute import connection_groups, old_captures
from stompcap.errors import UsageError
from stompcap.lake import data_files, open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.batch_options import from_json
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location
from stompcap.lake.query import all_files, opened
from stompcap.lake.removal import Streams
from stompcap.spark.slices import Share
from stompcap.tables import TABLES
from stompcap.units import count

if TYPE_CHECKING:
    from pipelines.job import Job
    from pipelines.recompute.connection_groups import Connections
    from pipelines.recompute.old_captures import OldCaptures

KEYED = tuple(table.name for table in TABLES.values() if "stream_id" in table.arrow.names)
AT_ONCE = 1 << 20
"""Connections that are computed again at once; each takes some hundred octets of memory."""


@dataclass(frozen=True)
class Wanted:
    """Selects connections: those with some ids, those that overlap a time (its end not included), those of some captures.

    All that is given must hold; without any it is all of the source.
    """

    streams: tuple[str, ...] = ()
    since_ns: int | None = None
    until_ns: int | None = None
    captures: tuple[str, ...] = ()

    @staticmethod
    def of(values: Mapping[str, Any]) -> Wanted:
        """The criteria, from the record that JSON gave back."""
        return Wanted(tuple(values["streams"]), values["since_ns"], values["until_ns"], tuple(values["captures"]))

    @property
    def kinds(self) -> list[str]:
        """The names of the criteria that are given, without their values."""
        values = {"stream": self.streams, "from": self.since_ns, "to": self.until_ns, "captures": self.captures}
        return [name for name, value in values.items() if value not in (None, ())]

    @property
    def sql(self) -> str:
        """Whether a row of table streams is one of them, as SQL over the tables `named`, `with_stomp` and `times`."""
        terms = ["true"]
        if self.streams:
            terms.append("stream_id IN (SELECT stream_id FROM named)")
        if self.since_ns is not None:
            terms.append(f"last_ns >= {self.since_ns}")
        if self.until_ns is not None:
            terms.append(f"first_ns < {self.until_ns}")
        if self.captures:
            during = "EXISTS (SELECT 1 FROM times WHERE first_ns <= times.until AND last_ns >= times.since)"
            terms.append(f"(stream_id IN (SELECT stream_id FROM with_stomp WHERE capture_id IN (SELECT capture_id FROM times)) "
                         f"OR protocol <> 'stomp' AND {during})")  # fmt: skip
        return " AND ".join(terms)


def reprocess(job: Job, wanted: Wanted) -> None:
    """Compute connections again, and bring the tables that sum them up to date."""
    known = ledger.known(job.lake)
    captures = old_captures.of_source(job, known)
    if not captures.rows:
        job.result.warnings.append(f"no captures of source {job.options.source} in the lake: nothing to compute again")
        return
    inputs = wanted.kinds or sorted({row[name] for row in captures.rows for name in ("capture_id", "batch_id")})
    with job.stage("reprocess", inputs, within=("extract", "decode", "correlate", "metrics")) as rows:
        tables = {"streams": all_files(job.lake, "streams"), "sources": connection_groups.named(job.options.source)}
        connections = connection_groups.count(tables)
        parts = max(1, -(-connections // AT_ONCE))
        for number in range(parts):
            before = baseline(job.lake, job.options)
            _Part(job, wanted, Share(number, parts), captures, before).make(rows)


def finish(job: Job, batch: Unfinished) -> None:
    """Finish the commits of a run that was killed; if it had committed nothing yet, there is nothing to do."""
    partly = partly_in(job.lake, batch)
    known = ledger.known(job.lake)
    if partly and batch.slice is not None:
        which = json.loads(batch.slice)
        names = {capture["capture_id"] for capture in batch.reread}
        captures = old_captures.of_source(job, known, names)
        needed = [row for row in captures.rows if row["capture_id"] in names]
        captures.examine(needed)
        if missing := captures.missing(needed):
            if left := taken_back(job.lake, batch, job.result.run_id):
                says = f"was killed while it committed, and only {', '.join(left)} have its rows; to finish it, put these files back"
                job.result.warnings.append(f"run {batch.run_id} {says}: {captures.reasons(missing)}")
            else:
                lakes.commit(job.lake, "captures", [], [batch.batch_id], job.result.run_id)
            return
        job.result.warnings.append(f"run {batch.run_id} was killed while it committed: what it had begun is finished first")
        before = baseline(job.lake, batch.options, batch.state_version, batch.streams_version, batch.raw_version)
        share, wanted = Share(which["number"], which["of"]), Wanted.of(which["wanted"])
        _Part(job, wanted, share, captures, before, which["everything"], which["segments"]).make({}, batch.batch_id)
        return
    lakes.commit(job.lake, "captures", [], [batch.batch_id], job.result.run_id)


class _Part:
    """A share of the connections that are computed again, as one batch."""

    def __init__(
        self, job: Job, wanted: Wanted, share: Share, captures: OldCaptures, before: Baseline, everything: bool | None = None,
        segments_version: int | None = None,
    ) -> None:
        """`everything`: all flows of the share, also new ones; None to find out whether that may be. None: the latest table segments."""
        self.job, self.wanted, self.share, self.captures, self.before = job, wanted, share, captures, before
        self.everything = not wanted.kinds and not _forgotten(job.lake) if everything is None else everything
        latest = open_tables.table(location(job.lake, "segments")).version
        self.segments_version = latest() if segments_version is None else segments_version

    def make(self, rows: dict[str, int], batch: str | None = None) -> None:
        """Extract the batch and commit it; `rows` get how many rows were added. `batch`: its name, where a killed run had begun it."""
        job = self.job
        job.progress.begin("searching for connections")
        found = self._find()
        if self.wanted.kinds and not len(found):
            return
        name = batch or hashlib.sha256(f"{job.result.run_id}:{self.share.number}".encode()).hexdigest()[:16]
        tables = outputs(job, whole=True)
        recomputed, left = self._computable(found)
        while recomputed is not None:
            try:
                made = extract(job, [], Baseline(self.before.version, (), self.before.captures), tables, recomputed, name)
                break
            except RereadError as error:  # captures at which a task fails count as gone, so that less is computed again
                if batch is not None:
                    raise
                self.captures.exclude(error.why)
                recomputed, left = self._computable(found)
        self._warn(left)
        if recomputed is None:
            return
        which = {"wanted": asdict(self.wanted), "everything": self.everything, "segments": self.segments_version} | asdict(self.share)
        begin(job, name, [], self.before, recomputed.captures, json.dumps(which))
        job.commit(made.files, name, rows, tables, removed=recomputed.removed)
        refresh_all(job, [name], rows)
        lakes.commit(job.lake, "captures", [], [name], job.result.run_id)

    def _find(self) -> Connections:
        """The connections wanted, and those that must be computed together with them."""
        lake, source, wanted = self.job.lake, self.job.options.source, self.wanted
        named = [row for row in self.captures.rows if row["capture_id"] in wanted.captures and row["first_ns"] is not None]
        times = {"capture_id": "capture_id", "since": "first_ns", "until": "last_ns"}
        tables: dict[str, Files | pa.Table] = {
            "streams": Files.of("streams", data_files.of(open_tables.table(location(lake, "streams"), self.before.streams_version))),
            "sources": connection_groups.named(source),
            "named": pa.table({"stream_id": pa.array(wanted.streams, pa.string())}),
            "with_stomp": _segments(lake, self.segments_version, named),
            "times": pa.table({
                name: pa.array([row[column] for row in named], pa.string() if name == "capture_id" else pa.int64())
                for name, column in times.items()
            }),
        }  # fmt: skip
        return connection_groups.together(tables, wanted.sql, self.job.options.idle_ns, share=self.share.sql)

    def _computable(self, found: Connections) -> tuple[Recomputed | None, Connections]:
        """Split the connections found: what is computed again, if anything, and those that stay as they are."""
        captures = self.captures
        needed = captures.rows if self.everything else found.overlapping(captures.rows)
        captures.examine(needed)
        missing = captures.missing(needed)
        can, left = found.split(missing)
        self.everything = self.everything and not missing
        if self.everything:
            return Recomputed(self._with_orphans(can.streams), captures.surveys(needed), self.share), left
        if not len(can):
            return None, left
        self._demand_alike(can)
        return Recomputed(can.streams, captures.surveys(can.overlapping(captures.rows)), can.segments), left

    def _with_orphans(self, streams: Streams) -> Streams:
        """Streams, and those that other tables have rows of and table streams has not, as a damaged one: all of them are computed again."""
        if self.share.number:
            return streams
        found = orphans(self.job.lake, self.job.options.source, self.before.streams_version)
        return Streams(pa.concat_arrays([streams.ids.cast(pa.string()), found]).unique().sort(), None) if len(found) else streams

    def _warn(self, left: Connections) -> None:
        """Report the connections that stay as they are."""
        if len(left):
            missing = self.captures.missing(left.overlapping(self.captures.rows))
            says = f"{count(len(left))} connection{'s stay as they are' if len(left) > 1 else ' stays as it is'}"
            self.job.result.warnings.append(f"{says}, as captures that they need cannot be read: {self.captures.reasons(missing)}")

    def _demand_alike(self, found: Connections) -> None:
        """Raise UsageError if other options for tunnels found the connections: their endpoints do not select the same segments then."""
        batches = set(pc.unique(found.rows.column("batch_id")).to_pylist())
        rows = lakes.small(self.job.lake, "batches", ["batch_id", "options"]).to_pylist()
        if any(from_json(row["options"]).tunnels != self.job.options.tunnels for row in rows if row["batch_id"] in batches):
            says = "some of these connections were read with the other of --tunnels and --no-tunnels, which decides what they are"
            raise UsageError(f"{says}; name another --lake, or reprocess all of the source with all its captures in place")


def orphans(lake: str, source: str, streams_version: int | None) -> pa.Array:
    """The ids of streams of which table streams has no row and another table has, but for those whose captures are another source's."""
    streams = data_files.of(open_tables.table(location(lake, "streams"), streams_version))
    tables = {table: all_files(lake, table) for table in KEYED if table != "streams"}
    tables = {table: files for table, files in tables.items() if files.uris}
    if not tables:
        return pa.array([], pa.string())
    either = " UNION ALL ".join(f"SELECT stream_id FROM {table}" for table in tables)
    sql = f"""
    SELECT DISTINCT stream_id FROM ({either}) held WHERE stream_id NOT IN (SELECT stream_id FROM streams)
    AND stream_id NOT IN (SELECT stream_id FROM segments WHERE capture_id IN (SELECT capture_id FROM captures WHERE source NOT IN
                          (SELECT source FROM sources)))"""
    more = {"streams": Files.of("streams", streams), "segments": all_files(lake, "segments"), "captures": all_files(lake, "captures"),
            "sources": connection_groups.named(source)}  # fmt: skip
    with opened(tables | more) as database:
        return database.sql(sql).to_arrow_table().column("stream_id").combine_chunks().cast(pa.string())


def _segments(lake: str, version: int, captures: Sequence[Any]) -> Files:
    """The files of table segments that may have rows of captures, by time."""
    if not captures:
        return Files("segments", ())
    held = data_files.of(open_tables.table(location(lake, "segments"), version), ["ts_ns"])
    times = [(row["first_ns"], row["last_ns"] + 1) for row in captures]
    return Files.of("segments", data_files.overlapping(held, ["ts_ns"], times, timeless=any(begin == 0 for begin, _ in times)))


def _forgotten(lake: str) -> bool:
    """Whether connections were forgotten: their rows must not come back from captures."""
    return "forget" in lakes.small(lake, "runs", ["stage"]).column("stage").to_pylist()
