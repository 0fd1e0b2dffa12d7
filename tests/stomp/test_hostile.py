"""Streams made to exhaust: rows that tile, time that doubles with the octets, and a buffer that stays within the limits."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from stompcap.codes import FRAME, GAP, JUNK, PARTIAL
from stompcap.stomp import Runs, Syntax, decode, delimit
from stompcap.stomp.delimiter_io import FRAME_LIMIT, HEAD_LIMIT
from tests.stomp.rows import runs_of
from tests.timing import assert_linear

MIB = 1 << 20
STEP = 64 * MIB

Stream = Callable[[int, int], np.ndarray]
"""The octets of a stream between two offsets."""


def repeated(head: bytes, unit: bytes, tail: bytes = b"", before_tail: int | None = None) -> Stream:
    """`head`, then `unit` again and again; from offset `before_tail` on, `tail` and nothing more."""
    pattern = np.tile(np.frombuffer(unit, np.uint8), MIB // len(unit))

    def octets(begin: int, end: int) -> np.ndarray:
        out = np.resize(np.roll(pattern, -((begin - len(head)) % pattern.size)), end - begin)
        for text, place in ((head, 0), (tail, before_tail)):
            if place is not None and begin < place + len(text) and end > place:
                first, last = max(begin, place), min(end, place + len(text))
                out[first - begin : last - begin] = np.frombuffer(text, np.uint8)[first - place : last - place]
        return out

    return octets


def walk(stream: Stream, size: int) -> tuple[np.ndarray, int, float]:
    """Kind, length and syntax of the rows of `size` octets that come STEP by STEP, shape (3, rows); the largest buffer; seconds spent."""
    state, pending, end, largest, spent = None, 0, 0, 0, 0.0
    found = []
    while end < size:
        end = min(end + STEP, size)
        buffer = stream(pending, end)
        largest = max(largest, buffer.size)
        runs = Runs(
            np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([buffer.size]), np.array([pending]), np.array([True]),
            np.array([end == size]), np.array([size]),
        )
        started = time.thread_time()
        rows = delimit(buffer, runs, state)
        spent += time.thread_time() - started
        assert (rows.offset[1:] == rows.offset[:-1] + rows.length[:-1]).all()
        found.append(np.stack([rows.kind, rows.length, rows.syntax]).astype(np.int64))
        state, pending = rows.state, int(rows.pending[0])
    told = np.hstack(found)
    assert told[1].sum() == size
    return told, largest, spent


HOSTILE = {
    "a head without end": repeated(b"SEND\n", b"name:value\n"),
    "a header line without end": repeated(b"SEND\nname:", b"x"),
    "a command without end": repeated(b"", b"SEND"),
    "a body without end": repeated(b"SEND\n\n", b"x"),
    "a length beyond all": repeated(b"SEND\ncontent-length:9223372036854775807\n\n", b"x\x00y"),
    "a length beyond 63 bits": repeated(b"SEND\ncontent-length:9223372036854775808\n\n", b"x"),
    "empty frames": repeated(b"", b"A\n\n\x00"),
    "lengths that lie": repeated(b"", b"SEND\ncontent-length:99999999999\n\n\x00"),
    "NULs": repeated(b"", b"\x00"),
    "EOLs": repeated(b"", b"\n"),
    "NULs and EOLs": repeated(b"", b"\x00\n"),
    "CRs": repeated(b"", b"\r"),
    "junk": repeated(b"?", b"junk\x00"),
    "junk and EOLs": repeated(b"?\x00", b"\n"),
    "NULs in a head": repeated(b"SEND\na:b", b"\x00c"),
}


SIZES = {"NULs and EOLs": 2, "empty frames": 5, "lengths that lie": 5, "NULs in a head": 5}  # MiB, of those that make many rows; else 8


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear_and_memory_bounded(name: str) -> None:
    walk(HOSTILE[name], 1000)

    def seconds(size: int) -> float:
        (kind, length, _), largest, spent = walk(HOSTILE[name], size)
        assert largest <= FRAME_LIMIT + STEP
        assert (length <= np.where(np.isin(kind, (FRAME, PARTIAL)), FRAME_LIMIT, HEAD_LIMIT)).all()
        return spent

    assert_linear(seconds, SIZES.get(name, 8) * MIB)


@pytest.mark.slow
def test_a_frame_larger_than_any_may_be() -> None:
    """Of 1.2 GiB, its length told and true, NULs in its body: one partial row, junk, and the frame behind it."""
    head, after = b"SEND\ncontent-length:1288490188\n\n", b"\x00ACK\nid:1\n\n\x00"
    end = len(head) + 1_288_490_188
    stream = repeated(head, b"x" * 99 + b"\x00", after, end)

    (kind, length, syntax), largest, _ = walk(stream, end + len(after))
    assert kind.tolist() == [PARTIAL, *[JUNK] * (len(kind) - 2), FRAME]
    assert length[0] == FRAME_LIMIT
    assert Syntax.TOO_LARGE in Syntax(int(syntax[0]))
    assert length[-1] == len(after) - 1
    assert largest <= FRAME_LIMIT + STEP


@pytest.mark.slow
def test_millions_of_headers_in_one_frame() -> None:
    """As many as a head may have: linear in time, and no more than some octets of memory for each of the head's."""

    def seconds(count: int) -> float:
        data = b"SEND\n" + b"".join(b"h%d:v\n" % k for k in range(count)) + b"\n\x00"
        rows = delimit(*runs_of([data])).frames()
        started = time.thread_time()
        batch = decode(np.frombuffer(data, np.uint8), rows, np.full(1, 2, np.int8))
        spent = time.thread_time() - started
        assert len(batch.column("headers")[0]) == count
        assert batch.nbytes < 8 * len(data)
        return spent

    assert_linear(seconds, 125_000)


@pytest.mark.parametrize("run", [b"\n", b"\x00"])
def test_many_heads_that_name_one_place(run: bytes) -> None:
    """Behind a gap, where a frame's end is looked for: each of them alone would walk the long run behind."""

    def seconds(size: int) -> float:
        heads, at = [], 0
        while at < size:
            heads.append(b"\x00SEND\ncontent-length:%07d\n\n" % (size + 200 - at - 30))
            at += len(heads[-1])
        data = b"x" + b"".join(heads) + b"x" * (200 + size - at) + b"\x00" + run * size
        started = time.thread_time()
        delimit(*runs_of([b"A", 5, data]))
        return time.thread_time() - started

    assert_linear(seconds, 100_000)


def test_a_length_and_then_nothing() -> None:
    rows = delimit(*runs_of([b"SEND\ncontent-length:9223372036854775807\n\n", 5, b"x", 7]))
    assert rows.kind.tolist() == [PARTIAL, GAP, JUNK, GAP]
