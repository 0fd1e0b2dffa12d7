"""Rows that would be too large are cut, whatever the octets and the chunks: tiling holds, nothing waits beyond the limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.stomp import Runs, Syntax, delimit
from tests.stomp.rows import Tuple, runs_of, tuples
from tests.stomp.test_properties import chunks, octets, parts

LIMITS = (40, 100)
SEND = b"SEND\ndestination:/q\n\nhello\x00"


def limited(data: bytes, sizes: list[int], limits: tuple[int, int] = LIMITS, synced: bool = True) -> list[Tuple]:
    """Rows of one direction whose octets come in chunks of these lengths, the rest as one; asserts what may wait between them."""
    state, pending, at = None, 0, 0
    result: list[Tuple] = []
    for size in [*sizes, len(data)]:
        at = min(len(data), at + size)
        final = at == len(data)
        runs = Runs(
            np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([at - pending]), np.array([pending]), np.array([synced]),
            np.array([final]), np.array([at if final else -1]),
        )
        rows = delimit(np.frombuffer(data[pending:at], np.uint8), runs, state, limits=limits)
        result += tuples(rows)
        state, pending = rows.state, int(rows.pending[0])
        assert at - pending <= limits[1]
        if final:
            break
    return result


def shape(rows: list[Tuple]) -> list[tuple[str, int, bool]]:
    return [(row[0], row[2], Syntax.TOO_LARGE in row[4]) for row in rows]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # a head without end, and what begins behind it
        (b"SEND\n" + b"a:b\n" * 20, [("partial", 40, True), ("junk", 40, True), ("junk", 5, False)]),
        (b"SEND\n" + b"a" * 100 + b"\x00" + SEND,
         [("partial", 40, True), ("junk", 40, True), ("junk", 25, True), ("junk", 1, False), ("frame", 27, False)]),
        # a body without end, and one that ends just in time
        (b"SEND\n\n" + b"x" * 130 + b"\x00" + SEND, [("partial", 100, True), ("junk", 36, True), ("junk", 1, False), ("frame", 27, False)]),
        (b"SEND\n\n" + b"x" * 93 + b"\x00" + SEND, [("frame", 100, False), ("frame", 27, False)]),
        # a body that is too large, its end told by its length: what looks like a frame in its tail is none
        (b"SEND\ncontent-length:180\n\n" + b"x" * 90 + SEND + b"x" * 63 + b"\x00" + SEND,
         [("partial", 100, True), ("junk", 40, True), ("junk", 40, True), ("junk", 26, False), ("frame", 27, False)]),
        # a length that nothing bears out is disbelieved where frames begin before the limit
        (b"SEND\ncontent-length:99999999999999\n\nab\x00" + SEND * 5, [("frame", 39, False), *[("frame", 27, False)] * 5]),
        (b"SEND\ncontent-length:99999999999999\n\n" + b"x" * 70 + b"\x00" + SEND,
         [("partial", 100, True), ("junk", 7, False), ("frame", 27, False)]),
        # EOLs, NULs and junk
        (b"\n" * 100, [("eol", 40, False), ("eol", 40, False), ("eol", 20, False)]),
        (b"\x00" * 50, [("junk", 40, False), ("junk", 10, False)]),
        (b"?" * 50 + b"\x00" + SEND, [("junk", 40, True), ("junk", 11, False), ("frame", 27, False)]),
        # EOLs behind a NUL that may or may not end a frame
        (b"SEND\ncontent-length:1\n\nabc\x00" + b"\n" * 90 + SEND, [("partial", 100, True), ("eol", 17, False), ("frame", 27, False)]),
    ],
)
def test_cuts(data: bytes, expected: list[tuple[str, int, bool]]) -> None:
    assert shape(limited(data, [])) == expected
    assert shape(limited(data, [1] * len(data))) == expected


def test_what_follows_a_cut_may_belong_to_it() -> None:
    rows = limited(b"?" * 100, [])
    assert [Syntax.AFTER_GAP in row[4] for row in rows] == [False, True, True]


def test_a_passcode_cut_in_two_is_torn() -> None:
    rows = limited(b"CONNECT\nlogin:someone\npasscode:" + b"s" * 30 + b"\n\n\x00", [])
    assert shape(rows)[0] == ("partial", 40, True)
    assert Syntax.TORN in rows[1][4]


@given(octets, chunks, st.booleans(), st.sampled_from([(2, 2), (9, 9), (7, 30), LIMITS]))
def test_any_chunking_gives_the_same_rows(data: bytes, sizes: list[int], synced: bool, limits: tuple[int, int]) -> None:
    assert limited(data, sizes, limits, synced) == limited(data, [], limits, synced)


@given(parts, st.booleans(), st.sampled_from([(2, 2), (9, 9), (7, 30), LIMITS]))
def test_rows_tile(given_parts: list[bytes | int], synced: bool, limits: tuple[int, int]) -> None:
    buffer, runs = runs_of(given_parts, synced)
    rows = delimit(buffer, runs, limits=limits)
    assert rows.offset.tolist() == [0, *np.cumsum(rows.length).tolist()][:-1] if len(rows) else not runs.stream_octets[0]
    held = rows.position >= 0
    assert b"".join(buffer[p : p + n].tobytes() for p, n in zip(rows.position[held], rows.length[held], strict=True)) == buffer.tobytes()
    frame = rows.kind == 0
    assert (rows.length[held & frame] <= limits[1]).all()
    assert (rows.length[held & ~frame] <= max(limits)).all()
