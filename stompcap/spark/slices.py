"""Which segments count of captures that are reread: those of some connections, or those of a share of all flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, Bools
from stompcap.lake.removal import disjoint
from stompcap.tcp.block import fixed_rows

if TYPE_CHECKING:

    Bools = Bools

ENDPOINT_OCTETS = 36


class Slice(Protocol):
    """Some of the segments of captures."""

    def among(self, segments: pa.RecordBatch) -> Bools:
        """Of each row of SEGMENTS, whether it is one of them."""
        ...


@dataclass(frozen=True)
class Periods:
    """Segments of some flows in some periods, both ends included.

    `endpoints` are the flows, as SEGMENTS has them. The periods of flow i are those from `first[i]` to before `first[i + 1]`.
    """

    endpoints: pa.Array
    first: I64
    begins: I64
    ends: I64

    @staticmethod
    def of(endpoints: pa.Array, begins: I64, ends: I64) -> Periods:
        """The lives of connections, a row each."""
        coded = endpoints.dictionary_encode()
        flow = coded.indices.to_numpy()
        order = np.argsort(flow, kind="stable")
        edges = np.append(0, np.cumsum(np.bincount(flow, minlength=len(coded.dictionary))))
        found = [disjoint(begins[mine], ends[mine]) for mine in np.split(order, edges[1:-1])] if len(flow) else []
        parts = [np.zeros(0, np.int64), *(begin for begin, _ in found)], [np.zeros(0, np.int64), *(end for _, end in found)]
        first = np.append(0, np.cumsum([len(begin) for begin, _ in found])).astype(np.int64)
        return Periods(coded.dictionary, first, *(np.concatenate(part) for part in parts))

    def among(self, segments: pa.RecordBatch) -> Bools:
        """Of each row of SEGMENTS, whether it is one of such a flow, in one of its periods."""
        flow = pc.index_in(segments.column("endpoints"), value_set=self.endpoints)
        rows = np.flatnonzero(flow.is_valid().to_numpy(zero_copy_only=False))
        found = np.zeros(segments.num_rows, np.bool_)
        if not rows.size:
            return found
        flow = flow.drop_null().to_numpy()
        at = segments.column("ts_ns").to_numpy()[rows]
        period, behind = self.first[flow], self.first[flow + 1]
        while rows.size:
            within = (self.begins[period] <= at) & (at <= self.ends[period])
            found[rows[within]] = True
            left = ~within & (period + 1 < behind) & (at > self.ends[period])
            rows, at, period, behind = rows[left], at[left], period[left] + 1, behind[left]
        return found


@dataclass(frozen=True)
class Share:
    """The flows whose ports add up to `number`, modulo `of`: a share of all, of which SQL over table streams can say the same."""

    number: int
    of: int

    @property
    def sql(self) -> str:
        """Whether a row of table streams is of such a flow."""
        return f"(client_port + server_port) % {self.of} = {self.number}" if self.of > 1 else "true"

    def among(self, segments: pa.RecordBatch) -> Bools:
        """Of each row of SEGMENTS, whether it is of such a flow."""
        ends = fixed_rows(pa.chunked_array([segments.column("endpoints")]), ENDPOINT_OCTETS).astype(np.int64)
        ports = (ends[:, 16] + ends[:, 34] << 8) + ends[:, 17] + ends[:, 35]
        found: Bools = ports % self.of == self.number
        return found


@dataclass(frozen=True)
class Reread:
    """Captures, by rank, that are reread for some segments alone; what an earlier run left of these segments does not count then."""

    ranks: frozenset[int]
    segments: Slice

    def of(self, batch: pa.RecordBatch, rank: int) -> pa.RecordBatch:
        """What counts of segments of a capture."""
        return batch.filter(pa.array(self.segments.among(batch))) if rank in self.ranks else batch

    def left(self, segments: pa.Table) -> pa.Table:
        """What counts of segments that an earlier run left."""
        return pa.Table.from_batches([one.filter(pa.array(~self.segments.among(one))) for one in segments.to_batches()], segments.schema)
