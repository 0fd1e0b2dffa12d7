"""The reassembler as a state machine: a flow's segments go in, in wire order and in pieces of any size; settled streams come out.

It keeps the packets of at most one block that is not yet full, the few rows before it that are still undecided, and a few numbers per
connection. All of it can be saved between any two pieces. The output does not depend on how the input was cut.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.capture import SEGMENTS
from stompcap.tcp.block import NONE_ENDED, Carried, nothing_carried, reassemble_block, zero_windows
from stompcap.tcp.matching import IDLE_NS
from stompcap.tcp.results import Int64s, Reassembly, ZeroWindows
from stompcap.tcp.settle import BLOCK

POLICIES = ("first", "last")


def demand_policy(overlap: str) -> None:
    """Raise ValueError for an unknown overlap policy."""
    if overlap not in POLICIES:
        raise ValueError(f"overlap is 'first' or 'last', not {overlap!r}")


@dataclass(frozen=True)
class Settled:
    """The results of one block of a flow.

    Rows in `reassembly` are rows of `segments`: first `held` rows that were still undecided, then the block's own.
    `number` counts them from the flow's first packet. Connections are those that may still go on, or ended with this block; the first
    of them is number `first` of the flow. Offsets of a side ascend from one block to the next.

    Per connection, `unsettled` is the number of the earliest packet of which octets may still be settled: later results come from it or
    from packets behind it. `lasting` are stalls that have not ended, up to the latest packet.
    """

    reassembly: Reassembly
    segments: pa.Table
    number: Int64s
    held: int
    first: int
    unsettled: Int64s
    lasting: ZeroWindows


class Reassembler:
    """Reassembles one flow.

    `overlap`: whether the `first` or the `last` captured octets are kept where copies differ. `block` counts packets; results are equal
    for equal numbers only. After a silence of more than `idle_ns` a flow goes on as another connection. Raises ValueError for another
    policy.
    """

    def __init__(self, source: str = "default", overlap: str = "first", block: int = BLOCK, idle_ns: int = IDLE_NS) -> None:
        demand_policy(overlap)
        self.source, self.overlap, self.block, self.idle_ns = source, overlap, block, idle_ns
        self._carried = nothing_carried()
        self._held = SEGMENTS.empty_table()
        self._waiting = SEGMENTS.empty_table()
        self._seen = 0

    def feed(self, segments: pa.Table) -> Iterator[Settled]:
        """Take more rows of the flow (SEGMENTS, in wire order); gives each block that is full."""
        waiting = pa.concat_tables([self._waiting, segments])
        at = 0
        while waiting.num_rows - at > self.block:
            self._waiting = waiting.slice(at, self.block)
            at += self.block
            yield self._step(final=False)
        self._waiting = waiting.slice(at).combine_chunks()

    def finish(self) -> Settled:
        """Settle the rest: the flow has ended."""
        return self._step(final=True)

    def save(self) -> bytes:
        """The state that `restored` continues from: the rows not yet settled, and what is carried."""
        values: dict[str, Any] = {one.name: getattr(self._carried, one.name) for one in fields(Carried)}
        values |= {"source": self.source, "overlap": self.overlap, "block": self.block, "idle_ns": self.idle_ns, "seen": self._seen}
        file = io.BytesIO()
        np.savez_compressed(file, held=_packed(self._held), waiting=_packed(self._waiting), **values)
        return file.getvalue()

    @classmethod
    def restored(cls, saved: bytes) -> Reassembler:
        """A reassembler with a saved state; its rows name captures by the ranks they had then."""
        with np.load(io.BytesIO(saved), allow_pickle=False) as found:
            machine = cls(str(found["source"]), str(found["overlap"]), int(found["block"]), int(found["idle_ns"]))
            carried: dict[str, Any] = {one.name: found[one.name] for one in fields(Carried)}
            machine._carried = Carried(**carried | {"gone": int(carried["gone"])})
            machine._held, machine._waiting = _unpacked(found["held"]), _unpacked(found["waiting"])
            machine._seen = int(found["seen"])
        return machine

    def _step(self, *, final: bool) -> Settled:
        held, fresh = self._held.num_rows, self._waiting.num_rows
        segments = pa.concat_tables([self._held, self._waiting]).combine_chunks()
        number = np.arange(self._seen, self._seen + fresh)
        before, gone = self._carried, self._carried.gone
        found, self._carried, kept = reassemble_block(
            segments, before, number, self.source, self.overlap, final=final, idle_ns=self.idle_ns
        )
        self._held, self._waiting = segments.filter(pa.array(kept)), SEGMENTS.empty_table()
        self._seen += fresh
        after, over = self._carried, self._carried.gone - gone
        unsettled = np.full(len(found.streams), self._seen)
        np.minimum.at(unsettled, over + after.stream_of, after.number)
        lasting = zero_windows(after.state, np.ones(len(after.state), np.bool_), NONE_ENDED, over)
        return Settled(found, segments, np.concatenate((before.number, number)), held, gone, unsettled, lasting)


def _packed(rows: pa.Table) -> NDArray[np.uint8]:
    """Rows as the octets of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _unpacked(octets: NDArray[np.uint8]) -> pa.Table:
    """The rows of an Arrow stream."""
    return pa.ipc.open_stream(pa.py_buffer(octets)).read_all()
