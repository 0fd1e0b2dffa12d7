"""The stage extract: capture files to packets, packets to streams, streams to rows of the lake.

Only what describes segments is shuffled, so that those of a flow come together; the task that owns a flow reads its octets in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.ingest import silver
from pipelines.ingest.ranks import Ranks, batch_name
from pipelines.metrics import gold
from pipelines.result import Refused
from stompcap.capture import unreadable
from stompcap.errors import EnvironmentProblem
from stompcap.lake.manifest import MANIFEST, collected, computed_again, failed, shared
from stompcap.lake.open_rows import NONE
from stompcap.lake.paths import location
from stompcap.progress import Meter, Progress, watched
from stompcap.quality import prepare as prepare_validation
from stompcap.spark.blocks import DDL
from stompcap.spark.master import planned_cores
from stompcap.spark.slices import Reread
from stompcap.spark.workers import search
from stompcap.spark.workers.extract import Extract
from stompcap.spark.workers.read import Read
from stompcap.tasks.packing import FILE_OCTETS, LEAST_OCTETS, Packs, packed, tasks_to_read
from stompcap.tcp.flows import HELD_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from pipelines.ingest.baseline import Baseline
    from pipelines.job import Job
    from stompcap.capture import Split, Survey
    from stompcap.lake.open_state import OpenState
    from stompcap.lake.paths import DataFile
    from stompcap.lake.removal import Streams
    from stompcap.spark.slices import Slice

DEFLATED = 10  # what a compressed capture's octets are taken to stand for: its payload travels with its segments
OCTETS_PER_TASK = 128 * 1024 * 1024
SEGMENTS_PER_TASK = HELD_ROWS * 7 // 8  # flows fall unevenly, and a task that gets more than it holds spills them
CARRIED_PER_TASK = 1 << 28  # octets of payload that travel with their segments
TABLES = ("streams", "raw_frames", "segments", "stalls", "transports", "transport_events", "stream_state")


@dataclass(frozen=True)
class Recomputed:
    """Connections of the lake that a batch computes again from their captures."""

    removed: Streams
    """Their streams, whose rows leave the lake with the commits of the batch."""

    captures: Sequence[Survey]
    """The captures that are read again for them."""

    segments: Slice
    """Which segments of these captures count."""

    def reread(self, ranks: Ranks) -> Reread:
        """What the tasks that read captures need to know of them."""
        return Reread(frozenset(ranks.order[one.row["capture_id"]] for one in self.captures), self.segments)


class RereadError(Exception):
    """A task failed at captures that were read again; `why` says of each, by id, at what."""

    def __init__(self, why: Mapping[str, str]) -> None:
        super().__init__("; ".join(why.values()))
        self.why = why


@dataclass(frozen=True)
class Extracted:
    """What was made of the captures of a batch. Nothing of it is committed yet."""

    batch: str
    """The name of the batch."""

    captures: list[Survey]
    """The captures in it."""

    files: list[DataFile]
    """The files of its rows."""

    refused: list[Refused]
    """What could not be read."""

    unresumed: Mapping[bytes, str] = field(default_factory=dict)
    """Flows, by their endpoints, whose saved state could not be gone on with, and why: what came of them is another connection."""

    recognised_late: frozenset[bytes] = frozenset()
    """The endpoints of flows with a connection that shows STOMP only now. Its octets before that were not kept, and are a gap."""

    points: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], int]] = ()
    """Pairs of captures, rows of table captures, that were taken at two points, with the number of packets that both have.

    The first of a pair is the one whose packets give the rows.
    """

    again: pa.Array = field(default_factory=lambda: NONE)
    """The open streams that were computed again, as packets came for their flows."""

    over: pa.Array = field(default_factory=lambda: NONE)
    """Those that ended without a packet: they were silent for the idle timeout, or had closed."""

    late: frozenset[str] = frozenset()
    """The ids of captures in it that come before some that the lake has."""


def outputs(job: Job, *, whole: bool) -> tuple[str, ...]:
    """The tables that are made in one pass; returns when what it takes is at hand.

    `whole`: silver and each session's metrics too.
    """
    job.progress.begin("starting Spark")
    job.spark()
    return TABLES + ((*silver.TABLES, *gold.SESSION_TABLES) if whole else ())


def extract(
    job: Job,
    captures: Sequence[Survey],
    baseline: Baseline,
    outputs: Sequence[str],
    recomputed: Recomputed | None = None,
    name: str | None = None,
) -> Extracted:
    """Write the rows of a batch of captures, which goes on from `baseline`; files are returned, nothing is committed.

    `outputs` names the tables wanted: bronze alone, or also those of silver and gold that are made in the same pass. `name` of the batch,
    where captures do not give it one. Captures at which a task fails are left out, and the others are extracted once more, until no
    task fails. A saved state that a task fails at is not used. Raises RereadError where a task fails at captures of `recomputed`.
    """
    left, refused, unresumed = list(captures), list[Refused](), dict[bytes, str]()
    while left or recomputed:
        batch = name or batch_name(left, job.options.source)
        reading = [*left, *(recomputed.captures if recomputed else ())]
        ranks = Ranks(reading, baseline)
        reread = recomputed.reread(ranks) if recomputed else None
        manifest = _manifest(job, reading, ranks, batch, outputs, reread, frozenset(unresumed))
        found = failed(manifest)
        failures = {ranks.name(rank) if rank >= 0 else "": why for rank, why in sorted(found.items())}
        new = found.unresumed.keys() - unresumed.keys()
        unresumed |= found.unresumed
        if not failures:
            points = [(ranks.row(one), ranks.row(two), packets) for (one, two), packets in shared(manifest).items()]
            again = computed_again(manifest)
            over = ranks.over(again, job.options.idle_ns)
            late = ranks.late.intersection(one.row["capture_id"] for one in left)
            stomp_late = frozenset(found.recognised_late)
            return Extracted(batch, left, collected(manifest), refused, unresumed, stomp_late, points, again, over, late)
        if new and "" in failures:
            continue
        bad = [one for one in left if one.row["capture_id"] in failures]
        if recomputed and (failing := {one.row["capture_id"] for one in recomputed.captures} & failures.keys()):
            raise RereadError({name: failures[name] for name in failing})
        if not bad:
            [why, *_] = failures.values()
            raise EnvironmentProblem(f"{location(job.lake, 'stream_state')}: open connections cannot be gone on with: {why}")
        refused += [_refused(one.row, failures[one.row["capture_id"]]) for one in bad]
        left = [one for one in left if one not in bad]
    return Extracted("", [], [], refused, unresumed)


def _refused(row: dict[str, Any], why: str) -> Refused:
    """A capture at which a task failed; its file may be gone or another one by now, and then a row would be of no file."""
    found = unreadable(row["path"], row["source"], why)
    same = found is not None and found.row["capture_id"] == row["capture_id"]
    return Refused(row["path"], why, row["capture_id"], found.row if found is not None and same else None)


def _manifest(
    job: Job, captures: Sequence[Survey], ranks: Ranks, batch: str, outputs: Sequence[str], reread: Reread | None, unused: frozenset[bytes]
) -> list[Row]:
    """What all tasks report; `unused` are the endpoints of flows whose saved states are left alone."""
    steps = _Steps(captures, job.progress)
    with watched(steps.report, here=job.spark.local()) as meter:
        spark = job.spark()
        number = tasks_for(captures, ranks.state, planned_cores(spark))
        read = Read(Packs(_packs_of(spark, ranks)), number, job.options.vlan, job.options.tunnels, meter, reread)
        with ranks.told(spark) as told:
            task = Extract(
                job.lake, told, batch, job.keyed, tuple(outputs), ranks.now_ns, ranks.superseded, meter, unused,
                replace(ranks.state, captures=told), reread, number,
            )  # fmt: skip
            manifest = _by_flow(spark, read).mapInArrow(task, MANIFEST)
            if {*outputs}.issuperset(gold.SESSION_TABLES):
                prepare_validation()  # not before: it would keep the interpreter from its share of Spark's start
            return manifest.collect()


def _by_flow(spark: SparkSession, read: Read) -> DataFrame:
    """What describes the segments of all captures, in blocks, those of a flow in one partition; octets are left where they are."""
    return spark.range(0, len(read.packs), 1, len(read.packs)).mapInArrow(read, DDL).repartitionById(read.tasks, "task")


def _packs_of(spark: SparkSession, ranks: Ranks) -> list[list[tuple[int, Split]]]:
    """Which parts of which captures, by rank, each task reads; one task without any where only open streams are gone on with."""
    parts = [(rank, split) for rank, _, split in ranks.splits]
    return [[parts[i] for i in pack] for pack in _packs(spark, [(one, split) for _, one, split in ranks.splits])] or [[]]


def _packs(spark: SparkSession, splits: Sequence[tuple[Survey, Split]]) -> list[list[int]]:
    """Which parts of captures each task reads, by index."""
    octets = [split.octets * (DEFLATED if one.row["compression"] else 1) for one, split in splits]
    return packed(octets, tasks_to_read(sum(octets) + len(octets) * FILE_OCTETS, planned_cores(spark)))


def endpoints(job: Job, captures: Sequence[Survey], segments: Slice) -> pa.Array:
    """The endpoints, as SEGMENTS has them, of those segments of captures that bring octets, or begin or end a connection."""
    spark, splits = job.spark(), [(one, split) for one in captures for split in one.splits]
    packs = Packs([splits[i][1] for i in pack] for pack in _packs(spark, splits))
    task = search.Search(packs, segments, job.options.vlan, job.options.tunnels)
    rows = spark.range(0, len(packs), 1, len(packs)).mapInArrow(task, search.DDL).distinct().collect()
    return pa.array([bytes(row[0]) for row in rows], pa.binary())


def tasks_for(captures: Sequence[Survey], state: OpenState, cores: int) -> int:
    """Tasks that bring flows together: enough that each stays bounded, no more than cores where little is to be done.

    Without cores (stompcap.spark.master) their number follows the octets alone.
    """
    new: int = sum(one.row["tcp_segments"] for one in captures)
    held = sum(file.rows for file in state.files)
    left: int = held if len(state.always) else min(new, held)  # a segment goes on with one flow
    of_state = DEFLATED * sum(file.size for file in state.files) * left // max(held, 1)
    octets = of_state + sum(split.octets * (DEFLATED if one.row["compression"] else 1) for one in captures for split in one.splits)
    segments = left + new
    carried = of_state + sum(one.carried_octets for one in captures)
    bounded = max(-(-octets // OCTETS_PER_TASK), -(-segments // SEGMENTS_PER_TASK), -(-carried // CARRIED_PER_TASK))
    if not cores:
        return max(1, bounded)
    if bounded <= cores:
        return max(1, min(cores, -(-octets // LEAST_OCTETS)))
    return -(-bounded // cores) * cores


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
