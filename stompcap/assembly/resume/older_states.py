"""States that another version wrote, taken up by this one: what has another layout is given the present one, by the names of its fields.

States had no layout with them at first: that was FIRST. What cannot be taken up raises StateError. Rows of table stream_state, which had
other columns too, are read by the table's declaration (`stompcap.tables.schema.Table.now`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stompcap.assembly.resume import packing
from stompcap.assembly.resume.first_layout import FIRST, SavedLayout
from stompcap.assembly.resume.state_layout import BEFORE, LAYER, LOST, RULES, WAITING_TABLES, Value, now, of_column
from stompcap.rules.tally import IDS
from stompcap.session import state as session_state
from stompcap.session.state import SCHEMAS
from stompcap.tables import TABLES
from stompcap.tcp.block import nothing_carried
from stompcap.tcp.copies import empty_memory, filled
from stompcap.tcp.results import NO_REPEATS, NO_STALLS, NO_STEPS
from stompcap.transport import state as transport_state
from stompcap.transport.state import LayerState
from stompcap.transport.stretches import NO_STRETCHES

Array = NDArray[Any]
Arrays = Mapping[str, Array]
Tables = dict[str, pa.Table]
LAYOUT = "layout"
MACHINE = "machine."
"""What the names of the reassembler's arrays begin with."""

STATE = "state"
"""What the tables of a session were called when they were octets together."""

MACHINE_OCTETS = "machine"
"""What these were called that were octets by themselves."""

PARTS_OF_SESSION = {name: f"session {name}" for name in SCHEMAS} | {name: name for name in RULES}
"""What the layout calls the state tables of a session, and what the rules keep of it."""

MAPPED = ("protocol", "transport")
"""Codes that are in one place only, so that words may come and change places; other words must be the same."""

PARTS = {"extents": NO_STRETCHES, "connect": NO_STRETCHES, "zero": NO_STALLS, "again": NO_REPEATS, "steps": NO_STEPS}
"""What is kept of a connection in columns of numbers, by name."""

SESSION = (
    "frames", "rows", "segments", "stalls", "first", "counters", "subscriptions", "transactions", "receipts", "deliveries", "heartbeats",
    "counts", "pending",
)  # fmt: skip
"""The order of a session's tables in states of the layout FIRST, which do not name them."""


class StateError(ValueError):
    """A state that this version cannot go on with, and why, in words."""


def why(error: Exception) -> str:
    """Why a state cannot be taken up, in words."""
    return str(error) if isinstance(error, StateError) else f"{type(error).__name__}"


def layout() -> Array:
    """The present layout, as a state has it."""
    return np.frombuffer(now().packed, np.uint8)


def of_session(arrays: Arrays, prefix: str = "") -> Tables:
    """The state tables of a session, and what the rules keep of it, that any version wrote; of rules that are no more nothing is left.

    They are among `arrays`, by names that begin with `prefix`.
    """
    found = _tables(arrays, prefix, STATE, SESSION, PARTS_OF_SESSION)
    for name in RULES:
        if found[name].num_rows:
            found[name] = found[name].filter(pc.is_in(found[name].column("rule_id"), value_set=IDS))
    return found


def of_pieces(arrays: Arrays, prefix: str) -> Tables:
    """Rows of a session that no step has had yet, as any version wrote them."""
    return _tables(arrays, prefix, "come", WAITING_TABLES, {name: f"come {name}" for name in WAITING_TABLES})


def table_of(found: Arrays, part: str, prefix: str = "") -> pa.Table | None:
    """A table as it was written, None where it has no rows; `part` is what the layout calls it."""
    if prefix + part not in found:
        return None
    octets = bytes(found[LAYOUT])
    if octets == now().packed:
        return packing.to_table(found[prefix + part], now().schemas[part])
    return packing.to_table(found[prefix + part], pa.schema([_field(*field.split(" ", 1)) for field in _parsed(octets)["schemas"][part]]))


