"""What tasks are told of captures: as of all of them, in as few octets as those that they read take."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture.by_rank import CapturesByRank
from stompcap.capture.rotation import SAME_CLOCK
from stompcap.capture.some_by_rank import SomeByRank


def captures(count: int, before: Sequence[str] = ()) -> CapturesByRank:
    return CapturesByRank.of([(f"/tap/eth0-{at:06}.pcap", hashlib.sha256(b"%d" % at).hexdigest()) for at in range(count)], before)


def nobody() -> CapturesByRank:
    raise AssertionError


def asked(every: CapturesByRank, count: list[int]) -> Callable[[], CapturesByRank]:
    def ask() -> CapturesByRank:
        count[0] += 1
        return every

    return ask


def ids(found: CapturesByRank | SomeByRank, ranks: Sequence[int | None]) -> list[str | None]:
    taken: list[str | None] = found.ids.take(pa.array(ranks, pa.int32())).to_pylist()
    return taken


@given(st.integers(1, 9), st.data())
def test_it_says_what_is_said_of_all(count: int, data: st.DataObject) -> None:
    every, count_asked = captures(count), [0]
    if data.draw(st.booleans()):
        every.clocks[data.draw(st.integers(0, count - 1))] = 7
    own = data.draw(st.sets(st.integers(0, count - 1)))
    some = SomeByRank(every, own, asked(every, count_asked))
    here = {*own, count - 1}
    ranks = data.draw(st.lists(st.none() | st.integers(0, count - 1)))
    assert ids(some, ranks) == ids(every, ranks)
    assert (count_asked[0] == 0) == ({rank for rank in ranks if rank is not None} <= here)
    for rank in range(count):
        count_asked[0] = 0
        name = every.ids[rank].as_py()
        assert (some.paths[rank], some.order[name], some.order.get(name)) == (every.paths[rank], rank, rank)
        assert (count_asked[0] == 0) == (rank in here)
    assert some.order.get("gone", -3) == -3
    assert (list(some.paths), dict(some.order), len(some)) == (list(every.paths), dict(every.order), count)
    assert some.clocks.tolist() == every.clocks.tolist()
    assert some.ids[-1].as_py() == every.ids[-1].as_py()


def test_of_the_captures_that_tasks_read_none_is_asked_for() -> None:
    every = captures(100)
    some = SomeByRank(every, [98, 3], nobody)
    assert (some.digest, some.ids[-1], some.ids[3]) == (every.digest, every.ids[99], every.ids[3])
    assert ids(some, [3, None, 98, 3]) == ids(every, [3, None, 98, 3])
    assert (some.paths[98], some.order[every.ids[3].as_py()]) == (every.paths[98], 3)
    assert some.clocks.tolist() == [SAME_CLOCK] * 101
    assert some.secrets.tolist() == every.secrets.tolist()


def test_what_the_run_before_had_is_that_of_all() -> None:
    before = captures(5).ids.to_pylist()[:4]
    every = captures(5, before)
    some = SomeByRank(every, [4], lambda: every)
    assert some.before.tolist() == [0, 1, 2, 3]
    assert some.first(captures(3).digest, 3) == every.first(captures(3).digest, 3) == 3
    assert some.first(captures(3).digest, 2) is None


@pytest.mark.parametrize("count", [50, 50_000])
def test_what_travels_does_not_grow_with_the_captures_that_are_known(count: int) -> None:
    every = CapturesByRank(captures(count).ids, pa.array(map(str, captures(count).paths)), secrets=np.empty(0, np.int64))
    octets = pickle.dumps(SomeByRank(every, [7, 9], nobody))
    assert len(octets) < 2048
    assert ids(pickle.loads(octets), [7, 9, count - 1]) == ids(every, [7, 9, count - 1])
