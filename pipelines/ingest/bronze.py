"""Bronze: capture files to packets, packets to streams, streams to rows of the lake.

Only what describes segments is shuffled, brought together by flow; the task that owns a flow reads its octets in place.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.ingest.survey import Refused
from stompcap.capture import unreadable
from stompcap.capture.rotation import ranked as in_order
from stompcap.errors import EnvironmentProblem
from stompcap.lake import data_files, open_tables
from stompcap.lake.manifest import MANIFEST, collected, failed, shared
from stompcap.lake.open_state import OpenState
from stompcap.lake.places import location, open_files
from stompcap.progress import Meter, Progress, watched
from stompcap.spark import search, tasks
from stompcap.spark.blocks import DDL
from stompcap.spark.slices import Again
from stompcap.tasks.packing import FILE_OCTETS, LEAST_OCTETS, packed, tasks_to_read

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from stompcap.capture import Split, Survey
    from stompcap.lake.data_files import File
    from stompcap.lake.places import DataFile
    from stompcap.lake.removal import Streams
    from stompcap.options import Options
    from stompcap.spark.session import LazySession
    from stompcap.spark.slices import Slice

DEFLATED = 10  # what a compressed capture's octets are taken to stand for: its payload travels with its segments
OCTETS_PER_TASK = 128 * 1024 * 1024
SEGMENTS_PER_TASK = 1 << 20  # a task holds what describes them
CARRIED_PER_TASK = 1 << 28  # octets of payload that travel with their segments
TABLES = ("streams", "raw_frames", "segments", "stalls", "stream_state")


def is_new(found: Survey, known: Container[str]) -> bool:
    """Whether a capture brings anything the lake has not: another one that goes on has packets behind what is known."""
    return found.row["capture_id"] not in known and not (found.row["continues"] and not found.row["packets"])


def ranked(found: Iterable[Survey], known: Container[str]) -> list[Survey]:
    """The captures not seen before, each content once, in order (stompcap.capture.rotation)."""
    once = {one.row["capture_id"]: one for one in sorted(found, key=lambda s: str(s.row["path"]), reverse=True)}
    new = [one for one in once.values() if is_new(one, known)]
    rank = in_order(one.row for one in new).order
    return sorted(new, key=lambda one: rank[one.row["capture_id"]])


@dataclass(frozen=True)
class Before:
    """What a batch goes on from: the version of table stream_state and its files, and the captures of the source that the lake has."""

    version: int
    files: tuple[File, ...] = ()
    captures: tuple[dict[str, Any], ...] = ()
    streams_version: int | None = None
    """Of table streams, in which connections are found that are computed again; None for the latest."""

    overtaken: bool = False
    """Whether a batch of later captures has gone on with it first."""

    @property
    def last_ns(self) -> int:
        """The latest capture time of the source."""
        return max((row["last_ns"] or 0 for row in self.captures), default=0)


@dataclass(frozen=True)
class Recomputed:
    """Connections that the lake has, computed again: their rows go, and those that `chosen` segments of captures give come."""

    gone: Streams
    captures: Sequence[Survey]
    chosen: Slice

    def among(self, ranks: Ranks) -> Again:
        """What the tasks that read captures need to know."""
        return Again(frozenset(ranks.order[one.row["capture_id"]] for one in self.captures), self.chosen)


class SpoiltError(Exception):
    """Captures that were read again, at which a task failed, by id: why."""

    def __init__(self, why: Mapping[str, str]) -> None:
        super().__init__("; ".join(why.values()))
        self.why = why


def before(
    lake: str, options: Options, known: Iterable[dict[str, Any]], version: int | None = None, streams_version: int | None = None
) -> Before:
    """What a batch goes on from, given the captures that the lake has; versions of stream_state and streams: None for the latest."""
    where = location(lake, "stream_state")
    table = open_tables.table(where, version)
    files = [file for file in data_files.of(table) if file.name.startswith(open_files(options))]
    if streams_version is None:
        streams_version = open_tables.table(location(lake, "streams")).version()
    return Before(table.version(), tuple(files), tuple(row for row in known if row["source"] == options.source), streams_version)


class Ranks:
    """The captures of a batch and those before it, in one order (stompcap.capture.rotation)."""

    def __init__(self, captures: Sequence[Survey], past: Before) -> None:
        new = {one.row["capture_id"]: one for one in captures}
        found = in_order([*(row for row in past.captures if row["capture_id"] not in new), *(one.row for one in captures)])
        self.rows: Sequence[Mapping[str, Any]] = found.rows
        self.clocks = found.clocks
        self.order = found.order
        self.named = [(row["path"], row["capture_id"]) for row in found.rows]
        """Path and id by rank."""

        self.before = tuple(row["capture_id"] for row in in_order(past.captures).rows)
        """The ids of those before by the ranks that they had."""

        self.overtaken = past.overtaken

        self.splits = [(self.order[name], one, split) for name, one in new.items() for split in one.splits]
        self.now_ns = found.now_ns
        self.state = OpenState(past.files, self.order, [path for path, _ in self.named]) if past.files else OpenState((), {}, ())


def batch_of(captures: Iterable[Survey], source: str) -> str:
    """The name of a unit of work: a digest of the captures in it, so that a retry bears the same name."""
    ids = ",".join(sorted(one.row["capture_id"] for one in captures))
    return hashlib.sha256(f"{source}:{ids}".encode()).hexdigest()[:16]


def together(spark: SparkSession, ranks: Ranks, number: int, options: Options, meter: Meter, again: Again | None = None) -> DataFrame:
    """What describes the segments of all captures, in blocks, those of a flow in one partition; octets are left where they are."""
    parts = [(rank, split) for rank, _, split in ranks.splits]
    packs = [[parts[i] for i in pack] for pack in _packs(spark, [(one, split) for _, one, split in ranks.splits])]
    packs = packs or [[]]  # captures without packets: open streams go on
    work = tasks.Read(packs, ranks.state, number, options.vlan, options.tunnels, meter, again)
    return spark.range(0, len(work.packs), 1, len(work.packs)).mapInArrow(work, DDL).repartitionById(number, "task")


def _packs(spark: SparkSession, splits: Sequence[tuple[Survey, Split]]) -> list[list[int]]:
    """Which parts of captures each task reads, by index."""
    octets = [split.octets * (DEFLATED if one.row["compression"] else 1) for one, split in splits]
    return packed(octets, tasks_to_read(sum(octets) + len(octets) * FILE_OCTETS, spark.sparkContext.defaultParallelism))


def endpoints(session: LazySession, captures: Sequence[Survey], chosen: Slice, options: Options) -> pa.Array:
    """The endpoints, as SEGMENTS has them, of those chosen segments of captures that bring octets, or begin or end a connection."""
    spark, splits = session(), [(one, split) for one in captures for split in one.splits]
    packs = [[splits[i][1] for i in pack] for pack in _packs(spark, splits)]
    work = search.Search(packs, chosen, options.vlan, options.tunnels)
    rows = spark.range(0, len(packs), 1, len(packs)).mapInArrow(work, search.DDL).distinct().collect()
    return pa.array([bytes(row[0]) for row in rows], pa.binary())


def tasks_for(captures: Sequence[Survey], state: Sequence[File], cores: int) -> int:
    """Tasks that bring flows together: enough that each stays bounded, no more than cores where little is to be done."""
    before = DEFLATED * sum(file.size for file in state)
    octets = before + sum(split.octets * (DEFLATED if one.row["compression"] else 1) for one in captures for split in one.splits)
    segments: int = sum(file.rows for file in state) + sum(one.row["tcp_segments"] for one in captures)
    carried = before + sum(one.carried_octets for one in captures)
    bounded = max(-(-octets // OCTETS_PER_TASK), -(-segments // SEGMENTS_PER_TASK), -(-carried // CARRIED_PER_TASK))
    if bounded <= cores:
        return max(1, min(cores, -(-octets // LEAST_OCTETS)))
    return -(-bounded // cores) * cores


@dataclass(frozen=True)
class Extracted:
    """What was made of captures: the name of the batch, the captures in it, the files of its rows; and what could not be read.

    `lost`: flows, by their endpoints, whose saved state could not be taken up, and why: what came of them is another connection.
    `unread`: those with a connection that shows STOMP only now, and octets of it in captures that were not read again: these are a gap.
    `points` are pairs of captures, rows of table captures, that were taken at two points, first that which gives the rows; with the number
    of packets that both have.
    """

    batch: str
    captures: list[Survey]
    files: list[DataFile]
    refused: list[Refused]
    lost: Mapping[bytes, str] = field(default_factory=dict)
    unread: frozenset[bytes] = frozenset()
    points: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], int]] = ()


def extract(
    session: LazySession,
    lake: str,
    captures: Sequence[Survey],
    past: Before,
    options: Options,
    outputs: Sequence[str] = TABLES,
    progress: Progress | None = None,
    anew: Recomputed | None = None,
    name: str | None = None,
) -> Extracted:
    """Write the rows of a batch of captures, which goes on from `past`; files are returned, nothing is committed.

    `outputs` names the tables wanted: bronze alone, or silver and gold's per-session tables made in the same pass. Captures at which
    a task fails are left out, and the others done anew, until none fails. `anew`: connections that are computed again; SpoiltError is
    raised where a task fails at their captures. `name` of the batch, where captures do not give it one. A saved state that a task fails
    at is not used.
    """
    left, refused, lost = list(captures), list[Refused](), dict[bytes, str]()
    while left or anew:
        batch = name or batch_of(left, options.source)
        reading = [*left, *(anew.captures if anew else ())]
        ranks = Ranks(reading, past)
        again = anew.among(ranks) if anew else None
        manifest = _extract(session, lake, reading, ranks, batch, options, outputs, progress or Progress(), again, frozenset(lost))
        found = failed(manifest)
        failures = {ranks.named[rank][1] if rank >= 0 else "": why for rank, why in sorted(found.items())}
        new = found.lost.keys() - lost.keys()
        lost |= found.lost
        if not failures:
            points = [(ranks.rows[one], ranks.rows[two], packets) for (one, two), packets in shared(manifest).items()]
            return Extracted(batch, left, collected(manifest), refused, lost, frozenset(found.unread), points)
        if new and "" in failures:
            continue
        bad = [one for one in left if one.row["capture_id"] in failures]
        if anew and (spoilt := {one.row["capture_id"] for one in anew.captures} & failures.keys()):
            raise SpoiltError({name: failures[name] for name in spoilt})
        if not bad:
            [why, *_] = failures.values()
            raise EnvironmentProblem(f"{location(lake, 'stream_state')}: open connections cannot be gone on with: {why}")
        refused += [_refused(one.row, failures[one.row["capture_id"]]) for one in bad]
        left = [one for one in left if one not in bad]
    return Extracted("", [], [], refused, lost)


def _refused(row: dict[str, Any], why: str) -> Refused:
    """A capture at which a task failed; its file may be gone or another one by now, and then a row would be of no file."""
    found = unreadable(row["path"], row["source"], why)
    same = found is not None and found.row["capture_id"] == row["capture_id"]
    return Refused(row["path"], why, row["capture_id"], found.row if found is not None and same else None)


def _extract(
    session: LazySession,
    lake: str,
    captures: Sequence[Survey],
    ranks: Ranks,
    batch: str,
    options: Options,
    outputs: Sequence[str],
    progress: Progress,
    again: Again | None = None,
    unused: frozenset[bytes] = frozenset(),
) -> list[Row]:
    """The manifest of all tasks."""
    steps = _Steps(captures, progress)
    with watched(steps.report, here=session.local()) as meter:
        spark = session()
        number = tasks_for(captures, ranks.state.files, spark.sparkContext.defaultParallelism)
        work = tasks.Extract(
            lake, ranks.named, batch, options, tuple(outputs), ranks.now_ns, ranks.before, ranks.overtaken, meter, unused, ranks.clocks
        )
        return together(spark, ranks, number, options, meter, again).mapInArrow(work, MANIFEST).collect()


class _Steps:
    """How far the tasks are, in octets of the captures: first those whose packets are read, then the share of segments reassembled."""

    def __init__(self, captures: Sequence[Survey], progress: Progress) -> None:
        self._progress = progress
        self._octets = sum(split.octets for one in captures for split in one.splits)
        self._segments = max(1, sum(one.row["tcp_segments"] for one in captures))
        self._reading = True
        progress.begin("reading packets", self._octets)

    def report(self, meter: Meter) -> None:
        """Report how far the tasks are, by what they have counted."""
        read, done = meter.done("read"), meter.done("segments")
        if self._reading and (done or read >= self._octets):
            self._reading = False
            self._progress.begin("reassembling and decoding", self._octets)
        self._progress.reached(read if self._reading else self._octets * done // self._segments)
