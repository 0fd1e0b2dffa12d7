"""Real brokers and libraries in the recordings: clean sessions break no MUST rule but those listed, and what is broken is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.documents import PAGES, broken, comparison
from tests.e2e.known import LIBRARIES, MUST, Recorded
from tests.e2e.pure import recorded_tables

DOCS = Path(__file__).resolve().parents[2] / "docs"

# (rule, who breaks it by nature, the recordings it is found in)
BROKEN = [
    ("CN-02", "stompjs", "stompjs"),
    ("CN-03", "stompjs", "stompjs"),
    ("CN-02", "stomp.py", "habits"),
    ("CN-18", "RabbitMQ", "habits"),
    ("CN-18", "ActiveMQ", "habits"),
    ("CN-20", "stomp.py", "library"),
    ("CN-20", "go-stomp", "gostomp"),
    ("DS-06", "Artemis", "violations"),
    ("ER-02", "RabbitMQ", "aftermath"),
    ("ER-02", "ActiveMQ", "aftermath"),
    ("ER-02", "Artemis", "aftermath"),
    ("ER-03", "RabbitMQ", "violations"),
    ("ER-03", "ActiveMQ", "violations"),
    ("ER-04", "RabbitMQ", "aftermath"),
    ("ER-05", "ActiveMQ", "violations"),
    ("ER-06", "RabbitMQ", "violations"),
    ("ER-06", "ActiveMQ", "violations"),
    ("ER-06", "Artemis", "violations"),
    ("FR-01", "ActiveMQ", "violations"),
    ("FR-17", "stomp.py", "library"),
    ("FR-17", "stompjs", "stompjs"),
    ("FR-17", "go-stomp", "gostomp"),
    ("FR-17", "vertx-stomp", "vertx"),
    ("FR-19b", "ActiveMQ", "aftermath"),
    ("FR-20", "stompjs", "stompjs"),
    ("FR-26", "stompest", "stompest"),
    ("FR-26", "ActiveMQ", "stompest"),
    ("FR-26", "Artemis", "stompest"),
    ("FR-27", "stompjs", "stompjs"),
    ("FR-27", "stomp.py", "library"),
    ("HB-02", "ActiveMQ", "gostomp"),
    ("HB-02", "ActiveMQ", "library"),
    ("HB-08", "Artemis", "habits"),
    ("SB-05", "ActiveMQ", "habits"),
    ("SN-05", "RabbitMQ", "aftermath"),
    ("SN-05", "ActiveMQ", "aftermath"),
    ("SN-05", "Artemis", "aftermath"),
]

CALLED = {"vertx-stomp": "vert.x"}  # how a library is called in sessions.client_product, where not as in its package


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorded]:
    return Recorded(recorded_tables())


def test_clean_sessions_break_no_must_rule_but_those_listed(recorded: Recorded) -> None:
    found = recorded.clean("M")
    unlisted = [f"{product} {row['rule_id']} {session.name}: {row['evidence']}" for product, row, session in found
                if (row["rule_id"], product) not in MUST]  # fmt: skip
    assert not unlisted, "\n".join(unlisted)
    assert {(row["rule_id"], product) for product, row, _ in found} == set(MUST)


def test_clean_sessions_are_those_of_five_libraries_with_three_brokers(recorded: Recorded) -> None:
    seen = {(session.summary["client"].split("/")[0], session.summary["broker"]) for capture, session in recorded.sessions.values()
            if capture in LIBRARIES}  # fmt: skip
    assert len(seen) == 15


@pytest.mark.parametrize(("rule", "product", "capture"), BROKEN)
def test_what_a_product_breaks_is_found_in_a_recording_of_it(rule: str, product: str, capture: str, recorded: Recorded) -> None:
    assert any((row["rule_id"], who, where) == (rule, product, capture) for who, row, where, _ in recorded.broken())


def test_the_pages_name_what_was_found(recorded: Recorded) -> None:
    page = broken(recorded)
    assert all(f"### {rule}, by {product}" in page for rule, product in MUST)
    assert all(f"| {rule} |" in page for rule, _, _ in BROKEN)
    assert "passcode:*" in page
    told = comparison(recorded.tables)
    assert "| ER-02 | MUST |" in told.partition("## Kept")[0]


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_current(name: str, recorded: Recorded) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](recorded), "make docs"


def test_no_library_is_taken_for_another(recorded: Recorded) -> None:
    taken = set()
    for stream, (_, session) in recorded.sessions.items():
        library = session.summary["client"].split("/")[0]
        [row] = recorded.seen.rows("sessions", stream)
        if library != "scripted" and row["client_product"] is not None:
            taken.add((library, row["client_product"]))
    assert taken <= {(name, CALLED.get(name, name)) for name, _ in taken}