def _parsed(octets: bytes) -> SavedLayout:
    """A layout that a state has with it."""
    saved: SavedLayout = json.loads(octets if octets.startswith(b"{") else zlib.decompress(octets))
    return saved


def _field(name: str, kind: str) -> pa.Field:
    if kind not in _types():
        raise StateError(f"its {name} is {kind}, which nothing is any more")
    return pa.field(name, _types()[kind])


@cache
def _types() -> Mapping[str, pa.DataType]:
    """The types of all columns, by what a layout calls them."""
    schemas = [*now().schemas.values(), *(table.arrow for table in TABLES.values())]
    return {str(field.type): field.type for schema in schemas for field in schema}


def _tables(arrays: Arrays, prefix: str, together: str, order: Sequence[str], parts: Mapping[str, str]) -> Tables:
    """Tables by name in their present schemas; `parts` is what the layout calls them.

    They may be octets `together`; `order` is that of those among them without names.
    """
    if prefix + together in arrays:
        found = session_state.unpacked(arrays[prefix + together].tobytes(), order)
        return {name: _table(part, found.get(name)) for name, part in parts.items()}
    return {name: _table(part, table_of(arrays, part, prefix)) for name, part in parts.items()}


def _table(part: str, found: pa.Table | None) -> pa.Table:
    schema = now().schemas[part]
    if found is None:
        return schema.empty_table()
    if found.schema.equals(schema):
        return found
    count = found.num_rows
    columns = []
    for field in schema:
        if field.name in found.column_names:
            columns.append(found.column(field.name).cast(field.type))
        else:
            columns.append(pa.repeat(pa.scalar(_before(part, field.name, count), field.type), count))
    return pa.Table.from_arrays(columns, schema=schema)


def _before(part: str, name: str, count: int) -> Any:
    """What a field is in `count` rows that do not have it."""
    saved = BEFORE.get(part, {})
    value: Value = saved[name] if name in saved else of_column(part, name)
    if value is LOST and count:
        raise StateError(f"it does not have {name} of {part}")
    return None if value is LOST else value


def of_machines(found: Arrays) -> Arrays:
    """The arrays of a flow's state, which any version wrote, in the present layout."""
    if LAYOUT in found and bytes(found[LAYOUT]) == now().packed:
        return found
    saved = _parsed(bytes(found[LAYOUT])) if LAYOUT in found else FIRST
    _demand_known(saved)
    arrays = dict(found)
    arrays |= {MACHINE + name: values for name, values in _reassembler(_machine(found), saved).items()}
    for number in found["connections"].tolist():
        name = f"{number}."
        for part, kind in PARTS.items():
            arrays |= _columns(found, f"{name}{part}.", kind)
        arrays |= _layers(found, name)
        if name + "learned" in found:
            arrays[name + "learned"] = _coded(_numbers(found[name + "learned"][None], "learned", saved)[0], saved)
        if name + "state" in found:
            arrays[name + "state"] = _numbers(found[name + "state"], "delimiter", saved)
    return arrays


def _demand_known(saved: SavedLayout) -> None:
    """Raise StateError where codes or fields have another meaning now."""
    if list(saved["meanings"]) != list(now().meanings):
        raise StateError(f"what it says has another meaning now: {'; '.join(now().meanings[len(saved['meanings']) :])}")
    for name, words in now().words.items():
        if name not in MAPPED and tuple(saved["words"].get(name, words)) != words:
            raise StateError(f"its codes of {name} stand for other words now")


def _machine(found: Arrays) -> dict[str, Array]:
    """The numbers of the reassembler, which were octets by themselves, with all of its memory."""
    if MACHINE_OCTETS not in found:
        return {name.removeprefix(MACHINE): values for name, values in found.items() if name.startswith(MACHINE)}
    arrays = packing.unpack(found[MACHINE_OCTETS].tobytes())
    if arrays["memory"].shape == empty_memory().shape:
        arrays["slots"], arrays["memory"] = filled(arrays["memory"])
    return arrays


