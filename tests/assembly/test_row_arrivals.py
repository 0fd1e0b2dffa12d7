"""Rows learn their packets, and heart-beats are told apart by the time they arrived."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stompcap.assembly.row_arrivals import row_arrivals
from stompcap.codes import EOL, GAP

FRAME = 0


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_the_latest_octet_makes_a_frame_whole() -> None:
    # the second extent was captured last: it filled a hole
    extents = (ints(0, 0, 0), ints(0, 10, 20), ints(10, 10, 10), ints(0, 2, 1))
    found = row_arrivals(ints(0), ints(0), ints(30), np.array([FRAME], np.uint8), extents, ints(100, 200, 300))
    assert (found.first.tolist(), found.last.tolist()) == ([0], [2])


def test_a_gap_has_no_packet_and_what_follows_has_its_own() -> None:
    extents = (ints(0, 0), ints(0, 9), ints(5, 3), ints(0, 1))
    kinds = np.array([FRAME, GAP, FRAME], np.uint8)
    found = row_arrivals(ints(0, 0, 0), ints(0, 5, 9), ints(5, 4, 3), kinds, extents, ints(100, 200))
    assert found.first.tolist() == [0, -1, 1]


def test_eols_of_one_time_are_one_row() -> None:
    extents = (ints(0, 0, 0), ints(0, 1, 2), ints(1, 1, 2), ints(0, 1, 2))
    found = row_arrivals(ints(0), ints(0), ints(4), np.array([EOL], np.uint8), extents, ints(100, 100, 300))
    assert found.offset.tolist() == [0, 2]
    assert found.length.tolist() == [2, 2]
    assert found.first.tolist() == [0, 2]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=30), st.data())
def test_rows_still_tile_what_they_tiled(pieces: list[tuple[int, int]], data: st.DataObject) -> None:
    lengths = [length for length, _ in pieces]
    total = sum(lengths)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, total - 1)), max_size=10)) - {total})
    bounds = [0, *[cut for cut in cuts if cut < total], total]
    kinds = np.array([data.draw(st.sampled_from([FRAME, EOL])) for _ in bounds[1:]], np.uint8)
    offset = np.cumsum([0, *lengths[:-1]])
    times = np.cumsum([step for _, step in pieces]).astype(np.int64)
    rows = (np.array(bounds[:-1], np.int64), np.diff(bounds).astype(np.int64))
    zeros, order = np.zeros(len(pieces), np.int64), np.arange(len(pieces), dtype=np.int64)
    extents = (zeros, offset.astype(np.int64), np.array(lengths, np.int64), order)
    found = row_arrivals(np.zeros(len(kinds), np.int64), *rows, kinds, extents, times)
    assert found.offset[0] == 0
    assert (found.offset[1:] == found.offset[:-1] + found.length[:-1]).all()
    assert found.offset[-1] + found.length[-1] == total
    assert (found.length > 0).all()
    for begin, length, first in zip(found.offset, found.length, found.first, strict=True):
        assert offset[first] <= begin < offset[first] + lengths[first]
        assert length >= 1
