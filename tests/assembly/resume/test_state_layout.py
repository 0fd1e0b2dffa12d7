"""States that another version left: each field that has come since says what it was before, and what is left is taken up."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stompcap.assembly.resume import older_states, packing, session_steps, state_layout
from stompcap.capture import SEGMENTS
from stompcap.session import state as session_state
from stompcap.tables import TABLES, words
from stompcap.tcp.copies import empty_memory
from stompcap.tcp.machine import Reassembler, Saved
from stompcap.tcp.results import NO_EXTENTS, NO_REPEATS, NO_STALLS

RELEASED = json.loads((Path(__file__).parent / "layout_of_0_1_0.json").read_text("utf-8"))
"""What the first states had that had a layout: `state_layout.now().json` then. What has come since must be declared."""


def names(fields: list[str]) -> list[str]:
    return [field.split(" ")[0] for field in fields]


def lacking() -> list[tuple[str, str]]:
    """The fields of the present layout that RELEASED has not."""
    now = json.loads(state_layout.now().json)
    found = []
    for kind in ("numbers", "arrays", "schemas"):
        for part, fields in now[kind].items():
            there = names(RELEASED[kind].get(part, fields))
            found += [(part, name) for name in names(fields) if name not in there]
    return found


def test_what_a_new_field_was_before_is_declared() -> None:
    """To mend it: say what the field is in states without it, or LOST: in BEFORE of
    stompcap/assembly/resume/state_layout.py, or as `before` beside the field in stompcap/session."""
    undeclared = [
        (part, name) for part, name in lacking()
        if name not in state_layout.BEFORE.get(part, {}) and state_layout.of_column(part, name) is state_layout.LOST
    ]  # fmt: skip
    assert undeclared == []


def test_what_is_declared_is_there() -> None:
    now = json.loads(state_layout.now().json)
    parts = now["numbers"] | now["arrays"] | now["schemas"]
    assert [(part, name) for part, fields in state_layout.BEFORE.items() for name in fields if name not in names(parts[part])] == []


def test_the_first_layout_is_that_of_the_states_without_one() -> None:
    for kind in ("numbers", "words"):
        assert {part: list(fields) for part, fields in older_states.FIRST[kind].items()} == RELEASED[kind]


@pytest.mark.parametrize(
    "changed",
    [
        {"numbers": {}}, {"arrays": {}}, {"words": {"mode": ("auto",)}}, {"meanings": ("changed",)},
        {"schemas": {**state_layout.now().schemas, "session frames": session_state.FRAMES.append(pa.field("new", pa.string()))}},
    ],
    ids=lambda changed: next(iter(changed)),
)  # fmt: skip
def test_the_version_is_what_the_layout_says(changed: dict[str, Any]) -> None:
    assert replace(state_layout.now(), **changed).digest != state_layout.now().digest
    assert replace(state_layout.now()).digest == state_layout.now().digest


def without(table: str, column: str) -> bytes:
    """The state of a session, with a row in each table, that lacks a column."""
    tables = {}
    for name, schema in {**session_state.SCHEMAS, **state_layout.RULES}.items():
        rows = {field.name: ["FR-01"] if field.name == "rule_id" else pa.nulls(1, field.type) for field in schema}
        found = pa.table(rows).cast(pa.schema([field.with_nullable(True) for field in schema]))
        tables[name] = found.drop_columns([column]) if name == table else found
    return streams_of(tables)


def streams_of(tables: dict[str, pa.Table]) -> bytes:
    """Tables as older versions wrote them: Arrow streams, one behind the other, each with its name."""
    sink = pa.BufferOutputStream()
    for name, table in tables.items():
        schema = table.schema.with_metadata({session_state.NAME: name.encode()})
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_table(table.replace_schema_metadata(schema.metadata))
    return bytes(sink.getvalue().to_pybytes())


UNDECLARED = set(session_state.FRAMES.names) - state_layout.BEFORE.get("session frames", {}).keys()
"""Columns of frames in states of which nothing else is said."""


@pytest.mark.parametrize("column", [column.name for column in TABLES["frames"].columns if column.nullable and column.name in UNDECLARED])
def test_a_column_that_frames_may_leave_out_is_null_in_states_without_it(column: str) -> None:
    found = session_steps.from_bytes(without("frames", column)).session["frames"]
    assert found.schema == session_state.FRAMES
    assert found.column(column).to_pylist() == [None]


def test_a_field_of_records_is_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(older_states, "BEFORE", {"session deliveries": {"aborts": 7}})
    assert session_steps.from_bytes(without("deliveries", "aborts")).session["deliveries"].column("aborts").to_pylist() == [7]


@pytest.mark.parametrize("declared", [{}, {"session deliveries": {"aborts": state_layout.LOST}}], ids=["undeclared", "lost"])
def test_a_state_without_what_cannot_be_known_is_not_taken_up(declared: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(older_states, "BEFORE", declared)
    with pytest.raises(older_states.StateError, match="does not have aborts of session deliveries"):
        session_steps.from_bytes(without("deliveries", "aborts"))


def machine(layout: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a flow without connections, of a layout."""
    numbers = {older_states.MACHINE + name: values for name, values in Reassembler().save().numbers.items()}
    saved = np.frombuffer(json.dumps(layout).encode(), np.uint8)
    return {older_states.LAYOUT: saved, **numbers, "connections": np.empty(0, np.int64)}


