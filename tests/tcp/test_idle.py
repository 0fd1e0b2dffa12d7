"""A flow is idle by one rule: kernel, columns and SQL agree."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.options import Options
from stompcap.tcp import reassemble_columns
from stompcap.tcp.idle import CLOCK_STEP_NS, IDLE_NS, LINGER_NS, may_go_on, over, over_sql
from tests.tcp.test_machine import ACK, FIN, RST, SYN, rows_of

MS = 10**6
LIMITS = [LINGER_NS // MS, 2 * LINGER_NS // MS, IDLE_NS // MS, CLOCK_STEP_NS // MS]
SILENCES = [0, 60_000, *LIMITS, *(limit + 1 for limit in LIMITS)]
EPISODES = {
    "syn": [(0, 0, 0, SYN, b"")],
    "answered": [(0, 0, 0, SYN, b""), (1, 0, 1, SYN | ACK, b"")],
    "open": [(0, 0, 0, SYN, b""), (1, 0, 1, SYN | ACK, b""), (0, 1, 1, ACK, b"ab")],
    "half": [(0, 0, 0, SYN, b""), (1, 0, 1, SYN | ACK, b""), (0, 1, 1, ACK | FIN, b"ab")],
    "closed": [(0, 0, 0, SYN, b""), (1, 0, 1, SYN | ACK, b""), (0, 1, 1, ACK | FIN, b""), (1, 1, 2, ACK | FIN, b"")],
    "reset": [(0, 0, 0, SYN, b""), (1, 0, 1, SYN | ACK, b""), (1, 1, 1, ACK | RST, b"")],
}
"""Packets of a connection: side, sequence and acknowledgement number less the initial ones, flags, octets."""


def flow(*episodes: tuple[str, int]):
    """Segments of connections that follow one another, each with the silence in milliseconds behind it."""
    packets, ms = [], 1
    for number, (kind, silence) in enumerate(episodes):
        for side, seq, ack, flags, octets in EPISODES[kind]:
            mine, peer = ((number + 1) * 100_000_000 + 50_000_000 * one for one in (side, 1 - side))
            packets.append((side, mine + seq, peer + ack if flags & ACK else 0, flags, 9, octets, 99, 1, ms))
            ms += 1
        ms += silence
    return rows_of(packets)


FLOWS = st.lists(st.tuples(st.sampled_from(sorted(EPISODES)), st.sampled_from(SILENCES)), min_size=1, max_size=4)


def test_the_default_is_that_of_the_option() -> None:
    assert Options().idle_ns == IDLE_NS


@given(st.lists(st.tuples(st.integers(-5, 400 * 86_400), st.sampled_from([90, 86_400, 200 * 86_400]), st.booleans()), min_size=1))
def test_sql_agrees(cases: list[tuple[int, int, bool]]) -> None:
    for silence, idle, some_open in cases:
        sql = over_sql(str(silence * 10**9), idle * 10**9, str(some_open))
        assert duckdb.sql(f"SELECT {sql}").fetchone() == (bool(over(silence * 10**9, idle * 10**9, some_open)),)


@given(FLOWS, st.sampled_from(SILENCES))
def test_columns_agree_with_the_kernel(episodes: list[tuple[str, int]], silence: int) -> None:
    """What comes behind a silence begins a connection just where no stream before it may go on."""
    *before, (kind, _) = episodes
    segments = flow(*before, (kind, silence), ("open", 0))
    whole = reassemble_columns(segments, "s").streams
    held = reassemble_columns(segments.slice(0, len(segments) - 3), "s").streams
    goes_on = may_go_on(held, np.zeros(len(held), np.int64), int(whole.first_ns[-1]), IDLE_NS)
    assert goes_on.any() == (not whole.after_idle[-1])


@pytest.mark.parametrize(("kind", "ends"), [("syn", 2), ("answered", 2), ("open", 1), ("half", 1), ("closed", 2), ("reset", 2)])
def test_two_minutes_end_what_is_not_open(kind: str, ends: int) -> None:
    assert int(reassemble_columns(flow((kind, LINGER_NS // MS + 1), ("open", 0)), "s").streams.after_idle.sum()) == ends - 1
