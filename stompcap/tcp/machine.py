"""The reassembler as a state machine: segments of a flow go in, in wire order and cut anyhow; streams come out as far as they are final.

It keeps the packets of at most one block that is not yet full, the few rows before it that are still undecided, and a few numbers per
connection. All of it can be saved between any two pieces. The output does not depend on how the input was cut, but for counters of
octets that came again: `finalise` makes octets final that both sides have left behind, and copies of them are compared with none.

Where a flow was silent for so long that none of its connections goes on (stompcap.tcp.idle), it begins anew, and so does its
block: what comes behind the silence is read as if nothing had been before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.capture import SEGMENTS
from stompcap.columns import I64, Bools, column
from stompcap.options import OVERLAPS, one_of
from stompcap.tcp.block import NONE_ENDED, Carried, nothing_carried, reassemble_block, zero_windows
from stompcap.tcp.copies import filled, memory_of
from stompcap.tcp.finality import BLOCK, Block
from stompcap.tcp.idle import IDLE_NS, LINGER_NS, may_go_on
from stompcap.tcp.results import Reassembly, ZeroWindows
from stompcap.tcp.state import AFTER_IDLE, FIRST_CAPTURE, LATEST_CAPTURE


def demand_policy(overlap: str) -> None:
    """Raise ValueError for an unknown overlap policy."""
    if overlap not in OVERLAPS:
        raise ValueError(f"overlap is {one_of(OVERLAPS)}, not {overlap}")


@dataclass(frozen=True)
class Step:
    """The results of one block of a flow.

    Rows in `reassembly` are rows of `segments`: first `held` rows that were still undecided, then the block's own.
    `number` counts them from the flow's first packet. Connections are those that may still go on, or ended with this block; the first
    of them is number `first` of the flow. Offsets of a side ascend from one block to the next.

    Per connection, `pending` is the number of the earliest packet of which octets may still become final: later results come from it or
    from packets behind it. `lasting` are stalls that have not ended, up to the latest packet.
    """

    reassembly: Reassembly
    segments: pa.Table
    number: I64
    held: int
    first: int
    pending: I64
    lasting: ZeroWindows
    full: bool
    """Whether it is a full block, or the end of the flow."""


@dataclass(frozen=True)
class Saved:
    """The state of a reassembler: numbers by name, and rows of SEGMENTS that are still undecided, or wait for their block to be full."""

    numbers: Mapping[str, NDArray[Any]]
    held: pa.Table
    waiting: pa.Table


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
        self._of_block = 0  # packets of the block that `finalise` was called behind, before it was full
        self._last_ns = -1  # of all packets since the flow began or began anew; -1 where there are none
        self._after_silence = False

    @property
    def last_ns(self) -> int:
        """The time of the flow's latest packet."""
        return self._last_ns

    def feed(self, segments: pa.Table) -> Iterator[Step]:
        """Take more rows of the flow (SEGMENTS, in wire order); gives each block that is full."""
        ts_ns = column(segments, "ts_ns")
        latest = np.maximum.accumulate(np.append(self._last_ns, ts_ns))
        begin = 0
        for row in np.flatnonzero(ts_ns - latest[:-1] > LINGER_NS).tolist():
            yield from self._take(segments.slice(begin, row - begin))
            begin = row
            if self._last_ns >= 0 and self.ended_by(int(ts_ns[row])):
                yield self._step(final=True)
                self._begin_anew()
        yield from self._take(segments.slice(begin))

    def finish(self) -> Step:
        """Make the rest final: the flow has ended."""
        return self._step(final=True)

    def finalise(self) -> Step:
        """Make final what both sides of a connection have left behind, so that little is left to be saved."""
        of_block = self._of_block + self._waiting.num_rows
        step = self._step(full=False)
        self._of_block = of_block
        return step

    def save(self) -> Saved:
        """The state that `restored` continues from."""
        values: dict[str, Any] = {one.name: getattr(self._carried, one.name) for one in fields(Carried)}
        values["slots"], values["memory"] = filled(self._carried.memory)
        values |= {"source": self.source, "overlap": self.overlap, "block": self.block, "idle_ns": self.idle_ns, "seen": self._seen}
        values |= {"last_ns": self._last_ns, "after_silence": self._after_silence, "of_block": self._of_block}
        return Saved({name: np.asarray(value) for name, value in values.items()}, self._held, self._waiting)

    @classmethod
    def restored(cls, saved: Saved, ranks: I64 | None = None) -> Reassembler:
        """A reassembler with a saved state, and the `ranks` that captures have now, by those they had then."""
        found = saved.numbers
        machine = cls(str(found["source"]), str(found["overlap"]), int(found["block"]), int(found["idle_ns"]))
        carried: dict[str, Any] = {one.name: found[one.name].copy() for one in fields(Carried)}
        carried |= {"gone": int(found["gone"]), "memory": memory_of(found["slots"], found["memory"])}
        machine._carried = Carried(**carried)
        machine._seen, machine._last_ns = int(found["seen"]), int(found["last_ns"])
        machine._after_silence = bool(found["after_silence"])
        machine._of_block = int(found["of_block"]) if "of_block" in found else 0
        machine._held, machine._waiting = saved.held, saved.waiting
        if ranks is not None:
            for at in (FIRST_CAPTURE, LATEST_CAPTURE):
                rank = machine._carried.state[:, at]
                machine._carried.state[:, at] = np.where(rank >= 0, ranks[rank], rank)
        return machine

    def _take(self, segments: pa.Table) -> Iterator[Step]:
        """Take rows between which the flow does not begin anew."""
        if not segments.num_rows:
            return
        self._last_ns = max(self._last_ns, int(column(segments, "ts_ns").max()))
        waiting = pa.concat_tables([self._waiting, segments])
        at = 0
        while waiting.num_rows - at > (room := self.block - self._of_block):
            self._waiting = waiting.slice(at, room)
            at += room
            yield self._step()
        self._waiting = waiting.slice(at).combine_chunks()

    def ended_by(self, now_ns: int) -> bool:
        """Whether none of the flow's connections goes on at this time."""
        _, _, (found, _, _) = self._reassembled(full=True, final=True)
        return not may_go_on(found.streams, np.zeros(len(found.streams), np.int64), now_ns, self.idle_ns).any()

    def _begin_anew(self) -> None:
        self._carried = replace(nothing_carried(), gone=self._carried.gone)
        self._held, self._last_ns, self._after_silence, self._of_block = SEGMENTS.empty_table(), -1, True, 0

    def _reassembled(self, *, full: bool, final: bool) -> tuple[pa.Table, I64, tuple[Reassembly, Carried, Bools]]:
        """The rows held and waiting, the numbers of the latter in the flow, and what `reassemble_block` makes of both."""
        segments = pa.concat_tables([self._held, self._waiting]).combine_chunks()
        number = np.arange(self._seen, self._seen + self._waiting.num_rows)
        block = Block(self._seen - self._of_block, full, self.overlap == "last", final)
        found = reassemble_block(segments, self._carried, number, self.source, block, self.idle_ns)
        return segments, number, found

    def _step(self, *, full: bool = True, final: bool = False) -> Step:
        before, held, gone = self._carried, self._held.num_rows, self._carried.gone
        segments, number, (found, after, kept) = self._reassembled(full=full, final=final)
        if self._after_silence and not len(before.state) and len(found.streams):
            found.streams.after_idle[0] = True
            after.state[:1, AFTER_IDLE] = 1
            self._after_silence = False
        self._carried, self._held, self._waiting = after, segments.filter(pa.array(kept)), SEGMENTS.empty_table()
        self._seen += len(number)
        self._of_block = 0
        over = after.gone - gone
        pending = np.full(len(found.streams), self._seen)
        np.minimum.at(pending, over + after.stream_of, after.number)
        lasting = zero_windows(after.state, np.ones(len(after.state), np.bool_), NONE_ENDED, over)
        return Step(found, segments, np.concatenate((before.number, number)), held, gone, pending, lasting, full)