STATE = older_states.MACHINE + "state"


def older_machine() -> bytes:
    """The numbers of a reassembler that has seen a packet, as they were octets by themselves: an archive, with all of its memory."""
    memory = empty_memory()
    memory[[3, 70]] = 5
    numbers = dict(Reassembler("s").save().numbers) | {"memory": memory}
    return archive({name: values for name, values in numbers.items() if name != "slots"})


def archive(arrays: dict[str, Any]) -> bytes:
    """The octets of an archive."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("layout", [older_states.FIRST, dict(json.loads(state_layout.now().json))], ids=["no layout", "the present one"])
def test_the_machine_of_an_archive_is_taken_up(layout: dict[str, Any]) -> None:
    arrays = {older_states.LAYOUT: np.frombuffer(json.dumps(layout).encode(), np.uint8), "connections": np.empty(0, np.int64)}
    arrays["machine"] = np.frombuffer(older_machine(), np.uint8)
    if layout is older_states.FIRST:
        parts = {"state": ("connection", "side", "side"), "tallies": ("tallies",)}
        with np.load(io.BytesIO(older_machine())) as found:
            numbers = dict(found)
        for name, of in parts.items():
            numbers[name] = np.empty((0, sum(len(layout["numbers"][part]) for part in of)), np.int64)
        arrays["machine"] = np.frombuffer(archive(numbers), np.uint8)
    found = older_states.of_machines(packing.unpack(packing.pack(arrays)))
    numbers = {name.removeprefix(older_states.MACHINE): values for name, values in found.items()}
    empty = SEGMENTS.empty_table()
    memory = Reassembler.restored(Saved(numbers, empty, empty)).save().numbers
    assert memory["slots"].tolist() == [3, 70]
    assert (memory["memory"] == 5).all()


TYPES: dict[str, Any] = {
    "none": np.empty((0, 5), np.int32), "octets": np.arange(5, dtype=np.uint8), "numbers": np.arange(6).reshape(2, 3), "one": np.array(7),
    "words": np.array(["a", "layer"]), "yes": np.array(True), "word": np.array("über"),
}  # fmt: skip


def test_what_is_packed_is_unpacked() -> None:
    found = packing.unpack(packing.pack(TYPES))
    assert list(found) == list(TYPES)
    for name, values in found.items():
        assert values.dtype == TYPES[name].dtype
        assert values.shape == TYPES[name].shape
        assert (values == TYPES[name]).all()
        assert values.flags.writeable
        assert values.flags.aligned


def test_a_table_of_another_layout_has_the_schema_that_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that has come since, and one that is no more."""
    old = pa.schema([field for field in session_state.SCHEMAS["clocks"] if field.name != "stream_id"] + [pa.field("gone", pa.string())])
    layout = now()
    layout["schemas"]["session clocks"] = [f"{field.name} {field.type}" for field in old]
    table = pa.table({field.name: pa.array(["x", "y"]) if field.name == "gone" else pa.array([1, 2]) for field in old}, old)
    arrays = {older_states.LAYOUT: np.frombuffer(json.dumps(layout).encode(), np.uint8)}
    arrays |= packing.of_tables({"session clocks": table}, {"session clocks": old})
    monkeypatch.setattr(older_states, "BEFORE", {"session clocks": {"stream_id": "s"}})
    found = session_steps.of_arrays(arrays).session["clocks"]
    assert found.schema == session_state.SCHEMAS["clocks"]
    assert found.column("stream_id").to_pylist() == ["s", "s"]
    assert found.column(old.names[0]).to_pylist() == [1, 2]


