"""Wire order, and columns turned into numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.columns import by_key
from stompcap.session import Analysis, analyse
from stompcap.session.header_values import header_entries, values_at
from stompcap.session.wire import capture_order, sides
from stompcap.tables.schema import HEADER_MAP
from stompcap.wire_order import PACKET_BITS
from tests.examples import one_in
from tests.session.transcript import Session, commands, run, tables

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"

ORDERS = [
    # a frame stands where it was whole
    (
        '> RAW "SEND\\ndestination:a\\n\\n"\n< MESSAGE message-id:1\n> RAW "x\\x00"\n',
        ["<MESSAGE", ">SEND"],
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


def analysed(made: dict[str, pa.Table], order: dict[str, int] | None = None) -> Analysis:
    return analyse(made["streams"], made["rows"], made["frames"], made["segments"], order or {"cap": 0})


@pytest.mark.parametrize(("text", "expected"), ORDERS)
def test_orders(text: str, expected: list[str]) -> None:
    assert commands(run(OPEN + text).dialogue)[2:] == expected


def test_a_frame_never_stands_before_an_earlier_one_of_its_direction() -> None:
    made = tables([Session(OPEN + "> SEND destination:a\n> ABORT\n< RECEIPT receipt-id:1\n")])
    frames = made["frames"].to_pylist()
    late = next(f for f in frames if f["command"] == "SEND")
    late["first_packet"] = late["last_packet"] = 9  # captured again behind the RECEIPT, as after a loss
    made["frames"] = pa.Table.from_pylist(frames, made["frames"].schema)
    dialogue = analysed(made).dialogue
    assert commands(dialogue)[2:] == ["<RECEIPT", ">SEND", ">ABORT"]


def test_captures_follow_their_rank() -> None:
    made = tables([Session(OPEN + "> SEND destination:a\n< RECEIPT receipt-id:1\n")])
    frames = made["frames"].to_pylist()
    for f in frames:
        if f["command"] in ("SEND", "RECEIPT"):
            f["first_capture_id"] = f["last_capture_id"] = "second"
            f["first_packet"] = f["last_packet"] = 1 if f["command"] == "SEND" else 2
    made["frames"] = pa.Table.from_pylist(frames, made["frames"].schema)
    dialogue = analysed(made, {"second": 1, "cap": 0}).dialogue
    assert commands(dialogue) == [">CONNECT", "<CONNECTED", ">SEND", "<RECEIPT"]


class Asked(dict[str, int]):
    """Ranks by id that nothing goes through."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError


@given(st.lists(st.sampled_from(["a", "b", "c", None])), st.integers(1, 3))
def test_the_order_of_captures_is_asked_only_for_those_that_rows_have(ids: list[str | None], parts: int) -> None:
    columns = {"capture_id": pa.array(ids, pa.string()), "packet": pa.array(range(len(ids)), pa.int64())}
    whole, size = pa.table(columns), len(ids) // parts + 1
    table = pa.concat_tables([whole.slice(at * size, size) for at in range(parts)])
    found = capture_order(table, "", Asked(a=7, b=1 << 20))
    assert found.tolist() == [{"a": 7, "b": 1 << 20}.get(name or "", 0) << PACKET_BITS | at for at, name in enumerate(ids)]


@one_in(6)
@given(st.randoms())
def test_the_order_of_the_tables_does_not_matter(random: object) -> None:
    made = tables([Session(OPEN + "> SEND destination:a receipt:1\n< RECEIPT receipt-id:1\n> DISCONNECT\n", f"{n:020d}") for n in range(3)])
    expected = analysed(made).tables
    for name in ("rows", "frames", "segments"):
        order = list(range(made[name].num_rows))
        random.shuffle(order)  # type: ignore[attr-defined]
        made[name] = made[name].take(order)
    found = analysed(made).tables
    assert found == expected


def test_rows_tile_their_directions() -> None:
    rows = run(OPEN + "> EOL\n> GAP 9\n> SEND destination:a\n< EOL\n", OPEN).dialogue.rows
    same = (rows.session[1:] == rows.session[:-1]) & (rows.side[1:] == rows.side[:-1])
    assert (rows.offset[1:][same] == (rows.offset + rows.length)[:-1][same]).all()
    assert (rows.first_ns[rows.kind == 2] == -1).all()


def test_frames_of_no_stream_are_refused() -> None:
    made = tables([Session(OPEN)])
    with pytest.raises(ValueError, match="none of the streams"):
        analysed(made | {"streams": made["streams"].slice(0, 0)})


def test_a_stream_that_speaks_something_else_is_no_session() -> None:
    made = tables([Session(OPEN), Session("> EOL", "1" * 20)])
    streams = made["streams"].to_pylist()
    streams[1]["protocol"] = "tls"
    made["streams"] = pa.Table.from_pylist(streams, made["streams"].schema)
    found = analysed(made)
    assert found.dialogue.sessions == found.tables["sessions"].num_rows == 1


def test_sides_of_directions() -> None:
    assert sides(pa.array(["s2c", "c2s"])).tolist() == [1, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 9)), max_size=30))
def test_rows_by_key(rows: list[tuple[int, int, int]]) -> None:
    session, side, offset = (np.array([r[i] for r in rows], np.int64) for i in range(3))
    order = by_key(session * 2 + side, offset)
    found = rows if order is None else [rows[i] for i in order]
    assert found == sorted(rows)


NAMES = st.sampled_from(["ack", "acks", "a", "", "id", "größe"])


@given(st.lists(st.dictionaries(NAMES, st.text(max_size=5), max_size=4), max_size=8), NAMES, st.integers(0, 3))
def test_values_by_name(maps: list[dict[str, str]], name: str, skip: int) -> None:
    column = pa.array([list(m.items()) for m in maps], HEADER_MAP).slice(skip)
    rows = np.arange(len(column))[::-1].astype(np.int64)
    assert values_at(column, header_entries(column, name, rows)).to_pylist() == [m.get(name) for m in maps[skip:]][::-1]
