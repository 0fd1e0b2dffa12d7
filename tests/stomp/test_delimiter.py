"""Delimiter: what becomes of octets that are no well-formed frame, of wrong lengths, gaps and mid-stream starts."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.stomp import Delimiter, Runs, Syntax, delimit
from tests.stomp.rows import kinds, rows_of, runs_of, tuples

SEND = b"SEND\ndestination:/q\n\nhello\x00"
LONG = b"SEND\ndestination:/q\ncontent-length:20\n\n" + b"0123456789" * 2 + b"\x00"
DISCONNECT = b"DISCONNECT\n\n\x00"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (SEND, [("frame", 27)]),
        (SEND + b"\n\r\n" + SEND, [("frame", 27), ("eol", 3), ("frame", 27)]),
        (b"\x00\x00\n\x00" + SEND, [("junk", 2), ("eol", 1), ("junk", 1), ("frame", 27)]),
        (SEND + b"\r" + SEND, [("frame", 27), ("junk", 28)]),
        (SEND + b"\r" + SEND + SEND, [("frame", 27), ("junk", 28), ("frame", 27)]),
        (SEND + b"garbage is here\x00\n" + SEND, [("frame", 27), ("junk", 16), ("eol", 1), ("frame", 27)]),
        (SEND + b"garbage\x00not\x00" + SEND, [("frame", 27), ("junk", 12), ("frame", 27)]),
        (b"HELLO\n\n\x00", [("frame", 8)]),
        (b"SEND  \ndestination:/q\n\n\x00", [("frame", 24)]),
        (b"x" * 65 + b"\n\n\x00", [("junk", 68)]),
        (b"9LIVES\n\n\x00", [("junk", 9)]),
        (b"SEND\ndestination:/q\x00" + SEND, [("junk", 20), ("frame", 27)]),
        (b"SEND\na:b\x00c\n\nbody\x00", [("frame", 17)]),
        (b"DISCONNECT\x00\n", [("partial", 12)]),
        (b"DISCONNECT\x00" + SEND, [("junk", 11), ("frame", 27)]),
        (b"CONN", [("partial", 4)]),
        (b"CONNECT\r", [("partial", 8)]),
        (SEND[:-1], [("partial", 26)]),
    ],
)
def test_rows(data: bytes, expected: list[tuple[str, int]]) -> None:
    assert kinds(data) == expected


def with_length(declared: bytes, body: bytes, command: bytes = b"SEND") -> bytes:
    return command + b"\ncontent-length:" + declared + b"\n\n" + body


@pytest.mark.parametrize(
    ("data", "delimited", "body", "bit"),
    [
        (with_length(b"5", b"he\x00lo\x00"), "content_length", b"he\x00lo", None),
        (with_length(b" 5 ", b"hello\x00"), "content_length", b"hello", None),
        (with_length(b"-1", b"hello\x00"), "nul", b"hello", Syntax.LENGTH_INVALID),
        (with_length(b"", b"hello\x00"), "nul", b"hello", Syntax.LENGTH_INVALID),
        (with_length(b"9223372036854775808", b"hello\x00"), "nul", b"hello", Syntax.LENGTH_INVALID),
        (with_length(b"9223372036854775807", b"hello\x00" + SEND), "content_length_shortened", b"hello", Syntax.LENGTH_MISSED),
        (with_length(b"8", b"hello\x00\n" + SEND), "content_length_shortened", b"hello", Syntax.LENGTH_MISSED),
        (with_length(b"3", b"hello\x00\n\n" + SEND), "content_length_extended", b"hello", Syntax.LENGTH_MISSED),
        (with_length(b"3", b"hello\x00\r\n"), "content_length_extended", b"hello", Syntax.LENGTH_MISSED),
        (with_length(b"3", b"hell\x00o\x00" + SEND), "content_length_extended", b"hell\x00o", Syntax.LENGTH_MISSED),
        (with_length(b"9", b"\x00" + SEND, b"ACK"), "content_length_ignored", b"", Syntax.LENGTH_MISSED),
        (with_length(b"99", b"\x00", b"ACK"), "content_length_ignored", b"", Syntax.LENGTH_MISSED),
        (with_length(b"2\ncontent-length:9", b"ab\x00"), "content_length", b"ab", None),
        (with_length(b"x\ncontent-length:2", b"ab\x00"), "nul", b"ab", Syntax.LENGTH_INVALID),
        (b"SEND\nContent-Length:2\n\nabcd\x00", "nul", b"abcd", None),
    ],
)
def test_content_length(data: bytes, delimited: str, body: bytes, bit: Syntax | None) -> None:
    kind, offset, length, by, syntax, start = rows_of(data)[0]
    assert (kind, by, data[offset + start : length - 1]) == ("frame", delimited, body)
    assert syntax & (Syntax.LENGTH_INVALID | Syntax.LENGTH_MISSED) == (bit or 0)


@pytest.mark.parametrize("body", [
    b"x\x00\nSEND\n\x00\x01\x02 quoted by chance",
    b"\x00SEND\nno header line",
    b"\x00SEND\ndestination:/q\n\nwhole, but something else follows\x00x",
    b"\x00MESSAGE\n\nof the other side\x00",
])
def test_a_body_that_the_capture_ends_in_is_not_searched_for_frames_by_mere_looks(body: bytes) -> None:
    data = SEND + with_length(b"5000", body)
    assert kinds(data) == [("frame", len(SEND)), ("partial", len(data) - len(SEND))]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([SEND, 5, SEND], [("frame", 27), ("gap", 5), ("frame", 27)]),
        ([3, SEND], [("gap", 3), ("frame", 27)]),
        ([SEND, 4], [("frame", 27), ("gap", 4)]),
        ([7], [("gap", 7)]),
        ([SEND[:10], 5, SEND[15:], SEND], [("partial", 10), ("gap", 5), ("junk", 12), ("frame", 27)]),
        ([SEND[:24], 5, b"\n\n", 2, b"\n"], [("partial", 24), ("gap", 5), ("eol", 2), ("gap", 2), ("eol", 1)]),
        # the declared end lies behind the gap: what follows it is a frame though nothing but the length says so
        ([LONG[:45], 5, LONG[50:], b"HELLO\n\n\x00"], [("partial", 45), ("gap", 5), ("junk", 10), ("frame", 8)]),
        ([LONG[:40], 5, LONG[45:48], 4, LONG[52:], DISCONNECT],
         [("partial", 40), ("gap", 5), ("junk", 3), ("gap", 4), ("junk", 8), ("frame", 13)]),
        # a declared end that lies in the gap, or where no NUL is, says nothing
        ([LONG[:45], 40, b"tail\x00", SEND], [("partial", 45), ("gap", 40), ("junk", 5), ("frame", 27)]),
        ([LONG[:45], 5, b"x" * 20 + b"\x00", SEND], [("partial", 45), ("gap", 5), ("junk", 21), ("frame", 27)]),
        # what looks like a frame in a body is none
        ([LONG[:45], 2, b"SEND\nwell", 2, b"x"], [("partial", 45), ("gap", 2), ("junk", 9), ("gap", 2), ("junk", 1)]),
        ([SEND, 5, b"SEND or not\n", SEND], [("frame", 27), ("gap", 5), ("junk", 39)]),
    ],
)
def test_gaps(parts: list[bytes | int], expected: list[tuple[str, int]]) -> None:
    assert kinds(*parts) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (SEND, [("frame", 27)]),
        (b"\n\r\n" + SEND, [("eol", 3), ("frame", 27)]),
        (b"\n\n", [("eol", 2)]),
        (b"lo\x00\n" + SEND, [("junk", 3), ("eol", 1), ("frame", 27)]),
        (b"lo\x00\nnothing more", [("junk", 16)]),
        (b"message\nmessage-id:1\n\n\x00", [("frame", 23)]),
    ],
)
def test_mid_stream(data: bytes, expected: list[tuple[str, int]]) -> None:
    assert kinds(data, synced=False) == expected
    assert Syntax.AFTER_GAP in rows_of(data, synced=False)[0][4]


def test_before_first() -> None:
    rows = rows_of(b"\n\x00" + SEND + b"\n")
    assert [Syntax.BEFORE_FIRST in row[4] for row in rows] == [True, True, False, False]
    assert not any(Syntax.BEFORE_FIRST in row[4] for row in rows_of(3, b"\n" + SEND))


def test_many_directions() -> None:
    octets = np.frombuffer(SEND + DISCONNECT + b"\n" + SEND, np.uint8)
    runs = Runs(
        np.array([0, 2, 2], np.int32), np.array([27, 0, 41]), np.array([14, 27, 27]), np.array([0, 0, 30]),
        np.array([True, True, True]), np.array([False, True, True]), np.array([-1, 9, 57]),
    )
    rows = delimit(octets, runs)
    assert rows.direction.tolist() == [0, 1, 2, 2, 2]
    assert [row[:3] for row in tuples(rows)] == [
        ("frame", 0, 13), ("gap", 0, 9), ("frame", 0, 27), ("gap", 27, 3), ("frame", 30, 27)
    ]
    assert rows.pending.tolist() == [13, 9, 57]


def test_runs_that_make_no_sense() -> None:
    octets, runs = runs_of([SEND, 3, SEND])
    with pytest.raises(ValueError, match="outside"):
        delimit(octets[:-1], runs)
    wrong = Runs(**{**vars(runs), "offset": np.array([0, 20])})
    with pytest.raises(ValueError, match="ascend"):
        delimit(octets, wrong)
    octets, runs = runs_of([b"SEND\nfoo"], final=False)
    state = delimit(octets, runs).state
    missing = Runs(**{**vars(runs), "offset": np.array([20])})
    with pytest.raises(ValueError, match="pending"):
        delimit(octets, missing, state)


def test_incremental_gap() -> None:
    delimiter = Delimiter()
    rows = delimiter.feed(SEND + SEND[:5]) + delimiter.gap(10) + delimiter.gap(0) + delimiter.feed(SEND[15:] + SEND)
    rows += delimiter.close()
    assert [(row.kind, row.offset, row.length) for row in rows] == [
        ("frame", 0, 27), ("partial", 27, 5), ("gap", 32, 10), ("junk", 42, 12), ("frame", 54, 27)
    ]
    assert rows[2].octets is None
    with pytest.raises(ValueError, match="negative"):
        delimiter.gap(-1)


def test_small_frames_are_not_left_pending() -> None:
    """What can be decided is decided, however many rows that makes: what is left is presented again."""
    data = b"A\n\n\x00" * 50_000
    runs = Runs(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([len(data)]), np.zeros(1, np.int64), np.ones(1, bool),
                np.zeros(1, bool), np.array([2 * len(data)]))
    rows = delimit(np.frombuffer(data, np.uint8), runs)
    assert len(rows.offset) == 50_000
    assert rows.pending[0] == len(data)
