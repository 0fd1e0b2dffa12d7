"""Views that answer questions of their own, over a few made-up rows, in DuckDB (Spark is asked by tests of docs/sql.md)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from stompcap.lake.query import Query, in_process
from stompcap.tables import TABLES
from stompcap.tables.view import View
from stompcap.views import VIEWS
from tests.quality.lakes import fill

ID = "0" * 20
S = 1_000_000_000
Row = dict[str, Any]


def asked(view: View, columns: str, **given: list[Row]) -> list[tuple[Any, ...]]:
    """Columns of the rows of a view over tables that have these rows, of one stream where they name none."""
    tables = {}
    for name in view.tables:
        rows = [{"stream_id": ID} | row for row in given.get(name, [])]
        named = list(dict.fromkeys(key for row in rows for key in row))
        held = {key: [row.get(key) for row in rows] for key in named}
        tables[name] = fill(name, len(rows), {key: pa.array(values, TABLES[name].column(key).type) for key, values in held.items()})
    answers = in_process(tables, [Query("it", view.tables, f"SELECT {columns} FROM ({view.of()}) t ORDER BY ALL")])
    return [tuple(row.values()) for row in answers["it"].to_pylist()]


def frame(direction: str, offset: int, command: str, at: float, **more: Any) -> tuple[Row, Row]:
    """A row of frames and one of raw_frames; a header is written `correlation_id=`."""
    place = {"direction": direction, "stream_offset": offset, "first_ns": int(at * S), "last_ns": int(at * S)}
    names = {name: more.pop(name) for name in ("correlation_id", "reply_to", "message") if name in more}
    header = [(name.replace("_", "-"), value) for name, value in names.items()]
    return place | {"command": command, "header": header} | more, place | {"wire_order": int(at * 10), "kind": "frame"}


def both(*frames: tuple[Row, Row]) -> dict[str, list[Row]]:
    return {"frames": [one for one, _ in frames], "raw_frames": [raw for _, raw in frames]}


def test_an_error_is_caused_by_the_frame_that_it_names_or_the_last_of_the_client() -> None:
    rows = both(
        frame("c2s", 0, "CONNECT", 1), frame("s2c", 0, "CONNECTED", 2), frame("c2s", 50, "SEND", 3, receipt="r", destination="/a"),
        frame("c2s", 99, "ACK", 4), frame("s2c", 50, "ERROR", 5, receipt_id="r", message="no"), frame("s2c", 80, "ERROR", 6),
        frame("c2s", 150, "SEND", 7),
    )
    receipts = [{"receipt": "r", "request_offset": 50, "answer": "ERROR", "answered_ns": 5 * S, "status": "refused"}]
    sessions = [{"closed_ns": 8 * S, "close_cause": "error"}]
    found = asked(VIEWS["errors"], "stream_offset, message, cause_known_by, cause_command, cause_offset, to_close_us",
                  **rows, receipts=receipts, sessions=sessions)  # fmt: skip
    assert found == [(50, "no", "receipt", "SEND", 50, 3_000_000), (80, None, "last", "ACK", 99, 2_000_000)]


def test_a_request_is_answered_by_the_first_message_behind_it_with_its_correlation_id() -> None:
    rows = both(
        frame("s2c", 0, "MESSAGE", 1, correlation_id="a"), frame("c2s", 0, "SEND", 2, correlation_id="a", reply_to="/temp-queue/x"),
        frame("s2c", 50, "MESSAGE", 3, correlation_id="b"), frame("s2c", 99, "MESSAGE", 4, correlation_id="a"),
        frame("s2c", 150, "MESSAGE", 5, correlation_id="a"), frame("c2s", 50, "SEND", 6, correlation_id="c", reply_to="/temp-queue/x"),
        frame("c2s", 90, "SEND", 7, correlation_id="a"),
    )
    found = asked(VIEWS["requests"], "stream_offset, correlation_id, reply_offset, reply_us", frames=rows["frames"])
    assert found == [(0, "a", 99, 2_000_000), (50, "c", None, None)]


def test_who_reconnects_is_told_by_address_login_and_client_id() -> None:
    def session(number: int, opened: float, closed: float | None, **more: Any) -> Row:
        times = {"opened_ns": int(opened * S), "closed_ns": None if closed is None else int(closed * S)}
        return {"stream_id": f"{number:020d}", "client_ip": "10.0.0.1", "login": "ann", "close_cause": "reset"} | times | more

    sessions = [
        session(1, 0, 5), session(2, 6, 20), session(3, 15, None), session(4, 30, 31), session(5, 7, 8, login="bob"),
        session(6, 9, 10, client_id="c"),
    ]  # fmt: skip
    streams = [{"stream_id": row["stream_id"], "source": "here"} for row in sessions]
    found = asked(VIEWS["reconnects"], "stream_id, number, previous_cause, away_us", sessions=sessions, streams=streams)
    assert [(int(stream), *rest) for stream, *rest in found] == [
        (1, 1, None, None), (2, 2, "reset", 1_000_000), (3, 3, "reset", None), (4, 4, "reset", None), (5, 1, None, None),
        (6, 1, None, None),
    ]  # fmt: skip


def test_an_eol_that_came_with_the_octets_before_it_is_no_heart_beat() -> None:
    def raw(offset: int, kind: str, at: int, direction: str = "s2c") -> Row:
        return {"direction": direction, "stream_offset": offset, "length_octets": 1, "kind": kind, "first_ns": at, "last_ns": at}

    rows = [raw(0, "frame", 1), raw(1, "eol", 1), raw(2, "eol", 9), raw(4, "eol", 9), raw(0, "eol", 9, "c2s")]
    found = asked(VIEWS["eol_details"], "direction, stream_offset, heartbeat", raw_frames=rows)
    assert found == [("c2s", 0, True), ("s2c", 1, False), ("s2c", 2, True), ("s2c", 4, True)]


PARTIAL = [
    (b"SEND\ndestination:/queue/a\nx:1\n\nbody", ("SEND", "/queue/a", "SEND\ndestination:/queue/a\nx:1")),
    (b"SEND\r\ndestination:/queue/a\r\n\r\nbo", ("SEND", "/queue/a", "SEND\ndestination:/queue/a")),
    (b"SEND\ndestination:/que", ("SEND", None, "SEND\ndestination:/que")),
    (b"SEND\n\ndestination:/queue/a\n", ("SEND", None, "SEND")),
    (b"SEN", (None, None, "SEN")),
    (b"rest of a body", (None, None, "rest of a body")),
]


@pytest.mark.parametrize(("octets", "told"), PARTIAL)
def test_a_part_of_a_frame_has_what_its_head_says(octets: bytes, told: tuple[str | None, ...]) -> None:
    rows = [{"direction": "c2s", "stream_offset": 0, "kind": "partial", "raw": octets}]
    assert asked(VIEWS["partial_frames"], "command, destination, head", raw_frames=rows) == [told]


def test_connections_of_two_sources_are_paired_by_endpoints_or_by_the_session_that_the_broker_names() -> None:
    def one(number: int, source: str, client: str, session: str, octets: int = 9) -> tuple[Row, Row, Row]:
        own = {"stream_id": f"{number:020d}"}
        ends = {"client_ip": client, "client_port": 1, "server_ip": "b", "server_port": 2}
        answer, _ = frame("s2c", 0, "CONNECTED", 1 + number / 1000)
        return own | ends | {"source": source, "octets_c2s": octets, "octets_s2c": 7}, own | {"session": session}, own | answer

    rows = [
        one(1, "in", "a", "s1"), one(2, "out", "a", "s1"),  # two taps
        one(3, "in", "a2", "s3"), one(4, "out", "proxy", "s3"),  # before and behind a proxy
        one(5, "in", "a3", "s5"), one(6, "out", "a3", "s6"),  # ports used again
        one(7, "in", "a4", "s7"), one(8, "out", "a4", "s7", 8),  # other octets
    ]  # fmt: skip
    streams, sessions, frames = map(list, zip(*rows, strict=True))
    columns = "stream_id, other_stream_id, known_by, later_us"
    found = asked(VIEWS["stream_pairs"], columns, streams=streams, sessions=sessions, frames=frames)
    assert [(int(a), int(b), known, later) for a, b, known, later in found] == [(1, 2, "endpoints", 1000), (3, 4, "session", 1000)]
