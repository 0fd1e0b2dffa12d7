"""What is seen and cannot be read is reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.unread import lines, unread
from stompcap.lake import tables as lakes
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PORTS = {61612, 15674, 61613}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([("stomp", "tcp", 61613, 5), ("http", "tcp", 80, 3), ("tls", "tls", 443, 9), ("other", "tcp", 22, 1)], []),
        ([("stomp", "tcp", 61613, 5), ("tls", "tls", 61612, 3)], ["3 TLS connections to port 61612, not decrypted"]),
        ([("stomp", "tcp", 61613, 5), ("http", "websocket", 15674, 1)], ["1 WebSocket connection to port 15674, not read"]),
        (
            [("tls", "tls", 61612, 3), ("http", "tcp", 80, 1), ("other", "tcp", 22, 1), ("other", "tcp", 23, 1)],
            [
                "no connection spoke STOMP, but there were: 3 TLS connections to port 61612, not decrypted; 2 other connections; "
                "1 HTTP connection to port 80"
            ],
        ),
        (
            [("tls", "tls", port, 10 - port) for port in range(6)],
            [
                "no connection spoke STOMP, but there were: 10 TLS connections to port 0, not decrypted; 9 TLS connections to port 1, "
                "not decrypted; 8 TLS connections to port 2, not decrypted; 7 TLS connections to port 3, not decrypted; and 2 more kinds"
            ],
        ),
        ([("other", "tcp", 5, 1234)], ["no connection spoke STOMP, but there were: 1,234 other connections"]),
    ],
)
def test_lines(rows: list[tuple[str, str, int, int]], expected: list[str]) -> None:
    names = ("protocol", "transport", "server_port", "connections")
    assert lines([dict(zip(names, row, strict=True)) for row in rows], PORTS) == expected


def test_only_connections_of_the_batch_count(tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    for batch in "abc":
        row = {"stream_id": batch, "batch_id": batch, "protocol": "tls", "transport": "tls", "server_port": 61612}
        lakes.append(lake, "streams", table("streams", [row]), [batch], "run")

    def no_spark() -> SparkSession:
        raise AssertionError("this lake is small")

    assert unread(lake, "b", PORTS, no_spark) == [
        "no connection spoke STOMP, but there were: 1 TLS connection to port 61612, not decrypted"
    ]
