"""Wire order, and columns turned into numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stompcap.session import analyse
from stompcap.session.keys import pairs
from stompcap.session.wire import build, by_key, codes, integers, repeated_codes, sides
from tests.session.transcript import Session, commands, run, tables

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"

ORDERS = [
    # a client's frame counts by its first octet, a server's by its last
    (
        '> RAW "SEND\\ndestination:a\\n\\n"\n< MESSAGE message-id:1\n> RAW "x\\x00"\n',
        [">SEND", "<MESSAGE"],
    ),
    (
        '< RAW "MESSAGE\\nmessage-id:1\\n\\n"\n> SEND destination:a\n< RAW "x\\x00"\n',
        [">SEND", "<MESSAGE"],
    ),
    (
        "> SEND destination:a\n& > COMMIT\n< RECEIPT\n& < RECEIPT\n> ABORT\n",
        [">SEND", ">COMMIT", "<RECEIPT", "<RECEIPT", ">ABORT"],
    ),
]


@pytest.mark.parametrize(("text", "expected"), ORDERS)
def test_orders(text: str, expected: list[str]) -> None:
    assert commands(run(OPEN + text).dialogue)[2:] == expected


def test_a_frame_never_stands_before_an_earlier_one_of_its_direction() -> None:
    made = tables([Session(OPEN + "> SEND destination:a\n> ABORT\n< RECEIPT receipt-id:1\n")])
    frames = made["frames"].to_pylist()
    late = next(f for f in frames if f["command"] == "SEND")
    late["first_packet"] = late["last_packet"] = 9  # captured again behind the RECEIPT, as after a loss
    made["frames"] = pa.Table.from_pylist(frames, made["frames"].schema)
    dialogue = build(made["streams"], made["rows"], made["frames"], {"cap": 0})
    assert commands(dialogue)[2:] == ["<RECEIPT", ">SEND", ">ABORT"]


def test_captures_follow_their_rank() -> None:
    made = tables([Session(OPEN + "> SEND destination:a\n< RECEIPT receipt-id:1\n")])
    frames = made["frames"].to_pylist()
    for f in frames:
        if f["command"] in ("SEND", "RECEIPT"):
            f["first_capture_id"] = f["last_capture_id"] = "second"
            f["first_packet"] = f["last_packet"] = 1 if f["command"] == "SEND" else 2
    made["frames"] = pa.Table.from_pylist(frames, made["frames"].schema)
    dialogue = build(made["streams"], made["rows"], made["frames"], {"second": 1, "cap": 0})
    assert commands(dialogue) == [">CONNECT", "<CONNECTED", ">SEND", "<RECEIPT"]


@settings(max_examples=20, deadline=None)
@given(st.randoms())
def test_the_order_of_the_tables_does_not_matter(random: object) -> None:
    made = tables([Session(OPEN + "> SEND destination:a receipt:1\n< RECEIPT receipt-id:1\n> DISCONNECT\n", f"{n:020d}") for n in range(3)])
    expected = analyse(made["streams"], made["rows"], made["frames"], made["segments"], {"cap": 0}).tables
    for name in ("rows", "frames", "segments"):
        order = list(range(made[name].num_rows))
        random.shuffle(order)  # type: ignore[attr-defined]
        made[name] = made[name].take(order)
    found = analyse(made["streams"], made["rows"], made["frames"], made["segments"], {"cap": 0}).tables
    assert found == expected


def test_rows_tile_their_directions() -> None:
    rows = run(OPEN + "> EOL\n> GAP 9\n> SEND destination:a\n< EOL\n", OPEN).dialogue.rows
    same = (rows.session[1:] == rows.session[:-1]) & (rows.side[1:] == rows.side[:-1])
    assert (rows.offset[1:][same] == (rows.offset + rows.length)[:-1][same]).all()
    assert (rows.first_ns[rows.kind == 2] == -1).all()


def test_frames_of_no_stream_are_refused() -> None:
    made = tables([Session(OPEN)])
    with pytest.raises(ValueError, match="none of the streams"):
        build(made["streams"].slice(0, 0), made["rows"], made["frames"], {"cap": 0})


def test_a_stream_that_speaks_something_else_is_no_session() -> None:
    made = tables([Session(OPEN), Session("> EOL", "1" * 20)])
    streams = made["streams"].to_pylist()
    streams[1]["protocol"] = "tls"
    made["streams"] = pa.Table.from_pylist(streams, made["streams"].schema)
    found = analyse(made["streams"], made["rows"], made["frames"], made["segments"], {"cap": 0})
    assert found.dialogue.sessions == found.tables["sessions"].num_rows == 1


def test_numbers_of_columns() -> None:
    assert integers(pa.chunked_array([[1, None], [3]])).tolist() == [1, -1, 3]
    assert sides(pa.array(["s2c", "c2s"])).tolist() == [1, 0]
    known = pa.array(["a", "b"])
    assert repeated_codes(pa.array(["b", "b", "a", "x"]), known).tolist() == [1, 1, 0, -1]
    assert repeated_codes(pa.array(["b", None]), known).tolist() == [1, -1]
    assert repeated_codes(pa.array([], pa.string()), known).tolist() == []
    first, second = codes(pa.array(["x", None, "y"]), pa.array(["y", "x"]))
    assert (first[0], first[1], first[2]) == (second[1], -1, second[0])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 9)), max_size=30))
def test_rows_by_key(rows: list[tuple[int, int, int]]) -> None:
    session, side, offset = (np.array([r[i] for r in rows], np.int64) for i in range(3))
    order = by_key(session, side.astype(np.int8), offset)
    found = rows if order is None else [rows[i] for i in order]
    assert found == sorted(rows)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 5), st.integers(-1, 5)), max_size=60))
def test_pairs_are_equal_where_both_are(both: list[tuple[int, int]]) -> None:
    found, count = pairs(*(np.array([b[i] for b in both], np.int32) for i in range(2)))
    known = {b for b in both if min(b) >= 0}
    assert count == len(known)
    assert len({(b, int(c)) for b, c in zip(both, found, strict=True) if c >= 0}) == count
    assert all((c < 0) == (min(b) < 0) for b, c in zip(both, found, strict=True))
