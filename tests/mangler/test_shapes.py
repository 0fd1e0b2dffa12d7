"""Files that lost the order of the packets: where times are right the tables are those of one file, but for what counts order itself.

Where they are not, all is found that is found in one file, and no duration or finding by the clock is another: it is the same, or missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.pure import tables_of
from tests.e2e.runs import Lake
from tests.e2e.test_clocks import BY_CLOCK, DURATIONS
from tests.e2e.truth import DATA
from tests.examples import THOROUGH, every, slow_behind
from tests.mangler.compare import Tables, both_ways, differences, named, rows_of
from tests.mangler.packagings import in_turn
from tests.mangler.shapes import IN_RUNS, SHAPES, Shape

RECORDED = every(3, sorted(path.name for path in DATA.glob("*.pcap*")))
A_SHARE = 1 if THOROUGH else 8
"""Of each dialogue the recording of one broker, in turn, in every eighth shape, beginning elsewhere each time; or all if thorough."""

STEPPED = {name: shape for name, shape in (SHAPES | IN_RUNS).items() if "step back" in name and "2 ms" not in name}
STEADY = {name: shape for name, shape in SHAPES.items() if name not in STEPPED}
"""A step of 2 ms hides in a pause between two files: nothing but order is told of it."""
ORDER = {"streams": ("history", "clock_steps_back", "acks_against_time", *both_ways("out_of_order_segments"))}
STATUSES = {
    "deliveries": ("status", "settled_by"), "receipts": ("status",), "transactions": ("outcome",), "subscriptions": ("status",),
    "frames": ("command", "version"), "raw_frames": ("kind", "wire_order"), "segments": ("new_octets", "wire_order"),
}  # fmt: skip
KEYS = {"deliveries": "stream_offset", "receipts": "request_offset", "transactions": "begin_offset"}
BY_TIMES = {*BY_CLOCK, "HB-01", "HB-02", "HB-06", "HB-07", "SN-05", "SB-05", "FR-19b"}
"""Rules that a step leaves open: by the clock, by the time from a fault to its ERROR, and heart-beats, as a silence is not known."""


@cache
def whole(name: str) -> Tables:
    return rows_of([DATA / name])


def found_in(name: str, shape: Shape, folder: Path) -> Tables:
    """The tables of a recording in that shape."""
    runs = [[str(path) for path in run] for run in shape.files(DATA / name, folder)]
    if len(runs) == 1:
        return named(tables_of(runs[0]))
    lake = Lake()
    for run in runs:
        lake.run(run)
    return named({table: lake.table(table) for table in {*lake.final, *lake.open} - {"stream_state"}})


def of(tables: Tables, table: str, *, crossed: bool) -> list[tuple[str, ...]]:
    """What a table says apart from times and ids; and where rows stand, but for those that `crossed`."""
    names = ("stream", "direction", "stream_offset", *(name for name in STATUSES[table] if not (crossed and name == "wire_order")))
    return sorted(tuple(str(row.get(name)) for name in names) for row in tables.get(table, []))


def check(name: str, shape: Shape, folder: Path) -> Tables:
    """Returns the tables of the shape."""
    found, wanted = found_in(name, shape, folder), whole(name)
    for table in STATUSES:
        crossed = not shape.times  # nothing tells how, but the times
        assert of(found, table, crossed=crossed) == of(wanted, table, crossed=crossed), (name, table)
    if shape.times:
        lines = differences(found, wanted, ORDER)
        assert not lines, "\n".join(lines[:20])
    return found


def by_key(tables: Tables, table: str) -> dict[tuple[Any, ...], Mapping[str, Any]]:
    return {(row["stream"], row.get("direction"), row.get(KEYS.get(table, ""))): row for row in tables.get(table, [])}


def broken(tables: Tables) -> Counter[tuple[Any, ...]]:
    names = ("rule_id", "stream", "level", "direction", "stream_offset")
    return Counter(tuple(row[name] for name in names) for row in tables.get("compliance_findings", []))


def check_times(name: str, shape: Shape, folder: Path) -> None:
    """Each duration, finding and verdict by the clock is that of one file, or missing."""
    found, wanted = check(name, shape, folder), whole(name)
    for table, columns in (*DURATIONS.items(), ("heartbeats", ("observed_ms",))):
        mine, true = by_key(found, table), by_key(wanted, table)
        assert mine.keys() == true.keys(), table
        for key, row in mine.items():
            assert all(row[column] in (None, true[key][column]) for column in columns), (table, key)
    more, less = broken(found) - broken(wanted), broken(wanted) - broken(found)
    assert not more
    assert {rule for rule, *_ in less} <= BY_TIMES
    true = by_key(wanted, "heartbeats")
    for key, row in by_key(found, "heartbeats").items():
        assert row["verdict"] in ("not_evaluable", true[key]["verdict"]), key
        assert all(row[column] <= true[key][column] for column in ("violations", "dead")), key


@pytest.mark.parametrize("shape", slow_behind(5, list(STEADY.values())), ids=STEADY)
def test_order_is_that_of_one_file(shape, tmp_path):
    check("activemq_dialogue.pcap", shape, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["activemq_dialogue.pcap", "rabbitmq_bodies.pcap"])  # long, and shorter than the step
@pytest.mark.parametrize("shape", STEPPED.values(), ids=STEPPED)
def test_no_time_is_compared_with_one_from_before_a_step(shape, name, tmp_path):
    check_times(name, shape, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), in_turn(RECORDED, STEADY, A_SHARE))
def test_order_is_that_of_one_file_of_recordings(name, words, tmp_path):
    check(name, STEADY[words], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), in_turn(RECORDED, STEPPED, A_SHARE))
def test_no_time_is_compared_with_one_from_before_a_step_of_recordings(name, words, tmp_path):
    check_times(name, STEPPED[words], tmp_path)
