"""Hashes that files have in common, by passing over those of old files, as by comparing each file with each other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.quality import hashes
from stompcap.quality.hashes import Hashes, Wanted, common

FILES = st.lists(st.sets(st.integers(0, 40).map(lambda small: small * (2**64 // 41) + small % 3), max_size=6), max_size=6)


def held(files: list[set[int]]) -> Hashes:
    edges = np.cumsum([0, *map(len, files)])
    return Hashes(np.array([one for some in files for one in sorted(some)], np.uint64), edges)


@pytest.mark.parametrize("searched", [1, 3, 1 << 24])
@given(new=st.lists(FILES, max_size=3), old=st.lists(FILES, max_size=3))
def test_common_hashes_are_those_of_a_new_file_and_another(searched: int, new: list[list[set[int]]], old: list[list[set[int]]]) -> None:
    fresh, others = ([file for files in some for file in files] for some in (new, old))
    wanted = set().union(*(one & other for one, other in combinations(fresh, 2)), *(one & other for one in fresh for other in others))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashes, "SEARCHED", searched)
        assert common([held(one) for one in new], [held(one) for one in old]).tolist() == sorted(wanted)


@given(FILES, st.sets(st.integers(0, 2**64 - 1), max_size=4), st.integers(0, 3))
def test_places_of_wanted_hashes_name_their_files(files: list[set[int]], more: set[int], passed: int) -> None:
    some = {one for file in files[:2] for one in sorted(file)[:2]} | more
    one, wanted = held(files), Wanted(np.array(sorted(some), np.uint64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashes, "PASSED", passed + 1)
        places = wanted.at(one.hashes)
    assert one.hashes[places].tolist() == [each for file in files for each in sorted(file) if each in some]
    assert one.files(places) == [number for number, file in enumerate(files) if file & some]
    assert wanted.found([one]).tolist() == sorted(some & set().union(*files))
