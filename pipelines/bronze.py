"""Bronze: capture files to packets, packets to streams, streams to rows of the lake.

Only what describes segments is shuffled, brought together by flow; the task that owns a flow reads its octets in place.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stompcap.capture import Known, Survey
from stompcap.capture.find import sizes
from stompcap.errors import CaptureError
from stompcap.spark import tasks
from stompcap.spark.blocks import DDL
from stompcap.spark.packing import FILE_OCTETS, LEAST_OCTETS, packed, tasks_to_read
from stompcap.spark.sink import MANIFEST, collected

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from stompcap.options import Options
    from stompcap.spark.lake import DataFile

DEFLATED = 10  # what a compressed capture's octets are taken to stand for: its payload travels with its segments
OCTETS_PER_TASK = 128 * 1024 * 1024
SEGMENTS_PER_TASK = 1 << 20  # a task holds what describes them
CARRIED_PER_TASK = 1 << 28  # octets of payload that travel with their segments
TABLES = ("streams", "raw_frames", "segments", "stalls")


@dataclass(frozen=True)
class Refused:
    """A named input that could not be read, and why."""

    path: str
    remedy: str


@dataclass(frozen=True)
class Surveyed:
    """What a look at the files found: captures, empty files, files refused."""

    captures: list[Survey]
    empty: list[str]
    refused: list[Refused]


def survey(spark: SparkSession, paths: Sequence[str], options: Options, known: Iterable[dict[str, Any]] = ()) -> Surveyed:
    """Look at every file once: digest, format, counts, times, and the parts to read it in.

    `known` are rows of table captures: a file that begins as one of the same source and name did goes on from there.
    """
    beginnings = defaultdict(list)
    for row in known:
        if row["source"] == options.source and row["compression"] is None and row["used_octets"]:
            beginnings[_name(row["path"])].append(Known(row["capture_id"], row["used_octets"], row["used_sha256"]))
    octets = sizes(paths)
    packs = packed(octets, tasks_to_read(sum(octets) + len(paths) * FILE_OCTETS, spark.sparkContext.defaultParallelism))
    named = [[(paths[i], beginnings[_name(paths[i])]) for i in pack] for pack in packs]
    work = tasks.Survey(named, options.source, options.split_octets, options.tunnels, options.max_decompressed)
    rows = spark.range(0, len(packs), 1, len(packs)).mapInArrow(work, "found BINARY").collect()
    answers = sorted((pickle.loads(row["found"]) for row in rows), key=lambda answer: answer[0])  # noqa: S301  our own tasks' words
    return Surveyed(
        [found for _, found in answers if isinstance(found, Survey)],
        [path for path, found in answers if found is None],
        [Refused(found.path, found.remedy) for _, found in answers if isinstance(found, CaptureError)],
    )


def _name(path: str) -> str:
    """The last part of a path: a growing file may be named by another way to its folder."""
    return path.rstrip("/").rsplit("/", 1)[-1]


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


def together(spark: SparkSession, captures: Sequence[Survey], number: int, options: Options) -> DataFrame:
    """What describes the segments of all captures, in blocks, those of a flow in one partition; octets are left where they are."""
    parts = [(rank, split) for rank, one in enumerate(captures) for split in one.splits]
    octets = [part.octets * (DEFLATED if captures[rank].row["compression"] else 1) for rank, part in parts]
    reading = tasks_to_read(sum(octets) + len(parts) * FILE_OCTETS, spark.sparkContext.defaultParallelism)
    work = tasks.Read([[parts[i] for i in pack] for pack in packed(octets, reading)], number, options.vlan, options.tunnels)
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


def extract(
    spark: SparkSession,
    lake: str,
    captures: Sequence[Survey],
    batch_id: str,
    options: Options,
    outputs: Sequence[str] = TABLES,
) -> list[DataFile]:
    """Write the rows of a batch of captures; files are returned, nothing is committed.

    `outputs` names the tables wanted: bronze alone, or silver and gold's per-session tables made in the same pass.
    """
    number = tasks_for(captures, spark.sparkContext.defaultParallelism)
    named = [(one.row["path"], one.row["capture_id"]) for one in captures]
    work = tasks.Extract(lake, named, batch_id, options, tuple(outputs))
    return collected(together(spark, captures, number, options).mapInArrow(work, MANIFEST).collect())
