"""Which captures a batch has, in which order: its own and those before it, by the rules of stompcap.capture.rotation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture.rotation import ranked as in_order
from stompcap.lake.open_state import OpenState, keys
from stompcap.tcp.idle import over

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from pipelines.ingest.baseline import Baseline
    from stompcap.capture import Survey


def is_new(found: Survey, known: Container[str]) -> bool:
    """Whether a capture brings anything the lake has not: another one that goes on has packets behind what is known."""
    return found.row["capture_id"] not in known and not (found.row["continues"] and not found.row["packets"])


def ranked(found: Iterable[Survey], known: Container[str]) -> list[Survey]:
    """The captures that are not known, each content once, in order."""
    once = {one.row["capture_id"]: one for one in sorted(found, key=lambda s: str(s.row["path"]), reverse=True)}
    new = [one for one in once.values() if is_new(one, known)]
    rank = in_order(one.row for one in new).order
    return sorted(new, key=lambda one: rank[one.row["capture_id"]])


def batch_name(captures: Iterable[Survey], source: str) -> str:
    """The name of a batch: a digest of the captures in it, so that a retry bears the same name."""
    ids = ",".join(sorted(one.row["capture_id"] for one in captures))
    return hashlib.sha256(f"{source}:{ids}".encode()).hexdigest()[:16]


class Ranks:
    """The captures that a batch reads and those before it, in one order; a rank is a capture's number in it."""

    def __init__(self, captures: Sequence[Survey], baseline: Baseline) -> None:
        new = {one.row["capture_id"]: one for one in captures}
        found = in_order([*(row for row in baseline.captures if row["capture_id"] not in new), *(one.row for one in captures)])
        self.rows: Sequence[Mapping[str, Any]] = found.rows
        self.clocks = found.clocks
        self.order = found.order
        """Rank by id."""

        self.named = [(row["path"], row["capture_id"]) for row in found.rows]
        """Path and id by rank."""

        self.before = tuple(row["capture_id"] for row in in_order(baseline.captures).rows)
        """The ids of those before by the ranks that they had."""

        self.superseded = baseline.superseded
        self.splits = [(self.order[name], one, split) for name, one in new.items() for split in one.splits]
        self.now_ns = found.now_ns
        self.open = keys(baseline.files)
        """Of each row of open streams what tells when its flow is over."""

        always = self.open.column("flow")
        as_before = self.before == tuple(self.order)[: len(self.before)]  # else states name captures by ranks that they no longer have
        if as_before and not baseline.anew:
            always = always.filter(self.open.column("last_ns").is_null())
        paths = [path for path, _ in self.named]
        always = always.combine_chunks().unique()
        self.state = OpenState(baseline.files, self.order, paths, always, baseline.raw_files) if baseline.files else OpenState()

    def over(self, again: pa.Array, idle_ns: int) -> pa.Array:
        """The ids of open streams that are over, as no packet came for so long; without those that were computed `again`."""
        others = pc.invert(pc.is_in(self.open.column("stream_id"), value_set=again))
        left = self.open.filter(pc.and_(others, self.open.column("last_ns").is_valid()))
        gone = over(self.now_ns - left.column("last_ns").to_numpy(), idle_ns, left.column("some_open").to_numpy())
        return left.column("stream_id").filter(pa.array(gone, pa.bool_())).combine_chunks().unique()