def now() -> dict[str, Any]:
    return dict(json.loads(state_layout.now().json))


def test_numbers_of_a_connection_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = now()
    connection = layout["numbers"]["connection"]
    layout["numbers"]["connection"] = [*connection[:3], "of_old", *connection[3:-1]]
    monkeypatch.setattr(older_states, "BEFORE", {"connection": {connection[-1]: 5}})
    arrays = machine(layout)
    width = arrays[STATE].shape[1]
    arrays[STATE] = np.arange(width)[None].astype(np.int64)
    state = older_states.of_machines(arrays)[STATE][0].tolist()
    sides = list(range(len(connection), width))
    assert state == [0, 1, 2, *range(4, len(connection)), 5, *sides]


@pytest.mark.parametrize(
    ("kind", "low", "high", "found"),
    [
        ("open", {}, {}, ("open", 0)), ("fin", {"fin_ns": 5}, {}, ("fin", 0)), ("rst", {}, {"rst_ns": 7}, ("rst", 2)),
        ("rst", {"fin_ns": 5}, {"rst_ns": 7}, ("fin", 2)), ("rst", {"rst_ns": 4}, {"fin_ns": 5, "rst_ns": 7}, ("rst", 1)),
    ],
)  # fmt: skip
def test_the_first_close_is_found_where_the_worst_was_kept(
    kind: str, low: dict[str, int], high: dict[str, int], found: tuple[str, int]
) -> None:
    columns = {"close_kind": np.array([words.CLOSE_KINDS.index(kind)])}
    for name, side in (("low", low), ("high", high)):
        layout = {"fin_seen": int("fin_ns" in side), "fin_ns": 0, "rst_ns": 0} | side
        columns |= {f"{name} {one}": np.array([value]) for one, value in layout.items()}
    rst_by = state_layout.BEFORE["connection"]["rst_by"]
    assert callable(rst_by)
    by = rst_by(columns).tolist()
    assert (words.CLOSE_KINDS[columns["close_kind"][0]], by[0]) == found


def columns_of_nothing() -> dict[str, Any]:
    """What is kept in columns of connection 3, which has no octets."""
    nothing = {"extents": NO_EXTENTS, "connect": NO_EXTENTS, "zero": NO_STALLS, "again": NO_REPEATS}
    return {f"3.{part}.{name}": values for part, kind in nothing.items() for name, values in vars(kind).items()}


def test_codes_are_found_by_their_words() -> None:
    layout = now()
    layout["words"]["protocol"] = ["other", *words.PROTOCOLS[:-1]]
    learned = np.zeros(len(layout["numbers"]["learned"]), np.int64)
    arrays = machine(layout) | {"connections": np.array([3]), "3.learned": learned}
    arrays |= columns_of_nothing()
    at = layout["numbers"]["learned"].index("protocol")
    assert words.PROTOCOLS[older_states.of_machines(arrays)["3.learned"][at]] == "other"


@pytest.mark.parametrize("name", sorted(state_layout.now().words.keys() - set(older_states.MAPPED)))
def test_other_codes_must_stand_for_the_same_words(name: str) -> None:
    layout = now()
    layout["words"][name] = layout["words"][name][::-1]
    with pytest.raises(older_states.StateError, match=f"codes of {name} stand for other words"):
        older_states.of_machines(machine(layout))


def test_rows_of_segments_of_each_older_layout_are_read() -> None:
    table = TABLES["stream_state"]
    row = {field.name: pa.array([b"" if pa.types.is_binary(field.type) else None]).cast(field.type) for field in table.arrow}
    row["window_size"], row["layers"] = pa.array([5], pa.int32()), pa.array([6], pa.int64())
    older = pa.table(row).drop_columns(["place", "pieces"]).rename_columns({"window_size": "window", "layers": "outer"})
    (found,) = table.now(older).to_pylist()
    assert (found["window_size"], found["layers"], found["place"], found["pieces"]) == (5, 6, -1, None)
    assert table.now(older).column_names == table.arrow.names
