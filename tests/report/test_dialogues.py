"""Dialogues: which sessions, which frames, and where the room ends."""

from __future__ import annotations

from typing import Any

from stompcap.lake.query import in_process
from stompcap.report import dialogues
from tests.report.sample import table


def frames(stream: str, nths: list[int], number: int) -> list[dict[str, Any]]:
    return [{"stream_id": stream, "nth": nth, "frames": number, "first_ns": nth * 1000} for nth in nths]


def test_sessions_of_incidents_come_before_those_with_findings() -> None:
    one, two, three = ("0" * 19 + digit for digit in "123")
    answers = {
        "incidents": [{"streams": [two, "'; DROP TABLE frames"]}, {"streams": None}],
        "sessions_found": [{"stream_id": one}, {"stream_id": two}, {"stream_id": three}],
    }
    assert dialogues.wanted(answers) == [two, one, three], "and an id that is none is not asked for"


def test_a_frame_says_how_many_are_left_out_before_it() -> None:
    [(_, found)] = dialogues.folded(["a"], frames("a", [1, 2, 9], 9))
    assert [row["skipped"] for row in found] == [0, 0, 6]
    assert {row["begin_ns"] for row in found} == {1000}


def test_the_room_ends_and_the_page_says_where() -> None:
    names = [f"{number:020}" for number in range(dialogues.SESSIONS + 5)]
    shown = {name for name, _ in dialogues.folded(names, [row for name in names for row in frames(name, [1], 1)])}
    assert shown == set(names[: dialogues.SESSIONS])
    found = [{"stream_id": name, "gravest": number > 1001, "total": 5000} for number, name in enumerate(names)]
    assert dialogues.left(found, shown) == (4000, "M")
    assert dialogues.left([row | {"gravest": number > 900} for number, row in enumerate(found)], shown) == (4000, "S")
    assert dialogues.left([row | {"total": 1005} for row in found], set(names)) == (0, None)


def test_of_a_level_sessions_that_broke_what_few_break_come_first() -> None:
    findings = ("a FR-27 S", "b FR-27 S", "b SE-01 S", "c FR-27 S", "c FR-07 M", "d CN-20 I")
    rows = [dict(zip(("stream_id", "rule_id", "level"), one.split(), strict=True)) for one in findings]
    [answer] = in_process({"compliance_findings": table("compliance_findings", rows)}, [dialogues.FOUND]).values()
    assert answer.column("stream_id").to_pylist() == ["c", "b", "a", "d"]
    assert set(answer.column("total").to_pylist()) == {4}
