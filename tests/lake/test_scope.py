"""A scope restricts every table that a report asks to a time and names; hostile names are data."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stompcap.lake.query import in_process
from stompcap.lake.scope import Scope
from stompcap.report.asking import EVERY
from tests.report.sample import HOSTILE, SECOND, START, lake


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return lake()


SCOPES = {
    "login": (Scope(logins=(HOSTILE,)), 12),
    "no such login": (Scope(logins=("'; DROP TABLE all_sessions; --",)), 0),
    "client by address": (Scope(clients=("10.0.0.66",)), 12),
    "client by library": (Scope(clients=("stomp.py",)), 24),
    "broker": (Scope(brokers=("RabbitMQ",)), 5),
    "broker by address": (Scope(brokers=("10.0.0.9:61613",)), 36),
    "a time": (Scope(since_ns=START + 600 * SECOND, until_ns=START + 601 * SECOND), 6),
    "all of it": (Scope(since_ns=START - SECOND, until_ns=START + 10**6 * SECOND), 36),
}


@pytest.mark.parametrize(("scope", "sessions"), SCOPES.values(), ids=SCOPES)
def test_sessions_of_a_scope(tables: dict[str, pa.Table], scope: Scope, sessions: int) -> None:
    found = in_process(tables, [EVERY["sessions_total"], EVERY["sessions"], EVERY["who"]], scope=scope)
    assert found["sessions_total"]["sessions"].to_pylist() == [sessions]
    assert found["sessions"].num_rows == sessions
    assert sum(found["who"]["connections"].to_pylist()) == sessions


def test_every_question_has_an_answer_within_a_scope(tables: dict[str, pa.Table]) -> None:
    narrow = Scope(START, START + 900 * SECOND, (HOSTILE,), ("stomp.py",), ("queue/orders",), ("RabbitMQ",))
    found = in_process(tables, list(EVERY.values()), scope=narrow)
    assert set(found) == set(EVERY)


def test_incidents_and_minutes_of_a_destination(tables: dict[str, pa.Table]) -> None:
    found = in_process(tables, [EVERY["incidents"], EVERY["minutes"]], scope=Scope(destinations=("queue/orders",)))
    assert found["incidents"]["destination_name"].to_pylist() == ["queue/orders"]
    assert set(found["minutes"]["destination_name"].to_pylist()) == {"queue/orders"}