def _reassembler(arrays: dict[str, Array], saved: SavedLayout) -> Arrays:
    """The numbers of a reassembler (stompcap.tcp.machine)."""
    begun = nothing_carried()
    arrays["state"] = _connections(arrays["state"], saved)
    arrays["tallies"] = _numbers(arrays["tallies"], "tallies", saved)
    if tuple(saved["numbers"]["copies"]) != now().numbers["copies"] or "slots" not in arrays:
        arrays["slots"], arrays["memory"] = filled(empty_memory())  # a packet of the last milliseconds that comes again is sent again
    for name in now().arrays["Carried"]:
        if name not in arrays:
            like, count = getattr(begun, name), len(arrays["number"])
            arrays[name] = np.full((count, *like.shape[1:]), _before("Carried", name, count) or 0, like.dtype)
    return arrays


def _columns(found: Arrays, name: str, kind: object) -> dict[str, Array]:
    """The columns of extents or stalls."""
    part, count = type(kind).__name__, len(found.get(f"{name}stream", ()))
    columns = {one: found[name + one] for one in now().arrays[part] if name + one in found}
    lacking = {}
    for one in now().arrays[part]:
        if one not in columns:
            before = _before(part, one, count)
            lacking[name + one] = before(columns) if callable(before) else np.full(count, before or 0, getattr(kind, one).dtype)
    return lacking


def _layers(found: Arrays, name: str) -> Arrays:
    """The fields of a connection's layers that have been added since."""
    stack = []
    for one in transport_state.unpacked(found, name):
        part = LAYER + one.kind
        if part not in now().arrays:
            raise StateError(f"{one.kind} is no layer any more")
        lacking = {field: _before(part, field, 1) for field in now().arrays[part] if field not in one.kept}
        added = {field: np.array(before(one.kept) if callable(before) else before) for field, before in lacking.items()}
        stack.append(LayerState(one.kind, added))
    return transport_state.packed(tuple(stack), name)


def _connections(state: Array, saved: SavedLayout) -> Array:
    """The numbers of connections (stompcap.tcp.state): their own, then those of both sides."""
    of, width = (len(saved["numbers"][part]) for part in ("connection", "side"))
    low, high = (state[:, of + side * width : of + (side + 1) * width] for side in range(2))
    beside = {f"{name} {one}": column for name, side in (("low", low), ("high", high))
              for one, column in zip(saved["numbers"]["side"], side.T, strict=True)}  # fmt: skip
    sides = [_numbers(one, "side", saved) for one in (low, high)]
    return np.concatenate([_numbers(state[:, :of], "connection", saved, beside), *sides], axis=1)


def _numbers(matrix: Array, part: str, saved: SavedLayout, beside: Arrays | None = None) -> Array:
    """A matrix of numbers whose columns are a part of the layout; `beside` are columns of others, for functions of them."""
    then, count = list(saved["numbers"][part]), len(matrix)
    if matrix.shape[1] != len(then):
        raise StateError(f"it has {matrix.shape[1]} numbers in {part}, not {len(then)}")
    columns = dict(beside or {}) | {name: matrix[:, at] for at, name in enumerate(then)}
    for name in now().numbers[part]:
        if name not in columns:
            before = _before(part, name, count)
            columns[name] = before(columns) if callable(before) else np.full(count, before or 0)
    return np.stack([columns[name] for name in now().numbers[part]], axis=1).astype(matrix.dtype)


def _coded(learned: Array, saved: SavedLayout) -> Array:
    """What was learned of a connection, with the present codes of words."""
    found = learned.copy()
    for name in MAPPED:
        at, words = now().numbers["learned"].index(name), now().words[name]
        then = saved["words"][name]
        if found[at] >= 0:
            word = then[found[at]]
            if word not in words:
                raise StateError(f"{word} is no {name} any more")
            found[at] = words.index(word)
    return found
