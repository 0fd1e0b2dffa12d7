"""The state of a large flow between two runs, as octets: its reassembler, its connections, their sessions and pending verdicts.

Segments in it are rows of table stream_state: headers, places in the captures, and octets as tables show them. Ranks of captures are
those of the run that left it; the next one gives them those of its own. Names and numbers of frames are there as in the tables; a
passcode is not, but where it stands in its capture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.assembly.analyser import Paused
from stompcap.assembly.due import Resumed
from stompcap.assembly.flows import AsTheyStand
from stompcap.assembly.parts import LEARNED, Sessions
from stompcap.assembly.resume import older_states, packing, segment_rows, session_steps, state_layout
from stompcap.assembly.resume.connects import Connects
from stompcap.assembly.resume.octets import KeptOctets
from stompcap.assembly.resume.state_layout import WAITING_TABLES
from stompcap.assembly.task import Task
from stompcap.assembly.underway import Underway
from stompcap.capture.segment_columns import SEGMENTS
from stompcap.columns import I8, I64
from stompcap.stomp.delimiter_io import State
from stompcap.tcp.acknowledged import NOT_YET
from stompcap.tcp.machine import Saved
from stompcap.tcp.results import ClockSteps, Retransmissions, ZeroWindows
from stompcap.transport import layers
from stompcap.transport import state as transport_state
from stompcap.transport.stretches import Stretches

Arrays = dict[str, NDArray[Any]]
Columns = TypeVar("Columns")
ROWS = "stream_state"


@dataclass(frozen=True)
class FlowState:
    """What is taken up again: the reassembler, the connections by their number in the flow, and of those that speak STOMP the session."""

    machine: Saved
    underway: Mapping[int, Underway]
    sessions: Mapping[str, Paused]


def packed(state: FlowState, left: AsTheyStand, flow: int, task: Task) -> bytes:
    """The state of a flow as octets. `left` has its segments among those of others, and the octets that were shown of them."""
    mine, row = left.together.rows_of(flow)
    ids = left.ids().take(pa.array(left.together.reassembly.stream_of[mine]))
    machine, connections = state.machine, state.underway.values()
    held = [machine.held, machine.waiting, *(one.segments for one in connections)]
    read_again = [one.connects.segments for one in connections]
    row = np.append(row, len(mine) + np.arange(sum(table.num_rows for table in read_again)))
    arrays: Arrays = {
        older_states.LAYOUT: older_states.layout(), "captures": np.frombuffer(task.captures.digest, np.uint8),
        "known": np.array(len(task.captures)), "row": row,
        "counts": np.array([table.num_rows for table in held + read_again]), "connections": np.array(list(state.underway), np.int64),
    }  # fmt: skip
    arrays |= {older_states.MACHINE + name: values for name, values in machine.numbers.items()}
    rows = _rows(left.octets, mine, ids, left.role[mine], task)
    if any(table.num_rows for table in read_again):
        rows = pa.concat_tables([rows, _without_octets(pa.concat_tables(read_again), task)])
    arrays |= packing.of_tables({ROWS: rows}, state_layout.now().schemas)
    for number, one in state.underway.items():
        arrays |= _connection(f"{number}.", one)
    for number, (stream, paused) in enumerate(state.sessions.items()):
        arrays |= _session(f"session {number} ", stream, paused)
    return packing.pack(arrays)


def unpacked(octets: bytes, task: Task) -> tuple[FlowState, int | None]:
    """The state that `packed` wrote, and how many captures there were then; None where this task says that they had another order.

    Only where the order is the same, a later run goes on with it. A state of any version is taken up; raises
    stompcap.assembly.resume.older_states.StateError where it lacks what cannot be known any more.
    """
    found = older_states.of_machines(packing.unpack(octets))
    context, known = _Context(found, task), found.get("known")
    captures = task.captures.first(found["captures"].tobytes(), None if known is None else int(known))
    segments = context.segments("rows" if "rows" in found else ROWS).take(pa.array(found["row"])).combine_chunks()
    ends = np.cumsum(found["counts"])
    held, waiting, *left = (segments.slice(end - count, count) for end, count in zip(ends.tolist(), found["counts"].tolist(), strict=True))
    underway, numbers = dict[int, Underway](), found["connections"].tolist()
    for at, number in enumerate(numbers):
        name = f"{number}."
        connects = context.segments(name + "connects") if name + "connects" in found else left[len(numbers) + at]
        underway[number] = context.underway(name, left[at], connects)
    sessions = dict[str, Paused]()
    while (name := f"session {len(sessions)} ") + "stream" in found:
        sessions[str(found[name + "stream"])] = context.paused(name)
    numbers = {name.removeprefix(older_states.MACHINE): values for name, values in found.items() if name.startswith(older_states.MACHINE)}
    return FlowState(Saved(numbers, held, waiting), underway, sessions), captures


class _Context:
    """What is read of a state's arrays."""

    def __init__(self, found: Mapping[str, NDArray[Any]], task: Task) -> None:
        self.found, self.task = found, task

    def segments(self, name: str) -> pa.Table:
        """Rows of table stream_state as segments of this run."""
        table = older_states.table_of(self.found, ROWS) if name == ROWS else packing.to_older_table(self.found[name])
        if table is None:
            return SEGMENTS.empty_table()
        return segment_rows.segments_of(table, self.task.captures.order, self.task.sources.paths)

    def underway(self, name: str, rows: pa.Table, again: pa.Table) -> Underway:
        """A connection whose arrays' names begin with `name`, the segments left of it, and those of its `connects`."""
        found = self.found
        learned = dict(zip(LEARNED, found[name + "learned"].tolist(), strict=True)) if name + "learned" in found else None
        resumed = None
        if name + "state" in found:
            resumed = Resumed(State(found[name + "state"]), int(found[name + "since"]), found[name + "wait"], found[name + "presented"])
        connects = Connects(self._columns(Stretches, name + "connect"), again, int(found[name + "frames"]))
        closed, again = self._columns(ZeroWindows, name + "zero"), self._columns(Retransmissions, name + "again")
        stalls = closed, again, self._columns(ClockSteps, name + "steps")
        stretches = self._columns(Stretches, name + "extents")
        missing, listed = found.get(name + "missing", np.zeros(2, np.int64)), (found[name + "number"], found[name + "order"])
        acked_ns = found.get(name + "acked_ns", np.full(len(rows), NOT_YET))
        layers = transport_state.unpacked(found, name)
        passcodes = connects.passcodes(self.task.sources, self.task.names, layers, self.task.keys)
        waited = bool(found.get(name + "waited", True))
        given = found.get(name + "given", np.full(2, -1))
        state = learned, resumed, found[name + "conflicts"], stretches, rows, *listed, acked_ns, stalls, passcodes, connects, missing
        return Underway(*state, layers, waited, given)

    def paused(self, name: str) -> Paused:
        """A session."""
        found, waiting = self.found, None
        if name + "upto" in found:
            waiting = Sessions(**older_states.of_pieces(found, name), upto=found[name + "upto"].reshape(1))
        return Paused(session_steps.of_arrays(found, name), waiting)

    def _columns(self, kind: type[Columns], name: str) -> Columns:
        return kind(*(self.found[f"{name}.{field.name}"] for field in fields(cast("Any", kind))))


