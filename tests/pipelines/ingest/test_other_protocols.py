"""What is seen and cannot be read is reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.ingest.other_protocols import lines, not_read
from stompcap.lake import tables as lakes
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PORTS = {61612, 15674, 61613}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([("stomp", "tcp", 61613, 5), ("http", "tcp", 80, 3), ("other", "tcp", 22, 1)], []),
        (
            [("stomp", "tcp", 61613, 5), ("tls", "tls", 8443, 9), ("http", "websocket", 15675, 1), ("http", "tcp", 8443, 1)],
            ["9 connections of TLS on port 8443, not decrypted", "1 connection of WebSocket on port 15675, not read"],
        ),
        (
            [("stomp", "tcp", 61613, 5), *(("tls", "tls", port, 10 - port) for port in range(1, 7))],
            [*(f"{10 - port} connections of TLS on port {port}, not decrypted" for port in range(1, 5)), "and 2 more kinds"],
        ),
        ([("stomp", "tcp", 61613, 5), ("tls", "tls", 61612, 3)], ["3 connections of TLS on port 61612, not decrypted"]),
        ([("stomp", "tcp", 61613, 5), ("http", "websocket", 15674, 1)], ["1 connection of WebSocket on port 15674, not read"]),
        (
            [("stomp", "sockjs", 8080, 1), ("http", "sockjs", 8080, 4), ("http", "wss", 8443, 2), ("http", "tcp", 8080, 7)],
            ["4 connections of SockJS over HTTP on port 8080, not read", "2 connections of WebSocket on port 8443, not read"],
        ),
        (
            [("stomp", "tcp", 61613, 5), ("mqtt", "tcp", 61613, 3), ("mqtt", "tcp", 1883, 9), ("other", "tcp", 61612, 1)],
            ["3 connections of MQTT on port 61613, not kept", "1 connection of an unknown protocol on port 61612, not kept"],
        ),
        (
            [("tls", "tls", 61612, 3), ("http", "tcp", 80, 1), ("other", "tcp", 22, 1), ("other", "tcp", 23, 1)],
            [
                "no connection spoke STOMP, but there were: 3 connections of TLS on port 61612, not decrypted; 1 connection of HTTP on "
                "port 80, not kept; 1 connection of an unknown protocol on port 22, not kept; 1 connection of an unknown protocol on port "
                "23, not kept"
            ],
        ),
        (
            [("openwire", "tcp", port, 10 - port) for port in range(1, 7)],
            [
                "no connection spoke STOMP, but there were: 9 connections of OpenWire on port 1, not kept; 8 connections of OpenWire "
                "on port 2, not kept; 7 connections of OpenWire on port 3, not kept; 6 connections of OpenWire on port 4, not kept; and 2 "
                "more kinds"
            ],
        ),
        (
            [("other", "tcp", 5, 1234)],
            ["no connection spoke STOMP, but there were: 1,234 connections of an unknown protocol on port 5, not kept"],
        ),
    ],
)
def test_lines(rows: list[tuple[str, str, int, int]], expected: list[str]) -> None:
    names = ("protocol", "transport", "server_port", "connections")
    assert lines([dict(zip(names, row, strict=True)) for row in rows], PORTS) == expected


def test_only_connections_of_the_batch_with_octets_count(tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    for batch in "abc":
        row = {"stream_id": batch, "batch_id": batch, "protocol": "tls", "transport": "tls", "server_port": 61612}
        rows = [row | {"outer_octets_c2s": 9, "outer_octets_s2c": 0}, row | {"outer_octets_c2s": 0, "outer_octets_s2c": 0}]
        lakes.append(lake, "streams", table("streams", rows), [batch], "run")

    def no_spark() -> SparkSession:
        raise AssertionError("this lake is small")

    assert not_read(lake, "b", PORTS, no_spark) == [
        "no connection spoke STOMP, but there were: 1 connection of TLS on port 61612, not decrypted"
    ]


def test_what_was_refused_is_told_with_the_answer(tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    octets = {"outer_octets_c2s": 9, "outer_octets_s2c": 9}
    row = {"batch_id": "b", "protocol": "http", "transport": "websocket", "server_port": 15674, **octets}
    lakes.append(lake, "streams", table("streams", [row | {"stream_id": stream} for stream in "abc"]), ["b"], "run")
    layer = {"batch_id": "b", "layer": 1, "kind": "http", "status": "refused"}
    answers = {"a": "the server answered 404", "b": "the server answered 404", "c": "the server answered 502"}
    rows = [layer | {"stream_id": stream, "reason": reason} for stream, reason in answers.items()]
    lakes.append(lake, "transports", table("transports", rows), ["b"], "run")

    def no_spark() -> SparkSession:
        raise AssertionError("this lake is small")

    assert not_read(lake, "b", PORTS, no_spark) == [
        "no connection spoke STOMP, but there were: 2 connections of WebSocket on port 15674, refused: the server answered 404; "
        "1 connection of WebSocket on port 15674, refused: the server answered 502"
    ]


def test_octets_that_were_left_out_are_told(tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    row = {"protocol": "stomp", "transport": "tcp", "server_port": 61613, "outer_octets_c2s": 9, "outer_octets_s2c": 9}
    left_out = {"stray_segments_c2s": 2, "stray_octets_c2s": 1300, "stray_segments_s2c": 1, "stray_octets_s2c": 200}
    none = dict.fromkeys(left_out, 0)
    rows = [row | {"stream_id": "a"} | left_out, row | {"stream_id": "b"} | none, row | {"stream_id": "c", "protocol": "tls"} | left_out]
    for batch in "ab":
        some = [one | {"stream_id": one["stream_id"] + batch, "batch_id": batch} for one in (rows if batch == "a" else rows[1:2])]
        lakes.append(lake, "streams", table("streams", some), [batch], "run")

    def no_spark() -> SparkSession:
        raise AssertionError("this lake is small")

    _, said = not_read(lake, "a", {80}, no_spark)
    assert said.startswith("3 segments of STOMP connections with 1.5 kB in impossible places of their streams")
    assert not_read(lake, "b", {61613}, no_spark) == []
