"""Sums tell multisets of points apart, in any order and division of the rows, and tell every broken tiling."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.quality.invariants import INVARIANTS, PROOFS, TILING, Condition, Points, among, provable
from stompcap.quality.sums import MASK, OFFSET, WORD, Rows, id_hashes, mixed, string_hash
from stompcap.tables import TABLES

STREAMS = st.sampled_from(["0" * 20, "1" * 20])
LENGTHS = st.lists(st.integers(1, 2**40), min_size=1, max_size=8)


def raw(intervals: list[tuple[int, int]], stream: str = "a") -> Rows:
    return Rows(pa.table({
        "stream_id": [stream] * len(intervals), "direction": ["c2s"] * len(intervals),
        "stream_offset": [a for a, _ in intervals], "length_octets": [n for _, n in intervals],
    }))


def tiles(intervals: list[tuple[int, int]], octets: int) -> bool:
    """Whether intervals of one direction tile [0, octets), by the invariant's points."""
    rows = raw(intervals)
    streams = Rows(pa.table({
        "stream_id": ["a"], "protocol": ["stomp"], "octets_c2s": [octets], "octets_s2c": [0],
    }))
    rule = next(rule for rule in INVARIANTS if rule.name == TILING)

    def side(points: tuple[Points, ...]) -> int:
        return sum((rows if p.table == "raw_frames" else streams).sum(p)[1] for p in points) & MASK

    return side(rule.left) == side(rule.right)


def test_the_finaliser_is_that_of_splitmix64() -> None:
    states = [(1234567 + n * 0x9E3779B97F4A7C15) & MASK for n in (1, 2, 3)]
    # the first outputs of splitmix64 for seed 1234567 (Rosetta Code, "Pseudo-random numbers/Splitmix64")
    assert mixed(np.array(states, np.uint64)).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(LENGTHS, st.randoms(use_true_random=False))
def test_what_meets_end_to_start_tiles_in_any_order(lengths: list[int], random: object) -> None:
    ends = np.cumsum(lengths).tolist()
    intervals = [(end - length, length) for end, length in zip(ends, lengths, strict=True)]
    assert tiles(intervals[::-1], ends[-1])
    assert not tiles(intervals[1:], ends[-1])
    assert not tiles([*intervals, intervals[0]], ends[-1])
    assert not tiles(intervals, ends[-1] + 1)
    assert not tiles([(intervals[0][0] + 1, intervals[0][1]), *intervals[1:]], ends[-1])


@given(st.lists(st.tuples(STREAMS, st.integers(0, 2**62)), max_size=20), st.integers(0, 20))
def test_a_sum_is_that_of_its_parts(rows: list[tuple[str, int]], cut: int) -> None:
    points = Points("receipts", ("request_offset",), "c2s")

    def total(some: list[tuple[str, int]]) -> tuple[int, int]:
        table = pa.table({
            "stream_id": pa.array([s for s, _ in some], pa.string()), "request_offset": pa.array([o for _, o in some], pa.int64()),
        })
        return Rows(table).sum(points) if some else (0, 0)

    whole, parts = total(rows), [total(rows[:cut]), total(rows[cut:][::-1])]
    assert whole == (sum(n for n, _ in parts), sum(s for _, s in parts) & MASK)


ID = st.text("0123456789abcdef", min_size=20, max_size=20)
NEARLY = ID.flatmap(lambda name: st.sampled_from([name.upper(), name[1:], name[1:] + "g", name[1:] + "é"]))


@given(st.lists(st.one_of(ID, NEARLY, st.text(max_size=21)), max_size=8), st.integers(0, 3))
def test_an_id_of_a_stream_is_its_own_hash_and_other_strings_are_hashed(names: list[str], begin: int) -> None:
    found = id_hashes(pa.array(names, pa.string()).slice(begin)).tolist()

    def expected(name: str) -> int:
        if not re.fullmatch("[0-9a-f]{20}", name):
            return string_hash(name)
        return (int(name[:16], 16) + int(name[16:], 16) * int(WORD) + int(OFFSET)) & MASK

    assert found == [expected(name) for name in names[begin:]]


@pytest.mark.parametrize(("condition", "expected"), [
    (Condition("command", ("SEND",)), [True, False, False]),
    (Condition("command", ("SEND",), negated=True), [False, True, False]),
    (Condition("command"), [True, True, False]),
    (Condition("n", least=1), [False, True, False]),
])
def test_conditions_admit_no_null(condition: Condition, expected: list[bool]) -> None:
    rows = Rows(pa.table({"command": ["SEND", "ACK", None], "n": [0, 1, None]}))
    assert rows.meet(condition).tolist() == expected


def test_times_count_a_point_so_often() -> None:
    rows = Rows(pa.table({"stream_id": ["a", "b"], "rule_id": ["r", "r"], "failed": [2, 0]}))
    twice = Rows(pa.table({"stream_id": ["a", "a"], "rule_id": ["r", "r"]}))
    assert rows.sum(Points("compliance", side="", word="rule_id", times=("failed",))) == twice.sum(
        Points("compliance_findings", side="", word="rule_id"))


def test_keys_tell_nulls_from_zeros_and_columns_from_each_other() -> None:
    rows = Rows(pa.table({"a": [0, None, 1, 0], "b": ["", "", "x", None], "c": [1, 1, 0, 1]}))
    assert len(set(rows.keys(("a", "b", "c")).tolist())) == 4
    assert rows.keys(("a", "c")).tolist()[0] != rows.keys(("c", "a")).tolist()[0]


def test_every_invariant_names_columns_that_its_tables_have() -> None:
    for rule in INVARIANTS:
        for points in rule.left + rule.right:
            for name in points.columns:
                TABLES[points.table].column(name)
    assert among(list(TABLES)) == INVARIANTS
    assert set(provable(list(TABLES))) == set(PROOFS)
    assert provable(["raw_frames", "frames"]) == {}
