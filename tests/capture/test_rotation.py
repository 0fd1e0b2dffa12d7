"""The order of captures, and between which a clock stepped: by their times, and where one began before another had ended by their names."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture.ranking import ranked
from stompcap.capture.rotation import SAME_CLOCK, STEPS, Ranked

SECOND = 10**9
File = tuple[str, float | None, float | None]


def rows(files: Sequence[File]) -> list[dict[str, object]]:
    def ns(seconds: float | None) -> int | None:
        return None if seconds is None else round(seconds * SECOND)

    return [
        {"path": path, "first_ns": ns(first), "last_ns": ns(last), "source": "tap", "capture_id": f"{path} at {first}"}
        for path, first, last in files
    ]


def said(found: Ranked) -> list[tuple[str, int]]:
    """The files in order; and of those whose clock stepped how often, before."""
    return [
        (str(row["path"]), clock if clock == SAME_CLOCK else clock & (1 << STEPS) - 1)
        for row, clock in zip(found.rows, found.clocks, strict=True)
    ]


ORDERS: dict[str, tuple[list[File], list[tuple[str, int]]]] = {
    "in order of time": ([("b", 0, 10), ("a", 10, 20)], [("b", -1), ("a", -1)]),
    "a step of less than a file lasts": ([("a1", 0, 10), ("a2", 9, 20), ("a3", 20, 30)], [("a1", 0), ("a2", 1), ("a3", 1)]),
    "a step of more than a file lasts": ([("a1", 0, 10), ("a2", -5, 6), ("a3", 6, 16)], [("a1", 0), ("a2", 1), ("a3", 1)]),
    "a step before each file": ([("a0", 0, 9), ("a1", -20, -11), ("a2", -40, -31)], [("a0", 0), ("a1", 1), ("a2", 2)]),
    "one step, larger than all files": ([("a1.pcap", 0, 9), ("a2.pcap", -90, -80)], [("a1.pcap", 0), ("a2.pcap", 1)]),
    "tcpdump -C has no number first": (
        [("a.pcap", 0, 9), ("a.pcap1", -20, -11), ("a.pcap2", -11, 30)], [("a.pcap", 0), ("a.pcap1", 1), ("a.pcap2", 1)],
    ),
    "names count": ([("a9", 0, 10), ("a10", 9, 20)], [("a9", 0), ("a10", 1)]),
    "compressed": ([("a1.gz", 0, 10), ("a2", 9, 20)], [("a1.gz", 0), ("a2", 1)]),
    "dumpcap": (
        [("a_00001_20260131120000.pcapng", 0, 10), ("a_00002_20260131120009.pcapng", 9, 20)],
        [("a_00001_20260131120000.pcapng", 0), ("a_00002_20260131120009.pcapng", 1)],
    ),
    "tcpdump -G": ([("a-2026-01-31_12.00.00", 0, 60), ("a-2026-01-31_12.00.59", 59, 120)],
                   [("a-2026-01-31_12.00.00", 0), ("a-2026-01-31_12.00.59", 1)]),
    "a ring": ([("a0", 20, 30), ("a1", 0, 10), ("a2", 10, 20)], [("a1", -1), ("a2", -1), ("a0", -1)]),
    "a ring, one of whose files was read before": (
        [("a0", 0, 10), ("a1", 10, 20), ("a0", 20, 30)], [("a0", -1), ("a1", -1), ("a0", -1)],
    ),
    "a ring in which a clock steps": ([("a0", 19, 30), ("a1", 0, 10), ("a2", 10, 20)], [("a1", 0), ("a2", 0), ("a0", 1)]),
    "a program that began anew": (
        [("a_1_20260131120", 0, 9), ("a_2_20260131121", 9, 19), ("a_1_20260131130", 3600, 3609), ("a_2_20260131131", 3610, 4e3)],
        [("a_1_20260131120", -1), ("a_2_20260131121", -1), ("a_1_20260131130", -1), ("a_2_20260131131", -1)],
    ),
    "other names": ([("client_0", 0, 10), ("server_0", 5, 15)], [("client_0", -1), ("server_0", -1)]),
    "other folders": ([("x/a0", 0, 10), ("y/a1", 5, 15)], [("x/a0", -1), ("y/a1", -1)]),
    "taps whose files rotate": (
        [("t1_0", 0, 10), ("t1_1", 10, 20), ("t2_0", 0, 10), ("t2_1", 10, 20)],
        [("t1_0", -1), ("t2_0", -1), ("t1_1", -1), ("t2_1", -1)],
    ),
    "neighbours in the wrong file": ([("a0", 0, 10), ("a1", 9.999_95, 20)], [("a0", -1), ("a1", -1)]),
    "a file that goes on": ([("a1", 0, 10), ("a1", 9, 20)], [("a1", -1), ("a1", -1)]),
    "other days": ([("a1.pcap", 10 * 86400, 10 * 86400 + 9), ("a2.pcap", 0, 9)], [("a2.pcap", -1), ("a1.pcap", -1)]),
    "without times": ([("a2", 0, 0), ("a1", 0, 0)], [("a1", -1), ("a2", -1)]),
    "without packets": ([("a1", None, None), ("a2", 0, 9)], [("a2", -1), ("a1", -1)]),
}


@pytest.mark.parametrize(("files", "expected"), ORDERS.values(), ids=ORDERS)
def test_captures_are_in_order_whatever_order_they_are_given_in(files, expected):
    for seed in range(5):
        assert said(ranked(random.Random(seed).sample(rows(files), len(files)))) == expected


@given(
    lasts=st.lists(st.floats(0.1, 100), min_size=2, max_size=8),
    back=st.lists(st.one_of(st.just(0.0), st.floats(0.001, 3600)), min_size=8, max_size=8),
)
def test_files_of_a_rotation_are_in_order_of_their_names_however_the_clock_steps(lasts, back):
    at, files = 0.0, []
    for number, length in enumerate(lasts):
        at -= back[number] if number else 0
        files.append((f"a_{number:05}.pcap", at, at + length))
        at += length
    found = ranked(rows(files))
    assert [row["path"] for row in found.rows] == [path for path, _, _ in files]
    for number, (one, two) in enumerate(zip(found.clocks, found.clocks[1:], strict=False), 1):
        assert (two > one) == (back[number] > 0)


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=8), st.integers(0, 8), st.floats(0, 10))
def test_a_ring_is_in_order_of_time(lasts, turned, pause):
    at, files = 0.0, []
    for number, length in enumerate(lasts):
        files.append((f"a.pcap{(number + turned) % len(lasts)}", at, at + length))
        at += length + pause
    assert said(ranked(rows(files))) == [(path, SAME_CLOCK) for path, _, _ in files]


def test_now_is_told_by_a_clock_as_it_is_behind_its_steps():
    assert ranked(rows([("a1.pcap", 100, 110), ("a2.pcap", 50, 60), ("a3.pcap", 60, 70)])).now_ns == 70 * SECOND
    assert ranked(rows([("a1.pcap", 100, 110), ("a2.pcap", 50, 60), ("b", 0, 200)])).now_ns == 200 * SECOND
    assert ranked([]).now_ns == 0
