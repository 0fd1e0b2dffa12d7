"""How much is tried: all of it with HYPOTHESIS_PROFILE=thorough, a share elsewhere."""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
Case = TypeVar("Case")
STRIDE = 1 if THOROUGH else 17
"""How far apart the commits are at which a run is killed, where tests go through all of them."""


def one_in(share: int) -> settings:
    """Where an example takes long: one for so many that other tests try."""
    return settings(max_examples=settings().max_examples // share)


def every(share: int, cases: Sequence[Case]) -> Sequence[Case]:
    """Every so-manieth of many cases that are alike, from the first; all of them in the thorough profile."""
    return cases if THOROUGH else cases[::share]


def combined(*kinds: Sequence[Case]) -> list[tuple[Case, ...]]:
    """Cases of kinds that have nothing to do with each other: each comes up, with some of the others; all combinations if thorough."""
    if THOROUGH:
        return list(itertools.product(*kinds))
    return [tuple(kind[number % len(kind)] for kind in kinds) for number in range(max(map(len, kinds)))]


def slow_behind(count: int, cases: Iterable[Case], *, several: bool = False) -> list[Any]:
    """Cases that are alike, as parameters: the first so many are fast tests, the others slow ones; `several`: a case is a tuple of them."""
    marks = ([] if number < count else [pytest.mark.slow] for number in itertools.count())
    return [pytest.param(*(case if several else (case,)), marks=mark) for case, mark in zip(cases, marks, strict=False)]


def in_part(part: str, test: str) -> bool:
    """Whether a test, which its name decides, is in a part of all: 1/2 or 2/2."""
    number, parts = map(int, part.split("/"))
    return zlib.crc32(test.encode()) % parts == number % parts
