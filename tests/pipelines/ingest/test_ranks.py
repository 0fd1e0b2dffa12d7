"""Where the captures of a batch stand among those that the lake has, and what the tasks are told of it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest

from pipelines.ingest.baseline import Baseline, as_captures
from pipelines.ingest.ranks import Ranks
from stompcap.capture import Survey

SECOND = 10**9
File = tuple[str, int | None]


def survey(name: str, first: int | None) -> Survey:
    """A capture of ten seconds."""
    first_ns = None if first is None else first * SECOND
    last_ns = None if first_ns is None else first_ns + 10 * SECOND
    row = {"capture_id": name, "path": f"/{name}.pcap", "source": "tap", "first_ns": first_ns, "last_ns": last_ns, "new": True}
    return Survey(row, (), 0)


@pytest.mark.parametrize(
    ("held", "new", "order", "before", "late"),
    [
        ([], [("a", 0)], "a", [], ""),
        ([("a", 0), ("b", 10)], [("c", 20)], "abc", [0, 1], ""),
        ([("b", 10), ("a", 0)], [("c", 20)], "abc", [0, 1], ""),
        ([("a", 0), ("c", 20)], [("b", 10), ("d", 30)], "abcd", [0, 2], "b"),
        ([("a", 0), ("b", 10), ("c", 20)], [("b", 10), ("d", 30)], "abcd", [0, 1, 2], "b"),  # b is read again
        ([("x2", 10)], [("x1", 15)], "x1 x2", [1], "x1"),  # a clock stepped: the name says that x1 was before
        ([("a", None)], [("b", 0)], "ba", [1], "b"),
        ([("a", 0)], [("b", None)], "ab", [0], ""),
    ],
)
def test_ranks(held: Sequence[File], new: Sequence[File], order: str, before: Sequence[int], late: str) -> None:
    known = as_captures([survey(*one).row for one in held])
    ranks = Ranks([survey(*one) for one in new], Baseline(0, captures=known))
    names = order.split() if " " in order else list(order)
    assert ranks.captures.ids.to_pylist() == [ranks.name(rank) for rank in range(len(names))] == names
    assert list(ranks.captures.paths) == [f"/{name}.pcap" for name in names]
    assert ranks.captures.before.tolist() == before
    assert ranks.order == {name: names.index(name) for name, _ in new}
    assert ranks.late == (frozenset([late]) if late else frozenset())
    brought = {name for name, _ in new}
    assert [ranks.row(rank)["path"] for rank in range(len(names))] == [f"/{name}.pcap" for name in names]
    assert [bool(ranks.row(rank).get("new")) for rank in range(len(names))] == [name in brought for name in names]


def test_of_two_steps_those_behind_have_later_clocks() -> None:
    ranks = Ranks([survey("x3", 12)], Baseline(0, captures=as_captures([survey("x1", 0).row, survey("x2", 5).row])))
    assert [clock & 0xFFFFFFFF for clock in ranks.captures.clocks.tolist()[:3]] == [0, 1, 2]
    assert ranks.now_ns == 22 * SECOND


def test_tasks_look_for_secrets_only_in_captures_that_have_some() -> None:
    told = [("x0", False, "pcapng"), ("x1", True, "pcapng"), ("x2", None, "pcap"), ("x3", None, "pcapng")]
    held = [survey(name, at * 20).row | {"has_secrets": some, "format": kind} for at, (name, some, kind) in enumerate(told)]
    ranks = Ranks([survey("x4", 100)], Baseline(0, captures=as_captures(held)))
    assert [ranks.name(rank) for rank in pickle.loads(pickle.dumps(ranks.captures)).secrets.tolist()] == ["x1", "x3"]
