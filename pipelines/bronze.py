"""Bronze: capture files to packets, packets to streams, streams to rows of the lake.

Only what describes segments is shuffled, brought together by flow; the task that owns a flow reads its octets in place.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.survey import Refused
from stompcap.capture import unreadable
from stompcap.progress import Meter, Progress, watched
from stompcap.spark import tasks
from stompcap.spark.blocks import DDL
from stompcap.spark.packing import FILE_OCTETS, LEAST_OCTETS, packed, tasks_to_read
from stompcap.spark.sink import MANIFEST, collected, failed

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from stompcap.capture import Survey
    from stompcap.options import Options
    from stompcap.spark.places import DataFile
    from stompcap.spark.session import LazySession

DEFLATED = 10  # what a compressed capture's octets are taken to stand for: its payload travels with its segments
OCTETS_PER_TASK = 128 * 1024 * 1024
SEGMENTS_PER_TASK = 1 << 20  # a task holds what describes them
CARRIED_PER_TASK = 1 << 28  # octets of payload that travel with their segments
TABLES = ("streams", "raw_frames", "segments", "stalls")


def is_new(found: Survey, known: Container[str]) -> bool:
    """Whether a capture brings anything the lake has not: another one that goes on has packets behind what is known."""
    return found.row["capture_id"] not in known and not (found.row["continues"] and not found.row["packets"])


def ranked(found: Iterable[Survey], known: Container[str]) -> list[Survey]:
    """The captures not seen before, each content once, in wire order: by first packet, then id."""
    once = {one.row["capture_id"]: one for one in sorted(found, key=lambda s: str(s.row["path"]), reverse=True)}
    new = [one for one in once.values() if is_new(one, known)]
    return sorted(new, key=lambda s: (s.row["first_ns"] is None, s.row["first_ns"] or 0, s.row["capture_id"]))


def batch_of(captures: Iterable[Survey], source: str) -> str:
    """The name of a unit of work: a digest of the captures in it, so that a retry bears the same name."""
    ids = ",".join(sorted(one.row["capture_id"] for one in captures))
    return hashlib.sha256(f"{source}:{ids}".encode()).hexdigest()[:16]


def together(spark: SparkSession, captures: Sequence[Survey], number: int, options: Options, meter: Meter) -> DataFrame:
    """What describes the segments of all captures, in blocks, those of a flow in one partition; octets are left where they are."""
    parts = [(rank, split) for rank, one in enumerate(captures) for split in one.splits]
    octets = [part.octets * (DEFLATED if captures[rank].row["compression"] else 1) for rank, part in parts]
    reading = tasks_to_read(sum(octets) + len(parts) * FILE_OCTETS, spark.sparkContext.defaultParallelism)
    work = tasks.Read([[parts[i] for i in pack] for pack in packed(octets, reading)], number, options.vlan, options.tunnels, meter)
    return spark.range(0, len(work.packs), 1, len(work.packs)).mapInArrow(work, DDL).repartitionById(number, "task")


def tasks_for(captures: Sequence[Survey], cores: int) -> int:
    """Tasks that bring flows together: enough that each stays bounded, no more than cores where little is to be done."""
    octets = sum(split.octets * (DEFLATED if one.row["compression"] else 1) for one in captures for split in one.splits)
    segments: int = sum(one.row["tcp_segments"] for one in captures)
    carried = sum(one.carried_octets for one in captures)
    bounded = max(-(-octets // OCTETS_PER_TASK), -(-segments // SEGMENTS_PER_TASK), -(-carried // CARRIED_PER_TASK))
    if bounded <= cores:
        return max(1, min(cores, -(-octets // LEAST_OCTETS)))
    return -(-bounded // cores) * cores


@dataclass(frozen=True)
class Extracted:
    """What was made of captures: the name of the batch, the captures in it, the files of its rows; and what could not be read."""

    batch: str
    captures: list[Survey]
    files: list[DataFile]
    refused: list[Refused]


def extract(
    session: LazySession,
    lake: str,
    captures: Sequence[Survey],
    options: Options,
    outputs: Sequence[str] = TABLES,
    progress: Progress | None = None,
) -> Extracted:
    """Write the rows of a batch of captures; files are returned, nothing is committed.

    `outputs` names the tables wanted: bronze alone, or silver and gold's per-session tables made in the same pass. Captures at which
    a task fails are left out, and the others done anew, until none fails.
    """
    left, refused = list(captures), list[Refused]()
    while left:
        batch = batch_of(left, options.source)
        manifest = _extract(session, lake, left, batch, options, outputs, progress or Progress())
        failures = failed(manifest)
        if not failures:
            return Extracted(batch, left, collected(manifest), refused)
        refused += [_refused(left[rank].row, why) for rank, why in sorted(failures.items())]
        left = [one for rank, one in enumerate(left) if rank not in failures]
    return Extracted("", [], [], refused)


def _refused(row: dict[str, Any], why: str) -> Refused:
    """A capture at which a task failed; its file may be gone or another one by now, and then a row would be of no file."""
    found = unreadable(row["path"], row["source"], why)
    same = found is not None and found.row["capture_id"] == row["capture_id"]
    return Refused(row["path"], why, row["capture_id"], found.row if found is not None and same else None)


def _extract(
    session: LazySession, lake: str, captures: Sequence[Survey], batch: str, options: Options, outputs: Sequence[str], progress: Progress
) -> list[Row]:
    """The manifest of all tasks."""
    named = [(one.row["path"], one.row["capture_id"]) for one in captures]
    steps = _Steps(captures, progress)
    with watched(steps.report, here=session.local()) as meter:
        spark = session()
        number = tasks_for(captures, spark.sparkContext.defaultParallelism)
        work = tasks.Extract(lake, named, batch, options, tuple(outputs), meter)
        return together(spark, captures, number, options, meter).mapInArrow(work, MANIFEST).collect()


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
