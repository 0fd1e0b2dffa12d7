"""View session_ends: causes that only other connections and layers show, in DuckDB (Spark is asked by tests of docs/sql.md)."""

from __future__ import annotations

from typing import Any

import pytest

from stompcap.lake.query import Query, in_process
from stompcap.tables.session_ends import SESSION_ENDS
from tests.quality.lakes import fill

S = 1_000_000_000
Row = tuple[str, float, float, str | None, str]  # cause of its own, opened and closed in seconds, closed by, broker


def ends(rows: list[Row], layers: list[dict[str, Any]], **more: list[Any]) -> list[tuple[str, str]]:
    """`cause` and `cause_evidence` of sessions, in their order."""
    ids = [f"{number:020d}" for number, _ in enumerate(rows)]
    causes, opened, closed, by, broker = zip(*rows, strict=True)
    until = [int(at * S) for at in closed]
    times = {"opened_ns": [int(at * S) for at in opened], "closed_ns": until, "last_ns": until}
    tables = {
        "sessions": fill("sessions", len(rows), {"stream_id": ids, "close_cause": causes, "close_evidence": ["seen"] * len(rows),
                                                 "server_ip": broker, **times, **more}),
        "streams": fill("streams", len(rows), {"stream_id": ids, "closed_by": by, "source": ["here"] * len(rows)}),
        "transports": fill("transports", len(layers), {"stream_id": [ids[layer["of"]] for layer in layers], **{
            name: [layer.get(name) for layer in layers] for name in ("kind", "close_code", "close_reason", "closed_by")}}),
    }  # fmt: skip
    sql = f"SELECT cause, cause_evidence FROM ({SESSION_ENDS.of()}) ORDER BY stream_id"
    return [tuple(row.values()) for row in in_process(tables, [Query("ends", SESSION_ENDS.tables, sql)])["ends"].to_pylist()]


CLOSE = {"kind": "websocket", "close_code": 1002, "closed_by": "server", "of": 0}
ALERT = {"kind": "tls", "close_reason": "bad_record_mac", "of": 0}
LAYERS = [
    ("unknown", [], ("unknown", "seen")),
    ("unknown", [CLOSE], ("websocket_close", "Close 1002 of the server; seen")),
    ("unknown", [CLOSE | {"close_code": 1009, "closed_by": None}], ("size_limit", "Close 1009; seen")),
    ("unknown", [CLOSE | {"close_code": None, "closed_by": "client"}], ("websocket_close", "Close of the client; seen")),
    ("unknown", [CLOSE | {"close_code": None, "closed_by": None}], ("unknown", "seen")),
    ("reset", [ALERT], ("tls_alert", "alert bad_record_mac; seen")),
    ("reset", [ALERT, CLOSE], ("unknown", "Close 1002 of the server; seen")),
    ("disconnect", [ALERT, CLOSE], ("disconnect", "seen")),
    ("heartbeat_client", [CLOSE], ("heartbeat_client", "seen")),
]


@pytest.mark.parametrize(("cause", "layers", "expected"), LAYERS)
def test_what_layers_said_tells_what_the_connection_does_not(cause: str, layers: list[dict[str, Any]], expected: tuple[str, str]) -> None:
    assert ends([(cause, 0, 9, "server", "a")], layers) == [expected]


def _gone(*at: float, cause: str = "unknown", by: str | None = "server", broker: str = "a") -> list[Row]:
    return [(cause, 0, one, by, broker) for one in at]


STOPS = [
    (_gone(9, 9.3, 9.9), 3),
    (_gone(9, 9.1, cause="reset") + _gone(9.2, 9.3), 4),
    (_gone(9, 9.3), 0),
    (_gone(9, 10.5, 12), 0),
    (_gone(9, 9.3, 9.9, by="client"), 0),
    (_gone(9, 9.3, 9.9, by=None), 0),
    (_gone(9, 9.3) + _gone(9.4, broker="b"), 0),
    (_gone(9, 9.3, 9.9, cause="heartbeat_client"), 0),
    # the broker goes on
    ([*_gone(9, 9.3, 9.9), ("disconnect", 0, 20, "client", "a")], 0),
    ([*_gone(9, 9.3, 9.9), ("disconnect", 0, 20, "client", "b")], 3),
    # it closed what was left when its clients had reasons of their own
    ([*_gone(9, 9.3, 9.9), ("disconnect", 0, 9.5, "client", "a")], 3),
]


@pytest.mark.parametrize(("rows", "stopped"), STOPS)
def test_a_broker_that_closes_all_it_has_within_a_second_stops(rows: list[Row], stopped: int) -> None:
    causes = [cause for cause, _ in ends(rows, [])]
    assert causes.count("broker_stop") == stopped
    assert [cause for cause in causes if cause != "broker_stop"] == [cause for cause, *_ in rows[stopped:]] or not stopped


@pytest.mark.parametrize(("code", "by", "stopped"), [
    (None, "client", False), (1001, "client", False), (1001, "server", True), (None, "server", True), (1000, "server", False),
])
def test_clients_that_close_their_websockets_at_once_are_no_broker_that_stops(code: int | None, by: str, stopped: bool) -> None:
    layers = [CLOSE | {"close_code": code, "closed_by": by, "of": number} for number in range(3)]
    cause = "broker_stop" if stopped else "websocket_close"
    assert [one for one, _ in ends(_gone(9, 9.3, 9.9), layers)] == [cause] * 3


def test_an_error_that_says_so_belongs_to_it() -> None:
    rows, said = _gone(9, 9.1, 9.2, cause="error"), "broker forced connection closure with reason 'shutdown'"
    assert ends(rows, [], error_message=[said] * 3) == [("broker_stop", "3 connections that the broker closed within a second; seen")] * 3
    assert ends(rows, [], error_message=["Bad command"] * 3) == [("error", "seen")] * 3
