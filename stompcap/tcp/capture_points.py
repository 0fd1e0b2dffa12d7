"""Packets that several captures of a flow have: the same packet once more, or as another capture point saw it.

Segments of two captures are one packet where side, sequence and acknowledgement number, flags, window, length and IP identification are
equal. If their times are equal too, the files overlap, or one was cut from the other, and the packet counts once. If not, they come from
two capture points under one name: each file has its own times, and retransmissions would be invented. Then the point whose file begins
first gives all rows of a connection, and the packets of the others count as duplicates.

A retransmission in a later file of one point is no such packet, for it has an identification of its own (RFC 6864, 4.2). Where there is
none (IPv6, or 0), it may be equal in all fields. So two captures are told apart by most of what lies between the first and the last
packet that they share, and without identifications by packets of both sides. Copies that a mirror port makes may stand in the next file of
one point: they lie within a copy's delay of where that begins. Captures without times are never compared by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.capture.segment_columns import ELSEWHERE, FIN, RST, STEPPED, SYN
from stompcap.columns import I64, Bools, column
from stompcap.tcp.copies import COPY_NS
from stompcap.tcp.matching import TIMELESS

FIELDS = ("forward", "seq", "ack", "flags", "window", "ip_id", "wire_octets", "captured_octets", "ts_ns", "capture")
NAMED, UNNAMED = 2, 3
"""Packets that two captures must share at least to be of two points: with an identification, or with and without."""
MIX, STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass
class CapturePoints:
    """Tells packets that several captures have; `shared` counts them by the ranks of two captures, first the one that gives the rows."""

    shared: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])

    def marked(self, segments: pa.Table) -> pa.Table:
        """The segments, whole flows one after the other; those that are known or given elsewhere are the last of a flow, as ELSEWHERE."""
        flow, capture = column(segments, "flow"), column(segments, "capture")
        same = flow[1:] == flow[:-1]
        mixed = same & (capture[1:] != capture[:-1]) & (capture[:-1] >= 0)
        if not mixed.any():
            return segments
        number = np.append(0, np.cumsum(~same))
        of_several = np.zeros(number[-1] + 1, np.bool_)
        of_several[number[1:][mixed]] = True
        rows = np.flatnonzero(of_several[number] & (capture >= 0))
        some = _Rows({name: column(segments, name)[rows].astype(np.int64) for name in FIELDS} | {"flow": number[rows]})
        marked = some.captured_again()
        marked[self._captured_elsewhere(some, ~marked)] = True
        flags = column(segments, "flags").copy()
        flags[rows] = np.where(marked, some.flags | ELSEWHERE, some.flags)
        at = segments.schema.get_field_index("flags")
        segments = segments.set_column(at, segments.schema.field(at), pa.array(flags))
        return segments.take(pa.array(np.lexsort((flags & ELSEWHERE, number)))) if marked.any() else segments

    def _captured_elsewhere(self, some: _Rows, left: Bools) -> I64:
        """Those rows, of those `left`, that another capture point gives."""
        first, other = some.pairs(left)
        apart = some.apart(first, other, left) if len(first) else np.zeros(0, np.bool_)
        found = [np.empty(0, np.int64)]
        flow = some.flow[first]
        for one in np.unique(flow[apart]).tolist():
            mine = np.flatnonzero(flow == one)
            begin, end = np.searchsorted(some.flow, [one, one + 1])
            pairs = some.capture[first[mine]], some.capture[other[mine]]
            point = _points(np.unique(some.capture[begin:end]).tolist(), *pairs, apart[mine])
            repeated, kept = [], []
            for one_row, two_row in zip(first[mine].tolist(), other[mine].tolist(), strict=True):
                before, behind = sorted((one_row, two_row), key=lambda row: point[int(some.capture[row])])
                if point[int(some.capture[before])] < point[int(some.capture[behind])]:
                    kept.append(int(some.capture[before]))
                    repeated.append(behind)
            self.shared.update(zip(kept, some.capture[repeated].tolist(), strict=True))
            found.append(some.of_their_connections(begin, end, np.array(repeated)))
        return np.concatenate(found)


class _Rows:
    """Rows of flows that several captures have, as columns; flows one after the other."""

    def __init__(self, columns: Mapping[str, I64]) -> None:
        self.flow, self.capture, self.ts_ns = columns["flow"], columns["capture"], columns["ts_ns"]
        self.side, self.seq, self.captured = columns["forward"], columns["seq"], columns["captured_octets"]
        self.flags, self.ip_id, wire = columns["flags"] & ~(ELSEWHERE | STEPPED), columns["ip_id"], columns["wire_octets"]
        numbers = self.seq | self.side << 32 | self.flags << 33, columns["ack"] | columns["window"] << 32
        self.key = np.zeros(len(self.flow), np.uint64)  # what a packet has wherever it is captured, mixed
        for part in (self.flow, *numbers, wire << 17 | self.ip_id + 1):
            self.key = (self.key ^ part.view(np.uint64)) * MIX
            self.key = (self.key ^ (self.key >> np.uint64(29))) * STIR
        self.distinctive: Bools = (self.ip_id > 0) | (wire > 0) | (self.flags & (SYN | FIN | RST) != 0)
        """Not a pure acknowledgement without identification: of these, a host sends many that are equal."""

    @cached_property
    def alike(self) -> I64:
        """Rows whose key others have too."""
        return _repeated(self.key)

    def captured_again(self) -> Bools:
        """Whether a row is a packet that a capture before has at the same time, and no more octets of it."""
        found = np.zeros(len(self.key), np.bool_)
        alike = self.alike[self.ts_ns[self.alike] != TIMELESS]
        order = alike[np.lexsort((self.capture[alike], self.ts_ns[alike], self.key[alike]))]
        one, two = order[:-1], order[1:]
        again = (self.key[one] == self.key[two]) & (self.ts_ns[one] == self.ts_ns[two]) & (self.capture[one] != self.capture[two])
        found[two[again & (self.captured[two] <= self.captured[one])]] = True
        return found

    def pairs(self, left: Bools) -> tuple[I64, I64]:
        """Packets that two captures have once each, at different times, as rows of one and of the other, by flow."""
        alike = self.alike[(left & self.distinctive & (self.ts_ns != TIMELESS))[self.alike]]
        order = alike[np.lexsort((self.capture[alike], self.key[alike]))]
        twice = (self.key[order[1:]] == self.key[order[:-1]]) & (self.capture[order[1:]] == self.capture[order[:-1]])
        order = order[~(np.append(twice, False) | np.append(False, twice))[: len(order)]]
        first, other = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for apart in range(1, len(order)):
            same = self.key[order[apart:]] == self.key[order[:-apart]]
            if not same.any():
                break
            first.append(order[:-apart][same])
            other.append(order[apart:][same])
        one, two = np.concatenate(first), np.concatenate(other)
        differ = self.ts_ns[one] != self.ts_ns[two]
        return one[differ], two[differ]

    def apart(self, first: I64, other: I64, left: Bools) -> Bools:
        """Of each pair, whether its two captures share so much of the flow that they are of two points."""
        width = int(self.capture.max()) + 1
        both = (self.flow[first] * width + self.capture[first]) * width + self.capture[other]
        _, index, shared = np.unique(both, return_inverse=True, return_counts=True)
        order = np.lexsort((np.arange(len(left)), self.capture, self.flow))
        rank_in_flow = np.empty(len(left), np.int64)  # among the distinctive rows of its flow and capture
        rank_in_flow[order] = np.cumsum((left & self.distinctive)[order])
        most = np.ones(len(shared), np.bool_)
        for rows in (first, other):
            low, high = np.full(len(shared), len(left) + 1), np.zeros(len(shared), np.int64)
            np.minimum.at(low, index, rank_in_flow[rows])
            np.maximum.at(high, index, rank_in_flow[rows])
            most &= 2 * shared > high - low
        most &= ~self._may_be_copies(first, other, index, len(shared))
        names, of = np.unique(np.stack((index, self.ip_id[first])), axis=1)  # what all packets have is no identification
        named = np.bincount(names, of > 0, len(shared))
        of_low = np.bincount(index, self.side[first], len(shared))
        unnamed = (shared >= UNNAMED) & (of_low > 0) & (of_low < shared)
        found: Bools = (most & ((named >= NAMED) | unnamed))[index]
        return found

    def _may_be_copies(self, first: I64, other: I64, index: I64, count: int) -> Bools:
        """Per group of pairs, whether all may be a packet and its copy by a mirror port, between which a file ended and the next began."""
        apart = np.abs(self.ts_ns[other] - self.ts_ns[first])
        most, begin, end = np.zeros(count, np.int64), np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
        np.maximum.at(most, index, apart)
        np.minimum.at(begin, index, self.ts_ns[first])
        np.maximum.at(end, index, self.ts_ns[first])
        found: Bools = (most <= COPY_NS) & (end - begin <= most)
        return found

    def of_their_connections(self, begin: int, end: int, repeated: I64) -> I64:
        """The rows of a flow, from `begin` to `end`, of the captures of rows `repeated` and of the same connections.

        In a capture a SYN with a number of its own begins a connection.
        """
        found = []
        for capture in np.unique(self.capture[repeated]).tolist():
            rows = begin + np.flatnonzero(self.capture[begin:end] == capture)
            syn = np.flatnonzero(self.flags[rows] & (SYN | RST) == SYN)
            syn = syn[self.side[rows[syn]] == self.side[rows[syn[:1]]].sum()]  # those of the side that sent the first
            new = syn[np.append(True, self.seq[rows[syn[1:]]] != self.seq[rows[syn[:-1]]])[: len(syn)]]
            connection = np.searchsorted(new, np.arange(len(rows)), "right")
            theirs = connection[np.searchsorted(rows, repeated[self.capture[repeated] == capture])]
            found.append(rows[np.isin(connection, theirs)])
        return np.concatenate(found)


def _points(captures: list[int], first: I64, other: I64, apart: Bools) -> dict[int, int]:
    """The capture point of each capture of a flow, given by rank: 0 is that of the capture that begins first.

    `first` and `other` are the captures of packets that two have, `apart` says of which it is known that they are of two points. A
    capture is of the first point that it may be of, and shares least with.
    """
    shared = Counter(zip(first.tolist(), other.tolist(), strict=True))
    others = set(zip(first[apart].tolist(), other[apart].tolist(), strict=True))
    point: dict[int, int] = {}
    for one in captures:
        common: dict[int, int] = {}
        barred = set()
        for before, of in point.items():
            common[of] = common.get(of, 0) + shared[before, one]
            if (before, one) in others:
                barred.add(of)
        free = [(count, of) for of, count in common.items() if of not in barred]
        point[one] = min(free)[1] if free else len(common)
    return point


def _repeated(key: NDArray[Any]) -> I64:
    """The rows whose key others have too, ascending."""
    order = np.argsort(key)
    same = key[order[1:]] == key[order[:-1]]
    return np.sort(order[np.append(same, False) | np.append(False, same)])
