"""Flows that go on by the states of the machines: from that which an earlier run left to that which they leave themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from stompcap import tcp
from stompcap.assembly.flows import Flows
from stompcap.assembly.parts import Part
from stompcap.assembly.resume import segment_rows
from stompcap.assembly.resume.older_states import why
from stompcap.assembly.task import Task
from stompcap.capture.files import Source
from stompcap.capture.segment_columns import SEGMENTS, SPILLED, STATE
from stompcap.columns import Octets, column
from stompcap.errors import StompcapError
from stompcap.tcp.file_steps import Passed
from stompcap.tcp.idle import lives
from stompcap.tcp.octets import copy_from

NAMED = ("flow", "endpoints", "forward")


class _Flow:
    """One flow: its reassembler, and what it has come from."""

    def __init__(self, task: Task, number: int) -> None:
        self.task, self.number = task, number
        self.last: dict[str, Any] = {}
        self.passed = Passed(task.clocks)
        self.pieces = SEGMENTS.empty_table()
        self.over = False  # whether the captures had another order when the state was kept
        self.begin()

    def begin(self) -> None:
        """Begin with nothing."""
        o = self.task.options
        self.machine = tcp.Reassembler(o.source, o.overlap, self.task.block, o.idle_ns)

    @property
    def goes_on(self) -> bool:
        """Whether later captures may go on with it."""
        now_ns = self.task.now_ns
        return self.task.analyser is not None and now_ns is not None and not self.machine.ended_by(now_ns)


class StatefulFlows:
    """Some flows of a task, one after the other in wire order, what an earlier run left of each first; they are carried on together.

    A step of many flows costs little more than one of a single flow: that is why those of few packets come together.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.flows = Flows(task)
        self._members: list[_Flow] = []

    def feed(self, tables: Iterable[pa.Table]) -> Iterator[Part]:
        """Take in a flow, as tables of SEGMENTS; gives the rows that full blocks make final."""
        flow = _Flow(self.task, len(self._members))
        self._members.append(flow)
        for table in tables:
            of_state = column(table, "earlier") == STATE
            if of_state.any():
                if self.task.superseded:
                    self._members.pop()
                    return
                self._read(flow, table.filter(pa.array(of_state)))
                table = table.filter(pa.array(~of_state))
            yield from self._parts(flow, table)

    def end(self) -> Iterator[Part]:
        """All other rows: as they stand, with the state behind the last packet, of flows that later captures may go on with."""
        if not self._members:
            return
        goes_on = {flow.number: flow for flow in self._members if flow.goes_on}
        over = [flow for flow in self._members if flow.number not in goes_on]
        yield from self.flows.parts({flow.number: flow.machine.finish() for flow in over})
        if self.task.options.overlap == "first":  # else another copy of an octet may come, which wins
            yield from self.flows.parts({number: flow.machine.finalise() for number, flow in goes_on.items()})
        yield from self._as_they_stand(goes_on)

    def _as_they_stand(self, goes_on: Mapping[int, _Flow]) -> Iterator[Part]:
        from stompcap.assembly.resume import flow_state

        analyser, task = self.task.analyser, self.task
        if not goes_on or analyser is None:
            return
        saved = {number: flow.machine.save() for number, flow in goes_on.items()}
        steps = {number: flow.machine.finish() for number, flow in goes_on.items()}
        underway, states = self.flows.underway, dict[int, flow_state.FlowState]()
        for number, step in steps.items():
            paused = analyser.paused(step.reassembly.streams.stream_id.to_pylist())
            states[number] = flow_state.FlowState(saved[number], underway.get(number, {}), paused)
        yield from self.flows.parts(steps, stay_open=True)
        left = self.flows.as_they_stand
        if left is None:
            return
        left.octets.complete(left.together.extents(), task.sources)
        rows = []
        for number, flow in goes_on.items():
            streams = steps[number].reassembly.streams
            _, last_ns, some_open = lives(streams, np.zeros(len(streams), np.int64))
            last = flow.last | {"ts_ns": flow.machine.last_ns, "last_ns": int(last_ns[0]), "some_open": bool(some_open[0])}
            octets, ids = flow_state.packed(states[number], left, number, task), streams.stream_id.to_pylist()
            rows.append(segment_rows.of_state(octets, ids, task.capture_ids[-1].as_py(), task.options.source, last))
        yield Part({"stream_state": pa.concat_tables(rows)}, going_on=left.ids())

    def _parts(self, flow: _Flow, segments: pa.Table) -> Iterator[Part]:
        """The rows that more segments of a flow make final."""
        if flow.over:  # what was open ends with the run before
            yield from self.flows.parts({flow.number: flow.machine.finish()})
            self._begin(flow)
        if segments.num_rows:
            flow.last = _named(segments)
            for step in flow.machine.feed(flow.passed.marked(segments)):
                yield from self.flows.parts({flow.number: step})

    def _begin(self, flow: _Flow) -> None:
        flow.begin()
        flow.over = False
        self.flows.underway.pop(flow.number, None)

    def _read(self, flow: _Flow, pieces: pa.Table) -> None:
        """Take pieces of the state that an earlier run left, rows of SEGMENTS that are STATE; of one that lacks some nothing is used.

        Nor is one that this version cannot read, whatever it is that it stumbles over: the flow is among those that are lost.
        """
        flow.pieces, flow.last = pa.concat_tables([flow.pieces, pieces]), _named(pieces)
        if flow.pieces.num_rows < flow.pieces.column("seq")[0].as_py():
            return
        endpoints, octets = flow.last["endpoints"], _joined(flow.pieces, self.task.sources)
        if endpoints in self.task.unused:
            return
        try:
            self._resume(flow, octets)
            self.task.resumed.add(endpoints)
        except (OSError, MemoryError, StompcapError):
            raise
        except Exception as error:  # noqa: BLE001 - no state keeps other connections from being taken in
            self.task.lost[endpoints] = why(error)
            self._begin(flow)

    def _resume(self, flow: _Flow, octets: bytes) -> None:
        from stompcap.assembly.resume import flow_state

        task = self.task
        state, captures = flow_state.unpacked(octets, task)
        flow.over = captures is None
        flow.passed.took(task.captures.before[:captures])
        flow.machine = tcp.Reassembler.restored(state.machine, None if flow.over else task.captures.before)
        self.flows.underway[flow.number] = dict(state.underway)
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
