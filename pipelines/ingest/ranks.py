"""Which captures a batch has, in which order: its own and those before it, by the rules of stompcap.capture.rotation."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.baseline import as_captures
from stompcap.capture.by_rank import CapturesByRank
from stompcap.capture.ranking import in_order
from stompcap.capture.ranking import ranked as captures_in_order
from stompcap.capture.some_by_rank import SomeByRank
from stompcap.columns import flat, integers
from stompcap.lake.open_state import OpenState, keys
from stompcap.spark.shared import shared
from stompcap.tcp.idle import over

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from pipelines.ingest.baseline import Baseline
    from stompcap.capture import Survey


def is_new(found: Survey, known: Container[str]) -> bool:
    """Whether a capture brings anything the lake has not: another one that goes on has packets behind what is known."""
    return found.row["capture_id"] not in known and not (found.row["continues"] and not found.row["packets"])


def ranked(found: Iterable[Survey], known: Container[str]) -> list[Survey]:
    """The captures that are not known, each content once, in order."""
    once = {one.row["capture_id"]: one for one in sorted(found, key=lambda s: str(s.row["path"]), reverse=True)}
    new = [one for one in once.values() if is_new(one, known)]
    rank = captures_in_order(one.row for one in new).order
    return sorted(new, key=lambda one: rank[one.row["capture_id"]])


def batch_name(captures: Iterable[Survey], source: str) -> str:
    """The name of a batch: a digest of the captures in it, so that a retry bears the same name."""
    ids = ",".join(sorted(one.row["capture_id"] for one in captures))
    return hashlib.sha256(f"{source}:{ids}".encode()).hexdigest()[:16]


class Ranks:
    """The captures that a batch reads and those before it, in one order; a rank is a capture's number in it."""

    def __init__(self, captures: Sequence[Survey], baseline: Baseline) -> None:
        self._new = {one.row["capture_id"]: one for one in captures}
        names = pa.array(list(self._new), pa.string())
        new, held = as_captures([one.row for one in captures]), baseline.captures
        again = pc.index_in(held.column("capture_id"), value_set=names)
        others = held.filter(again.is_null()) if again.null_count < len(again) else held
        self._every = every = pa.concat_tables([others, new])
        self._found = found = in_order(every)
        rank = np.empty(every.num_rows, np.int64)
        rank[found.rows] = np.arange(every.num_rows)
        self.now_ns = found.now_ns
        self.order = dict(zip(self._new, rank[others.num_rows :].tolist(), strict=True))
        """Rank by id, of those that the batch reads."""

        if found.steady and others is held:
            before = np.sort(rank[: held.num_rows])
        else:
            place = integers(again) + others.num_rows  # of each of those before in `every`
            place[again.is_null().to_numpy()] = np.arange(others.num_rows)
            before = rank[place[in_order(held).rows]]
        ids, paths = (flat(every.column(name)).take(pa.array(found.rows)) for name in ("capture_id", "path"))
        may_have = pc.equal(every.column("format"), "pcapng")  # what rows of older lakes say
        secrets = pc.coalesce(every.column("has_secrets"), may_have, False)
        self.captures = CapturesByRank(ids, paths, found.clocks, before, np.sort(rank[np.flatnonzero(secrets.to_numpy())]))
        latest = int(before.max(initial=-1))
        self.late = frozenset(name for name, at in self.order.items() if at < latest)
        """Ids of those that the batch reads and that come before some that the lake has."""

        self.superseded = baseline.superseded
        self.splits = [(self.order[name], one, split) for name, one in self._new.items() for split in one.splits]
        self.open = keys(baseline.files)
        """Of each row of open streams what tells when its flow is over."""

        always = self.open.column("flow")
        as_before = bool((before == np.arange(len(before))).all())  # else states name captures by ranks that they no longer have
        if as_before and not baseline.anew:
            always = always.filter(self.open.column("last_ns").is_null())
        always = always.combine_chunks().unique()
        self.state = OpenState(baseline.files, self.captures, always, baseline.raw_files) if baseline.files else OpenState()

    def name(self, rank: int) -> str:
        """The id of a capture."""
        return str(self.captures.ids[rank].as_py())

    def row(self, rank: int) -> Mapping[str, Any]:
        """A capture, as a row of table captures."""
        one = self._new.get(self.name(rank))
        return one.row if one else self._every.slice(int(self._found.rows[rank]), 1).to_pylist()[0]

    @contextmanager
    def told(self, spark: SparkSession) -> Iterator[SomeByRank]:
        """What tasks are told of the captures, until the context ends; of those that they do not read when they ask."""
        own = list(self.order.values())
        asked = bool(self.state.files) or not np.isin(self.captures.secrets, own).all()
        known = self.captures if asked else CapturesByRank.of(())  # else nothing names them
        with shared(spark, known) as every:
            yield SomeByRank(self.captures, own, every)

    def over(self, again: pa.Array, idle_ns: int) -> pa.Array:
        """The ids of open streams that are over, as no packet came for so long; without those that were computed `again`."""
        others = pc.invert(pc.is_in(self.open.column("stream_id"), value_set=again))
        left = self.open.filter(pc.and_(others, self.open.column("last_ns").is_valid()))
        gone = over(self.now_ns - left.column("last_ns").to_numpy(), idle_ns, left.column("some_open").to_numpy())
        return left.column("stream_id").filter(pa.array(gone, pa.bool_())).combine_chunks().unique()
