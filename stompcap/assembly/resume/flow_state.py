"""The state of a large flow between two runs, as octets: its reassembler, its connections, their sessions and pending verdicts.

Segments in it are rows of table stream_state: headers, places in the captures, and octets as tables show them. Ranks of captures are
those of the run that left it; the next one gives them those of its own. Names and numbers of frames are there as in the tables; a
passcode is not, but where it stands in its capture.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.assembly.analyser import Paused
from stompcap.assembly.flows import AsTheyStand
from stompcap.assembly.parts import LEARNED, Sessions
from stompcap.assembly.resume import older_states, segment_rows, session_steps
from stompcap.assembly.resume.connects import Connects
from stompcap.assembly.resume.octets import KeptOctets
from stompcap.assembly.resume.state_layout import COME
from stompcap.assembly.task import Task
from stompcap.assembly.underway import Underway
from stompcap.assembly.windows import Resumed
from stompcap.columns import U8
from stompcap.session import state as session_state
from stompcap.stomp.delimiter_io import State
from stompcap.tcp.machine import Saved
from stompcap.tcp.results import ClockSteps, Retransmissions, ZeroWindows
from stompcap.transport import state as transport_state
from stompcap.transport.stretches import Stretches

Arrays = dict[str, NDArray[Any]]
Columns = TypeVar("Columns")


@dataclass(frozen=True)
class FlowState:
    """What is taken up again: the reassembler, the connections by their number in the flow, and of those that speak STOMP the session."""

    machine: Saved
    underway: Mapping[int, Underway]
    sessions: Mapping[str, Paused]


def packed(state: FlowState, left: AsTheyStand, flow: int, task: Task) -> bytes:
    """The state of a flow as octets. `left` has its segments among those of others, and the octets that were shown of them."""
    capture_ids, source = task.capture_ids, task.options.source
    mine, row = left.together.rows_of(flow)
    ids = left.ids().take(pa.array(left.together.reassembly.stream_of[mine]))
    rows = segment_rows.of_segments(left.octets, mine, ids, left.role[mine], capture_ids, source)
    machine = state.machine
    counts = [machine.held.num_rows, machine.waiting.num_rows, *(one.segments.num_rows for one in state.underway.values())]
    arrays: Arrays = {
        older_states.LAYOUT: older_states.layout(), "captures": _octets(task.digest), "machine": _octets(machine.numbers),
        "rows": _ipc(rows), "row": row, "counts": np.array(counts), "connections": np.array(list(state.underway), np.int64),
    }  # fmt: skip
    for number, one in state.underway.items():
        arrays |= _connection(f"{number}.", one, capture_ids, source)
    for number, (stream, paused) in enumerate(state.sessions.items()):
        arrays |= _session(f"session {number} ", stream, paused)
    file = io.BytesIO()
    np.savez_compressed(file, **cast("dict[str, Any]", arrays))
    return file.getvalue()


def unpacked(octets: bytes, task: Task) -> tuple[FlowState, int | None]:
    """The state that `packed` wrote, and how many captures there were then; None where this task says that they had another order.

    Only where the order is the same, a later run goes on with it. A state of any version is taken up; raises
    stompcap.assembly.resume.older_states.StateError where it lacks what cannot be known any more.
    """
    with np.load(io.BytesIO(octets), allow_pickle=False) as held:
        found = older_states.of_machines(held)
        captures = task.known.get(found["captures"].tobytes())
        context = _Context(found, task)
        segments = context.segments("rows")
        tables, at = [], 0
        for count in found["counts"].tolist():
            tables.append(segments.take(pa.array(found["row"][at : at + count])).combine_chunks())
            at += count
        held, waiting, *left = tables
        underway = dict[int, Underway]()
        for number, rows in zip(found["connections"].tolist(), left, strict=True):
            underway[number] = context.underway(f"{number}.", rows)
        sessions = dict[str, Paused]()
        while (name := f"session {len(sessions)} ") + "stream" in found:
            sessions[str(found[name + "stream"])] = context.paused(name)
        return FlowState(Saved(found["machine"].tobytes(), held, waiting), underway, sessions), captures


class _Context:
    """What is read of a state's arrays."""

    def __init__(self, found: Mapping[str, NDArray[Any]], task: Task) -> None:
        self.found, self.task = found, task

    def segments(self, name: str) -> pa.Table:
        """Rows of table stream_state, as an Arrow stream, as segments of this run."""
        table = pa.ipc.open_stream(pa.py_buffer(self.found[name])).read_all()
        return segment_rows.segments_of(table, self.task.order, self.task.sources.paths).combine_chunks()

    def underway(self, name: str, rows: pa.Table) -> Underway:
        """A connection whose arrays' names begin with `name`, and the segments left of it."""
        found = self.found
        learned = dict(zip(LEARNED, found[name + "learned"].tolist(), strict=True)) if name + "learned" in found else None
        resumed = None
        if name + "state" in found:
            resumed = Resumed(State(found[name + "state"]), int(found[name + "since"]), found[name + "wait"], found[name + "presented"])
        connects = Connects(self._columns(Stretches, name + "connect"), self.segments(name + "connects"), int(found[name + "frames"]))
        closed, again = self._columns(ZeroWindows, name + "zero"), self._columns(Retransmissions, name + "again")
        stalls = closed, again, self._columns(ClockSteps, name + "steps")
        stretches = self._columns(Stretches, name + "extents")
        passcodes = connects.passcodes(self.task.sources, self.task.names)
        missing, listed = found.get(name + "missing", np.zeros(2, np.int64)), (found[name + "number"], found[name + "order"])
        layers = transport_state.unpacked(found, name)
        waited = bool(found.get(name + "waited", True))
        state = learned, resumed, found[name + "conflicts"], stretches, rows, *listed, stalls, passcodes, connects, missing, layers, waited
        return Underway(*state)

    def paused(self, name: str) -> Paused:
        """A session."""
        come = None
        if name + "come" in self.found:
            come = Sessions(**older_states.of_pieces(self.found[name + "come"].tobytes()), upto=self.found[name + "upto"].reshape(1))
        return Paused(session_steps.from_bytes(self.found[name + "state"].tobytes()), come)

    def _columns(self, kind: type[Columns], name: str) -> Columns:
        return kind(*(self.found[f"{name}.{field.name}"] for field in fields(cast("Any", kind))))


