"""Captures are ranked all at once as they are one by one; and what tasks are given of them arrives as it was sent."""

from __future__ import annotations

import hashlib
import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import file_names, ranking
from stompcap.capture.by_rank import CapturesByRank
from stompcap.capture.rotation import SAME_CLOCK, STEPS, File, in_rotation, in_turn, steps_of, without_packing

SECOND = 10**9
NAMES = [
    "a{n}", "a{n}.pcap", "d/a_{n:05}_{t}.pcapng", "a-{t}", "x{n}.gz", "a.pcap{n}", "a.pcap", "cap{k}-{n}.pcap", "\xe9{n}.pcap",
    "h1/{t}_{n:03}", "/a{n}", "a/{t}{t}-{n}.pcap.ZST", "{n}", "", "a\u0663{n}", "/", "{t}/a{n}",
]  # fmt: skip
TYPES = {"capture_id": pa.string(), "path": pa.string(), "source": pa.string(), "first_ns": pa.int64(), "last_ns": pa.int64()}
STAMPS = ["%Y%m%d%H%M%S", "%Y-%m-%d_%H.%M.%S", "%Y%m%d%H%M"]


def one_by_one(rows: Iterable[Mapping[str, Any]]) -> tuple[list[tuple[str, int, int]], int]:
    """By the definition: each file by itself to its rotation, each rotation by itself in order; ids with their clocks, and now."""
    rows = list(rows)
    paths = [without_packing(row["path"] or "") for row in rows]
    numbered = {re.sub(r"\d+$", "", path) for path in paths if re.search(r"\d+$", path)}
    rotations: dict[tuple[str, ...], list[File]] = {}
    keys: list[tuple[tuple[bool, int, Any, str], tuple[str, int, int]]] = []
    for row, path in zip(rows, paths, strict=True):
        name = in_rotation(path + ("0" if path in numbered else ""))
        if row["first_ns"] is None:
            keys.append(((True, 0, in_rotation(path), row["capture_id"]), (row["capture_id"], SAME_CLOCK, 0)))
            continue
        folder, _, last = (path + ("0" if path in numbered else "")).rpartition("/")
        parts = re.split(r"(\d+)", file_names.TIME.sub("\0", last))
        number, times = int(parts[-2]) if len(parts) > 1 else 0, tuple(file_names.TIME.findall(last))
        rotations.setdefault((row["source"], folder, *parts[:-2], parts[-1]), []).append(File(row, name, number, times))
    now_ns = 0
    for rotation, files in enumerate(rotations.values()):
        turn = in_turn(files)
        begins, steps = steps_of(turn)
        now_ns = max(now_ns, *(file.last_ns for file, step in zip(turn, steps, strict=True) if step == steps[-1]))
        for file, begin, step in zip(turn, begins, steps, strict=True):
            clock = (rotation, step) if steps[-1] else (SAME_CLOCK, 0)
            keys.append(((False, begin, in_rotation(file.path), file.row["capture_id"]), (file.row["capture_id"], *clock)))
    return [said for _, said in sorted(keys)], now_ns


def at_once(rows: Iterable[Mapping[str, Any]]) -> tuple[list[tuple[str, int, int]], int]:
    found = ranking.ranked(rows)
    clocks = [(SAME_CLOCK, 0) if clock == SAME_CLOCK else (clock >> STEPS, clock & (1 << STEPS) - 1) for clock in found.clocks]
    return [(row["capture_id"], *clock) for row, clock in zip(found.rows, clocks, strict=True)], found.now_ns


