"""Bronze: capture files to packets, packets to streams, streams to rows of the lake.

Only what describes segments is shuffled, brought together by flow; the task that owns a flow reads its octets in place.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stompcap.spark import tasks
from stompcap.spark.sink import MANIFEST, collected
from stompcap.spark.source import register

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from stompcap.options import Options
    from stompcap.spark.lake import DataFile

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
DEFLATED = 10  # what a compressed capture's octets are taken to stand for: its payload travels with its segments
OCTETS_PER_TASK = 128 * 1024 * 1024
TABLES = ("streams", "raw_frames", "segments", "stalls")


@dataclass(frozen=True)
class Refused:
    """A named input that could not be read, and why."""

    path: str
    remedy: str


@dataclass(frozen=True)
class Surveyed:
    """What a look at the files found: rows of table captures (without run_id and batch_id), empty files, files refused."""

    rows: list[dict[str, Any]]
    empty: list[str]
    refused: list[Refused]


def survey(spark: SparkSession, paths: Sequence[str], options: Options) -> Surveyed:
    """Look at every file once: digest, format, counts, times."""
    parallel = min(len(paths), max(2, spark.sparkContext.defaultParallelism * 4))
    listed = spark.createDataFrame([(path,) for path in paths], "path STRING").repartition(parallel)
    answers = listed.mapInArrow(tasks.survey(options.source, options.tunnels), "answer STRING").collect()
    decoded = [json.loads(row["answer"]) for row in answers]
    rows = [{**row, "first_ts": _moment(row["first_ns"])} for answer in decoded if (row := answer.get("capture"))]
    refused = [Refused(**answer["refused"]) for answer in decoded if answer.get("refused")]
    empty = [answer["path"] for answer in decoded if "capture" in answer and not answer["capture"]]
    return Surveyed(rows, sorted(empty), sorted(refused, key=lambda r: r.path))


def _moment(ns: int | None) -> datetime.datetime | None:
    """Nanoseconds since the epoch as a timestamp, cut to microseconds."""
    return None if ns is None else EPOCH + datetime.timedelta(microseconds=ns // 1000)


def ranked(rows: Iterable[dict[str, Any]], known: set[str]) -> list[dict[str, Any]]:
    """The captures not seen before, each content once, in wire order: by first packet, then id."""
    once = {row["capture_id"]: row for row in sorted(rows, key=lambda r: str(r["path"]), reverse=True)}
    new = [row for name, row in once.items() if name not in known]
    return sorted(new, key=lambda r: (r["first_ns"] is None, r["first_ns"] or 0, r["capture_id"]))


def batch_of(captures: Iterable[dict[str, Any]], source: str) -> str:
    """The name of a unit of work: a digest of the captures in it, so that a retry bears the same name."""
    ids = ",".join(sorted(row["capture_id"] for row in captures))
    return hashlib.sha256(f"{source}:{ids}".encode()).hexdigest()[:16]


def together(spark: SparkSession, captures: Sequence[dict[str, Any]], tasks: int, options: Options) -> DataFrame:
    """What describes the segments of all captures, in blocks, those of a flow in one partition; octets are left where they are."""
    register(spark)
    plan = json.dumps([(row["path"], rank) for rank, row in enumerate(captures)])
    source = spark.read.format("pcap").option("view", "blocks").option("plan", plan).option("tasks", str(tasks))
    blocks = source.option("vlan", str(options.vlan)).option("tunnels", str(options.tunnels)).load()
    return blocks.repartitionById(tasks, "task")


def tasks_for(captures: Sequence[dict[str, Any]], cores: int) -> int:
    """Tasks for a batch: enough that each stays bounded, no more than cores where little is to be done."""
    octets = sum(int(row["size_octets"]) * (DEFLATED if row["compression"] else 1) for row in captures)
    return max(1, min(cores, -(-octets // (1024 * 1024))), -(-octets // OCTETS_PER_TASK))


def extract(
    spark: SparkSession,
    lake: str,
    captures: Sequence[dict[str, Any]],
    batch_id: str,
    options: Options,
    outputs: Sequence[str] = TABLES,
) -> list[DataFile]:
    """Write the rows of a batch of captures; files are returned, nothing is committed.

    `outputs` names the tables wanted: bronze alone, or silver and gold's per-session tables made in the same pass.
    """
    tasks_wanted = tasks_for(captures, spark.sparkContext.defaultParallelism)
    work = tasks.Extract(lake, [(row["path"], row["capture_id"]) for row in captures], batch_id, options, tuple(outputs))
    return collected(together(spark, captures, tasks_wanted, options).mapInArrow(work, MANIFEST).collect())
