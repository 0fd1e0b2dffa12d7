"""What is said of incidents, by what is known of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from stompcap.incidents.facts import Facts
from stompcap.incidents.summary import summarise
from stompcap.lake import query
from stompcap.tables.incidents import INCIDENTS, ORDER

S = 10**9
STALL = {"kind": "consumer_stalled", "most": 11.6, "before": 0.03, "messages": 5, "destination_name": "queue/mail", "backlog": 142.0}
STALLED = "mailer settled nothing for 11.6 s with 5 messages in flight of /queue/mail, 30 ms a message before"
REFUSED = {"kind": "refused", "text": "Access refused", "events": 38, "what": "10.0.0.1:61613 Access refused"}


def said(values: dict[str, Any]) -> str:
    facts = {"subject_kind": "login", "subject": "mailer", "source": "here", "begin_ns": 0, "latest_ns": 74 * S, "end_ns": None}
    return summarise(Facts(**facts | {"events": 1, "server_product": "RabbitMQ"} | values)).sentence


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (STALL | {"text": "capture_end"}, f"{STALLED}, 142 waiting"),
        (STALL | {"text": "settled", "end_ns": S, "backlog": None}, STALLED),
        (
            STALL | {"text": "close beats"},
            f"{STALLED}; then RabbitMQ closed its connection, as it sent no heart-beats, and nobody consumes there since, 142 waiting",
        ),
        (STALL | {"text": "close client"}, f"{STALLED}; then it closed its connection, and nobody consumes there since, 142 waiting"),
        (STALL | {"text": "close server", "end_ns": S}, f"{STALLED}; then RabbitMQ closed its connection, 142 waiting"),
        (STALL | {"text": "close"}, f"{STALLED}; then its connection ended, and nobody consumes there since, 142 waiting"),
        (STALL | {"text": "disconnect", "end_ns": S, "backlog": 0.0}, f"{STALLED}; then it disconnected"),
        (
            STALL | {"text": "capture_end skipping"},
            "mailer settles some messages of /queue/mail and never others: 5 are in flight, and none was settled for 11.6 s, "
            "30 ms a message before, 142 waiting",
        ),
        (REFUSED, 'mailer: 38 connections refused by RabbitMQ at 10.0.0.1:61613, one every 2 s: "Access refused"'),
        (REFUSED | {"server_product": None, "events": 1}, 'mailer: 1 connection refused by 10.0.0.1:61613: "Access refused"'),
        (REFUSED | {"events": 1, "text": "User [mailer] or password is wrong"},
         'mailer: 1 connection refused by RabbitMQ at 10.0.0.1:61613: "User [mailer] or password is wrong"'),
        ({"kind": "protocol", "what": "CN-02 stompjs", "text": "CN-02 A", "events": 2}, "mailer (stompjs) broke 2 times MUST CN-02 A"),
        ({"kind": "protocol", "what": "CN-02 ", "text": "CN-02 A", "events": 1}, "mailer broke 1 time MUST CN-02 A"),
        (
            {"kind": "errors", "text": f"Error sending CoreMessage[id=5, {'x' * 60}]@7", "destination_name": "queue/a", "events": 38},
            'mailer: 38 ERRORs from RabbitMQ to what it sends to /queue/a, one every 2 s: "Error sending CoreMessage[…]"',
        ),
    ],
)  # fmt: skip
def test_a_sentence(values: dict[str, Any], sentence: str) -> None:
    assert said(values) == sentence


@pytest.mark.parametrize(
    ("kind", "values", "level"),
    [
        ("nacked", {"messages": 5, "mean": 0.2}, "warning"), ("nacked", {"messages": 4, "mean": 1.0}, "note"),
        ("nacked", {"messages": 50, "mean": 0.01}, "note"),
        ("protocol", {"what": "FR-07 x", "events": 3}, "warning"), ("protocol", {"what": "FR-07 x", "events": 2}, "note"),
        ("protocol", {"what": "FR-08 x", "events": 99}, "note"),
    ],
)  # fmt: skip
def test_its_level(kind: str, values: dict[str, Any], level: str) -> None:
    facts = Facts(**{"kind": kind, "subject_kind": "login", "subject": "a", "source": "b", "begin_ns": 0, "latest_ns": S, "end_ns": S,
                     "events": 1} | values)  # fmt: skip
    assert summarise(facts).level == level


def test_who_is_gone_comes_before_who_is_slow_however_much_waits_for_that() -> None:
    rows = [
        ("slow", "consumer_slow", "critical", 900, None), ("was gone", "consumer_gone", "critical", 30, 5),
        ("gone", "consumer_gone", "critical", 3, None), ("note", "refused", "note", 9999, None),
        ("warned", "refused", "warning", 5000, None),
    ]  # fmt: skip
    names = ("incident_id", "kind", "level", "messages", "end_ns")
    more = {"subject_kind": "login", "subject": "a", "source": "b", "begin_ns": 1, "confidence": "proven", "sentence": "c"}
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) | more for row in rows], INCIDENTS.arrow)
    with query.opened({"incidents": table}) as database:
        found = database.sql(f"SELECT incident_id FROM incidents ORDER BY {ORDER}").fetchall()
    assert [name for (name,) in found] == ["gone", "slow", "was gone", "warned", "note"]