def renumbered(found: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Rotations by numbers of their own, in the order in which they come."""
    numbers: dict[int, int] = {SAME_CLOCK: SAME_CLOCK}
    return [(name, numbers.setdefault(rotation, len(numbers)), step) for name, rotation, step in found]


@st.composite
def captures(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Captures of a few programs, most of which follow each other; some clocks step, some numbers come again, some have no times."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
    rows, at = list[dict[str, Any]](), 0
    for index in range(draw(st.integers(0, 30))):
        at += draw(st.sampled_from([10, 10, 10, 10, 0, 1, -5, -100, 3600 * 30]))
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=at)
        number = draw(st.sampled_from([index, index, index, index, index, 3]))
        stamp = moment.strftime(draw(st.sampled_from(STAMPS)))
        first = draw(st.sampled_from([at * SECOND] * 9 + [None]))
        last = None if first is None else first + draw(st.sampled_from([9 * SECOND, 10 * SECOND, 11 * SECOND, 0, 10 * SECOND + 200_000]))
        path = draw(st.sampled_from(names)).format(n=number, t=stamp, k=draw(st.integers(1, 2)))
        source = draw(st.sampled_from(["a", "a", "b"]))
        rows.append({"path": path, "first_ns": first, "last_ns": last, "source": source, "capture_id": f"{index:03}"})
    return draw(st.permutations(rows))


@pytest.mark.parametrize("few", [1, 8])
def test_all_at_once_is_as_one_by_one(few: int) -> None:
    @given(captures())
    def ranks(rows: list[dict[str, Any]]) -> None:
        (one, now), (all_, all_now) = one_by_one(rows), at_once(rows)
        assert (renumbered(all_), all_now) == (renumbered(one), now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_names, "FEW", few)
        ranks()


def ordered(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], bool]:
    """Ids in order, and whether the order is steady."""
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}
    found = ranking.in_order(pa.table(columns))
    return [rows[at]["capture_id"] for at in found.rows.tolist()], found.steady


@given(captures(), st.data())
def test_a_steady_order_is_that_of_any_part(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    every, steady = ordered(rows)
    part = [row for row in rows if data.draw(st.booleans())]
    if steady:
        names = {row["capture_id"] for row in part}
        assert ordered(part) == ([name for name in every if name in names], True)


@pytest.mark.parametrize(
    ("files", "steady"),
    [
        (["a0 0", "a1 10", "a2 20"], True), (["a0 0", "a2 20", "a1 10"], True), (["a0 0", "a1 10", "b0 5", "b1 15"], True),
        (["a0 0", "a1 5"], False),  # they overlap
        (["a0 20", "a1 0"], False),  # a clock stepped, as names say
        (["a0 0", "a1 10", "a1 20"], False),  # a part may have each number once
        (["a 0", "a1 10"], False),  # without the second, the first may be of another rotation
        ([], True),
    ],
)  # fmt: skip
def test_which_order_is_steady(files: Sequence[str], steady: bool) -> None:
    told = [(name, int(first) * SECOND) for name, first in map(str.split, files)]
    rows = [
        {"path": name, "first_ns": first, "last_ns": first + 10 * SECOND, "source": "a", "capture_id": f"{at}"}
        for at, (name, first) in enumerate(told)
    ]
    assert ordered(rows)[1] == steady


def chained(ids: Sequence[str]) -> bytes:
    return hashlib.sha256(",".join(ids).encode()).digest()


@pytest.mark.parametrize("before", [[], ["a"], ["a", "b"], ["b", "a"], ["a", "gone", "b"], ["gone"]])
@pytest.mark.parametrize("travelled", [False, True])
def test_what_tasks_have_of_captures(before: list[str], travelled: bool) -> None:
    sent = CapturesByRank.of([("/x", "a"), ("/y", "b"), ("/z", "c")], before)
    sent.clocks[1] = 7
    found = pickle.loads(pickle.dumps(sent)) if travelled else sent
    assert (found.ids.to_pylist(), list(found.paths), found.paths[1], len(found)) == (["a", "b", "c"], ["/x", "/y", "/z"], "/y", 3)
    assert (dict(found.order), found.order.get("gone")) == ({"a": 0, "b": 1, "c": 2}, None)
    assert found.clocks.tolist() == [SAME_CLOCK, 7, SAME_CLOCK, SAME_CLOCK]
    assert found.before.tolist() == [{"a": 0, "b": 1}.get(name, -1) for name in before]
    assert found.digest == chained(["a", "b", "c"])
    known = before[: before.index("gone")] if "gone" in before else before
    for count in range(len(before) + 1):
        assert found.first(chained(before[:count]), count) == (count if count <= len(known) else None)
        assert found.first(chained(before[:count]), None) == (count if count <= len(known) else None)
        assert found.first(chained(["else"]), count) is None
    assert found.first(chained([*before, "later"]), len(before) + 1) is None


def test_an_order_that_is_no_longer_takes_few_octets() -> None:
    ids = [hashlib.sha256(b"%d" % at).hexdigest() for at in range(5000)]
    pairs = [(f"/captures/tap-3/eth0-{at:06}.pcap", name) for at, name in enumerate(ids)]
    octets = pickle.dumps(CapturesByRank.of(pairs, ids))
    assert len(octets) < 50 * len(ids)  # an id has 32 that nothing makes smaller
    assert (pickle.loads(octets).before == np.arange(len(ids))).all()