def _connection(name: str, one: Underway, capture_ids: pa.Array, source: str) -> Arrays:
    """A connection as arrays whose names begin with `name`."""
    connects = one.connects
    nothing = KeptOctets(connects.segments, np.zeros(connects.segments.num_rows, np.bool_))
    every, none = np.arange(connects.segments.num_rows), pa.array([""] * connects.segments.num_rows)
    rows = segment_rows.of_segments(nothing, every, none, np.zeros(len(every), np.int8), capture_ids, source)
    arrays: Arrays = {
        name + "conflicts": one.conflicts, name + "missing": one.missing, name + "frames": np.array(connects.frames),
        name + "connects": _ipc(rows), name + "number": one.number, name + "order": one.order, name + "waited": np.array(one.waited),
    }  # fmt: skip
    arrays |= transport_state.packed(one.layers, name)
    parts = {"extents": one.stretches, "zero": one.stalls[0], "again": one.stalls[1], "steps": one.stalls[2], "connect": connects.stretches}
    for part, columns in parts.items():
        arrays |= {f"{name}{part}.{field.name}": getattr(columns, field.name) for field in fields(cast("Any", columns))}
    if one.learned is not None:
        arrays[name + "learned"] = np.array([one.learned[word] for word in LEARNED])
    if one.resumed is not None:
        position = one.resumed
        arrays |= {
            name + "state": position.state.numbers, name + "since": np.array(position.since), name + "wait": position.wait,
            name + "presented": position.presented,
        }  # fmt: skip
    return arrays


def _session(name: str, stream: str, paused: Paused) -> Arrays:
    arrays = {name + "stream": np.array(stream), name + "state": _octets(paused.state.to_bytes())}
    if paused.come is not None:
        tables = {table: getattr(paused.come, table) for table in COME}
        arrays |= {name + "upto": np.array(paused.come.upto), name + "come": _octets(session_state.packed(tables))}
    return arrays


def _octets(octets: bytes) -> U8:
    return np.frombuffer(octets, np.uint8)


def _ipc(rows: pa.Table) -> U8:
    """Rows as the octets of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return np.frombuffer(sink.getvalue(), np.uint8)
