"""A flow that goes through the machines block by block: from the state that an earlier run left to that which it leaves itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from stompcap import tcp
from stompcap.assembly.flow import Flow
from stompcap.assembly.parts import Part
from stompcap.assembly.resume import segment_rows
from stompcap.assembly.resume.older_states import why
from stompcap.assembly.task import Task
from stompcap.capture.files import Source
from stompcap.capture.segment_columns import SEGMENTS, SPILLED
from stompcap.columns import Octets, column
from stompcap.errors import StompcapError
from stompcap.tcp.file_steps import Passed
from stompcap.tcp.idle import lives
from stompcap.tcp.octets import copy_from

NAMED = ("flow", "endpoints", "forward")


class LargeFlow:
    """One flow of a task, given in wire order, what an earlier run left of it first."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._begin()
        self._pieces = SEGMENTS.empty_table()
        self._last: dict[str, Any] = {}
        self._passed = Passed(task.clocks)
        self._over = False  # whether the captures had another order when the state was kept

    def _begin(self) -> None:
        o = self.task.options
        self.machine = tcp.Reassembler(o.source, o.overlap, self.task.block, o.idle_ns)
        self.flow = Flow(self.task)

    def read(self, pieces: pa.Table, sources: Mapping[int, Source]) -> None:
        """Take pieces of the state that an earlier run left, rows of SEGMENTS that are STATE; of one that lacks some nothing is used.

        Nor is one that this version cannot read, whatever it is that it stumbles over: the flow is among those that are lost.
        """
        self._pieces = pa.concat_tables([self._pieces, pieces])
        self._last = _named(pieces)
        if self._pieces.num_rows < self._pieces.column("seq")[0].as_py():
            return
        endpoints, octets = self._last["endpoints"], _joined(self._pieces, sources)
        if endpoints in self.task.unused:
            return
        try:
            self._resume(octets)
            self.task.resumed.add(endpoints)
        except (OSError, MemoryError, StompcapError):
            raise
        except Exception as error:  # noqa: BLE001 - no state keeps other connections from being taken in
            self.task.lost[endpoints] = why(error)
            self._begin()

    def parts(self, segments: pa.Table) -> Iterator[Part]:
        """The rows that more segments make final."""
        if self._over:  # what was open ends with the run before
            yield from self.flow.parts(self.machine.finish())
            self._begin()
            self._over = False
        if segments.num_rows:
            self._last = _named(segments)
            segments = self._passed.marked(segments)
            for step in self.machine.feed(segments):
                yield from self.flow.parts(step)

    def end(self) -> Iterator[Part]:
        """All other rows: as they stand, with the state behind the last packet, where later captures may go on with the flow."""
        from stompcap.assembly.resume import flow_state

        analyser, now_ns = self.task.analyser, self.task.now_ns
        if analyser is None or now_ns is None or self.machine.ended_by(now_ns):
            yield from self.flow.parts(self.machine.finish())
            return
        if self.machine.overlap == "first":  # else another copy of an octet may come, which wins
            yield from self.flow.parts(self.machine.settle())
        saved, underway, step = self.machine.save(), self.flow.underway, self.machine.finish()
        ids = step.reassembly.streams.stream_id.to_pylist()
        state = flow_state.FlowState(saved, underway, analyser.paused(ids))
        yield from self.flow.parts(step, stays_open=True)
        left = self.flow.open
        if left is not None:
            left.octets.complete(left.together.extents(), self.task.sources)
            octets = flow_state.packed(state, left, self.task)
            _, last_ns, some_open = lives(step.reassembly.streams, np.zeros(len(ids), np.int64))
            life = {"last_ns": int(last_ns[0]), "some_open": bool(some_open[0])}
            last = self._last | {"ts_ns": self.machine.last_ns} | life
            rows = segment_rows.of_state(octets, ids, self.task.capture_ids[-1].as_py(), self.task.options.source, last)
            yield Part({"stream_state": rows}, going_on=left.ids())

    def _resume(self, octets: bytes) -> None:
        from stompcap.assembly.resume import flow_state

        task = self.task
        state, captures = flow_state.unpacked(octets, task)
        self._over = captures is None
        self._passed.took(task.ranks[:captures])
        self.machine, self.flow = tcp.Reassembler.restored(state.machine, None if self._over else task.ranks), Flow(task, state.underway)
        if task.analyser is not None:
            task.analyser.resume(state.sessions)


def _named(segments: pa.Table) -> dict[str, Any]:
    """What names the flow."""
    [row] = segments.select(NAMED).slice(segments.num_rows - 1).to_pylist()
    return dict(row)


def _joined(pieces: pa.Table, sources: Mapping[int, Source]) -> bytes:
    """The octets of pieces, which may be spilled."""
    pieces = pieces.sort_by("packet")
    place, length = column(pieces, "file_offset"), column(pieces, "captured_octets")
    if (place > SPILLED).all():
        return b"".join(pieces.column("payload").to_pylist())
    out: Octets = np.empty(int(length.sum()), np.uint8)
    copy_from(sources[SPILLED], SPILLED - place, length, np.cumsum(length) - length, out)
    return out.tobytes()
