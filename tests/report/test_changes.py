"""What changed: only what is sure is said to have, incidents by their subjects, and gates by what is new."""

from __future__ import annotations

from typing import Any

import pytest

from stompcap.report import changes, gates
from stompcap.report.intervals import Figure

Rows = list[dict[str, Any]]


def incident(subject: str, level: str = "critical", number: int = 0) -> dict[str, Any]:
    return {"kind": "consumer_slow", "subject_kind": "login", "subject": subject, "destination_name": None, "level": level,
            "incident_id": f"{number:020x}", "sentence": subject, "begin_ns": 5, "end_ns": None}  # fmt: skip


def side(**answers: Rows) -> dict[str, Rows]:
    total = {"sessions": 100, "refused": 1, "unanswered": 0, "reset": 0}
    return {"incidents": [], "incident_levels": [], "sessions_total": [total]} | answers


def who(name: str, connections: int, refused: int) -> dict[str, Any]:
    return {"who": name, "connections": connections, "refused": refused, "errors": 0, "delivered": 0, "unsettled": 0, "redelivered": 0}


def acks(middle: float, reach: float, samples: int = 500) -> Rows:
    row = {"destination_name": "queue/a", "samples": samples, "p50": middle, "p50_low": middle - reach, "p50_high": middle + reach}
    return [row | {"p95": 2 * middle, "p95_low": None, "p95_high": None}]


def test_alike_sides_have_no_change() -> None:
    one = side(who=[who("billing", 40, 2)], ack_samples=acks(20, 1), incidents=[incident("billing")])
    found = changes.of(one, one, "yesterday")
    assert (found.sure, found.doubtful, found.new, found.gone, found.both) == ([], [], [], [], 1)
    assert found.alike > 0


@pytest.mark.parametrize(
    ("before", "now", "sure", "grade"),
    [
        ((20, 1), (400, 10), True, "worse"),
        ((400, 10), (20, 1), True, "better"),
        ((20, 1), (21.5, 0.1), False, "worse"),
        ((20, 30), (40, 30), False, "worse"),
    ],
)
def test_a_latency_changed_where_intervals_are_apart_and_by_a_tenth(
    before: tuple[float, float], now: tuple[float, float], sure: bool, grade: str
) -> None:
    found = changes.of(side(ack_samples=acks(*before)), side(ack_samples=acks(*now)), "yesterday")
    assert [one.what for one in found.sure] == (["ack latency, median"] if sure else [])
    if sure:
        assert found.sure[0].grade == grade
    doubtful = [one.what for one in found.doubtful]
    assert ("ack latency, median" in doubtful) is (now == (40, 30)), "named as not sure where it is half as much again"


def test_who_was_refused_is_said_by_name_with_the_counts() -> None:
    found = changes.of(side(who=[who("billing", 20, 0), who("shop", 9, 0)]), side(who=[who("billing", 38, 38), who("shop", 9, 1)]), "x")
    [one] = found.sure
    assert (one.subject, one.what, one.samples()) == ("billing", "connections refused or unanswered", ("0 of 20", "38 of 38"))
    assert one.by() == "new"


def test_rates_of_destinations_that_came_or_went() -> None:
    hour = [{"first_ns": 0, "last_ns": 3600 * 10**9, "covered_ns": 3600 * 10**9}]
    sent = [{"destination_name": "queue/a", "sends": 600, "sends_squares": 6000.0, "messages": 0, "messages_squares": 0.0}]
    found = changes.of(side(captured=hour), side(captured=hour, minute_samples=sent), "x")
    [one] = found.sure
    assert (one.subject, one.what, one.by(), one.grade) == ("queue/a", "sent", "new", "other")
    assert one.samples() == ("in 60 minutes", "in 60 minutes")
    assert one.in_words(Figure(10, None, None, 4)) == "10 a minute"


RULE = {"rule_id": "HB-01", "level": "M", "side": "client", "findings": 3, "broken_in": 2}


def test_gates_go_by_what_is_new() -> None:
    before = side(incidents=[incident("billing")], rules=[{"rule_id": "HB-01", "sessions": 50}])
    now = side(incidents=[incident("billing"), incident("shop", number=1)], broken=[RULE], rules=[{"rule_id": "HB-01", "sessions": 50}])
    found = changes.of(before, now, "x")
    assert [(number, row["subject"]) for number, row in found.new] == [(2, "shop")]
    answers: dict[str, Rows] = {
        "incident_levels": [{"level": "critical", "number": 2}, {"level": "warning", "number": 1}],
        "levels": [{"level": "M", "findings": 3}, {"level": "S", "findings": 7}, {"level": "M", "findings": 1}],
        "quality": [{"failing": 0}],
    }
    assert gates.tripped(["critical"], answers) == ["critical: 2 critical incidents"]
    assert gates.tripped(["warning", "warning"], answers) == ["warning: 2 critical incidents, 1 warning incident"]
    assert gates.tripped(["must", "should"], answers) == ["must: 4 MUST findings", "should: 4 MUST findings, 7 SHOULD findings"]
    assert gates.tripped(["quality"], answers) == []
    assert gates.tripped(["critical", "must"], answers, found) == [
        "critical: 1 critical incident not there before", "must: broken more often than before: HB-01 MUST, client"]  # fmt: skip
    same = changes.of(now, now, "x")
    assert gates.tripped(["critical", "warning", "must", "should", "quality"], answers, same) == []