def _rows(kept: KeptOctets, which: I64, ids: pa.Array, role: I8, task: Task) -> pa.Table:
    """Rows of table stream_state for some segments."""
    return segment_rows.of_segments(kept, which, ids, role, task.capture_ids, task.options.source)


def _without_octets(segments: pa.Table, task: Task) -> pa.Table:
    """Rows of table stream_state for segments that are only read again where their captures are still there."""
    count = segments.num_rows
    return _rows(KeptOctets(segments, np.zeros(count, np.bool_)), np.arange(count), pa.array([""] * count), np.zeros(count, np.int8), task)


def _connection(name: str, one: Underway) -> Arrays:
    """A connection as arrays whose names begin with `name`."""
    connects = one.connects
    arrays: Arrays = {
        name + "conflicts": one.conflicts, name + "missing": one.missing,
        name + "given": one.given, name + "frames": np.array(connects.frames),
        name + "number": one.number, name + "order": one.order, name + "acked_ns": one.acked_ns, name + "waited": np.array(one.waited),
    }  # fmt: skip
    arrays |= transport_state.packed(layers.masked(one.layers, one.passcodes), name)
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
    arrays: Arrays = {name + "stream": np.array(stream), **paused.state.arrays(name)}
    if paused.waiting is not None:
        waiting = {f"come {table}": getattr(paused.waiting, table) for table in WAITING_TABLES}
        arrays |= {name + "upto": np.array(paused.waiting.upto), **packing.of_tables(waiting, state_layout.now().schemas, name)}
    return arrays
