"""What holds for any octets: tiling, independence of chunks, linear time; and for well-formed frames: what goes in comes out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stompcap.stomp import Runs, delimit, parse, redact
from stompcap.stomp.grammar import NAMES
from tests.examples import slow_behind
from tests.stomp.rows import chunked, rows_of, runs_of, tuples
from tests.timing import assert_quick

# octets near the grammar find more than random ones
pieces = st.sampled_from(
    [b"\x00", b"\n", b"\r", b"\r\n", b":", b"\\", b"\\c", b"\xff", b"\xe2\x82\xac", b"SEND", b"CONNECT", b"ACK", b"MESSAGE", b"ERROR",
     b"message", b"HELLO", b"content-length:3", b"content-length:12", b"content-length:x", b"content-length:99999", b"passcode:secret",
     b"destination:/q", b"a:b", b"body", b"x", b" ", b"\n\n", b"\x00\n", b"\x00SEND\na:b\n\n", b"CONNECTED\nversion:1.2\n\n\x00"]
)
octets = st.lists(pieces | st.binary(max_size=3), max_size=30).map(b"".join)
chunks = st.lists(st.integers(0, 12), max_size=30)
parts = st.lists(octets | st.integers(1, 30), max_size=6)


@given(octets, chunks, st.booleans())
def test_any_chunking_gives_the_same_rows(data: bytes, sizes: list[int], synced: bool) -> None:
    assert chunked(data, sizes, synced) == rows_of(data, synced=synced)


@given(octets, octets, st.lists(st.tuples(st.booleans(), st.integers(0, 20)), max_size=30))
def test_any_interleaving_of_two_directions_gives_the_same_rows(one: bytes, two: bytes, steps: list[tuple[bool, int]]) -> None:
    streams, reach, pending = (one, two), [0, 0], [0, 0]
    state, found = None, ([], [])
    for side, step in [*steps, (False, len(one)), (True, len(two))]:
        reach[side] = min(len(streams[side]), reach[side] + step)
        final = reach == [len(one), len(two)]
        held = [data[p:r] for data, p, r in zip(streams, pending, reach, strict=True)]
        lengths = np.array([len(h) for h in held])
        runs = Runs(
            np.arange(2, dtype=np.int32), np.cumsum(lengths) - lengths, lengths, np.array(pending), np.ones(2, bool),
            np.array([final, final]), np.array([len(one), len(two)]),
        )
        rows = delimit(np.frombuffer(b"".join(held), np.uint8), runs, state)
        for way in (0, 1):
            found[way].extend(tuples(rows.take(rows.direction == way)))
        state, pending = rows.state, rows.pending.tolist()
        if final:
            break
    assert found == (rows_of(one), rows_of(two))


@given(parts, st.booleans())
def test_rows_tile(given_parts: list[bytes | int], synced: bool) -> None:
    buffer, runs = runs_of(given_parts, synced)
    rows = delimit(buffer, runs)
    end = 0
    for offset, length in zip(rows.offset, rows.length, strict=True):
        assert offset == end
        assert length > 0
        end += length
    assert end == runs.stream_octets[0]
    held = [buffer[p : p + n].tobytes() for p, n in zip(rows.position, rows.length, strict=True) if p >= 0]
    assert b"".join(held) == buffer.tobytes()


@given(parts, st.lists(st.integers(0, 60), max_size=10), st.booleans())
def test_windows_over_gaps(given_parts: list[bytes | int], cuts: list[int], synced: bool) -> None:
    buffer, runs = runs_of(given_parts, synced)
    total = int(runs.stream_octets[0])
    state, pending, result = None, 0, []
    for reach in [*sorted(min(c, total) for c in cuts), total]:
        keep = (runs.offset < reach) & (runs.offset + runs.length > pending)
        begin = np.maximum(runs.offset[keep], pending)
        end = np.minimum(runs.offset[keep] + runs.length[keep], reach)
        window = Runs(
            runs.direction[keep], runs.position[keep] + begin - runs.offset[keep], end - begin, begin, runs.synced,
            np.array([reach == total]), runs.stream_octets,
        )
        rows = delimit(buffer, window, state)
        result += tuples(rows)
        state, pending = rows.state, int(rows.pending[0])
    whole = tuples(delimit(buffer, runs))
    assert [row for row in result if row[0] != "gap"] == [row for row in whole if row[0] != "gap"]


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(
    lambda name: name.strip(" \t").lower() != "passcode" and name != "content-length"
)
values = st.text(st.characters(codec="utf-8"), max_size=12)
commands = st.sampled_from([name for name in NAMES if name not in ("CONNECT", "STOMP", "CONNECTED")])


def written(text: str) -> bytes:
    """Escaped as 1.2 asks for."""
    for plain, escaped in (("\\", "\\\\"), ("\r", "\\r"), ("\n", "\\n"), (":", "\\c")):
        text = text.replace(plain, escaped)
    return text.encode()


def serialise(command: str, headers: list[tuple[str, str]], body: bytes) -> bytes:
    lines = [command.encode(), *(written(n) + b":" + written(v) for n, v in headers), b"content-length:%d" % len(body)]
    return b"\n".join(lines) + b"\n\n" + body + b"\x00"


frames = st.lists(st.tuples(commands, st.lists(st.tuples(names, values), max_size=5), st.binary(max_size=40)), max_size=4)


@given(frames)
def test_parse_gives_back_what_was_serialised(sent: list[tuple[str, list[tuple[str, str]], bytes]]) -> None:
    # a NUL in a header may end the frame for a reader that resynchronises: it is no octet a sender may write raw
    sent = [(c, [(n.replace("\0", ""), v.replace("\0", "")) for n, v in h if n.replace("\0", "")], b) for c, h, b in sent]
    sent = [(c, [(n, v) for n, v in h if n.strip(" \t").lower() != "passcode" and n != "content-length"], b) for c, h, b in sent]
    got = parse(b"".join(serialise(*frame) for frame in sent))
    assert [(f.command, list(f.headers[:-1]), f.body) for f in got] == sent
    for frame, (_, headers, _) in zip(got, sent, strict=True):
        assert dict(reversed(headers)).items() <= frame.header.items()
        assert not frame.decode_errors


@given(frames, st.lists(st.sampled_from([b"", b"\n", b"\r\n", b"\n\n\n"]), min_size=5, max_size=5))
def test_eols_between_frames_change_only_eol_rows(sent: list, between: list[bytes]) -> None:
    whole = [serialise(c, [], b) for c, _, b in sent]
    plain = rows_of(b"".join(whole))
    padded = rows_of(b"".join(gap + frame for gap, frame in zip(between, whole, strict=False)) + between[-1])
    assert [(r[0], *r[2:]) for r in plain] == [(r[0], *r[2:]) for r in padded if r[0] != "eol"]


@given(parts, st.booleans())
@example([b"\r", 1, b"CONNECT\ncontent-length:3\x00SEND\na:b\n\n\x00:"], False)  # a command behind a line that is cut
def test_masked_octets_are_delimited_alike(given_parts: list[bytes | int], synced: bool) -> None:
    buffer, runs = runs_of(given_parts, synced)
    rows = delimit(buffer, runs)
    masked, flags = redact(buffer, rows)
    again = tuples(delimit(masked, runs))
    assert [row[:4] for row in again] == [row[:4] for row in tuples(rows)]
    assert flags.any() == (masked.tobytes() != buffer.tobytes())


@pytest.mark.parametrize(
    "unit",
    [b"\n", b"\x00", b"\x00\n", b"a:b\n", b"a" * 100, b"SEND\ncontent-length:9223372036854775807\n\n\x00", b"\x00\r", b"A\n\n\x00",
     b"SEND\ncontent-length:1\n\nxxx\x00x", b"\r\n", b"content-length:7\n\x00"],
)
@pytest.mark.parametrize("start", [b"", b"SEND\n", b"?", b"SEND\ncontent-length:5\n\nlonger", b"\x00"])
def test_linear_time(unit: bytes, start: bytes) -> None:
    octets, runs = runs_of([start + unit * (300_000 // len(unit))])
    rows = assert_quick(lambda: delimit(octets, runs))
    assert int(rows.length.sum()) == octets.size


@pytest.mark.parametrize("unit", [b"\n", b"\x00\n\n", b"a:b\n", b"a" * 7, b"\x00"])
@pytest.mark.parametrize("start", slow_behind(2, [b"SEND\n", b"x\x00", b"?", b"SEND\ncontent-length:5\n\nlonger", b""]))
def test_work_is_not_done_again_for_each_chunk(unit: bytes, start: bytes) -> None:
    """The delimiter alone, on a growing buffer: many calls that each bring little must not walk the pending octets again."""
    data = np.frombuffer(start + unit * (1_000_000 // len(unit)), np.uint8)

    def by_chunks() -> None:
        state, pending = None, 0
        for end in range(0, data.size, 1000):
            runs = Runs(
                np.zeros(1, np.int32), np.array([pending]), np.array([end - pending]), np.array([pending]), np.array([True]),
                np.array([False]), np.array([-1]),
            )
            rows = delimit(data[:end], runs, state)
            state, pending = rows.state, int(rows.pending[0])

    assert_quick(by_chunks)
