"""Dialogues: which sessions, which frames, and where the room ends."""

from __future__ import annotations

from typing import Any

from stompcap.report import dialogues


def frames(stream: str, nths: list[int], number: int) -> list[dict[str, Any]]:
    return [{"stream_id": stream, "nth": nth, "frames": number, "first_ns": nth * 1000} for nth in nths]


def test_sessions_of_incidents_come_before_those_that_broke_a_must() -> None:
    one, two, three = ("0" * 19 + digit for digit in "123")
    answers = {
        "incidents": [{"streams": [two, "'; DROP TABLE frames"]}, {"streams": None}],
        "sessions": [{"stream_id": one, "must": 2}, {"stream_id": three, "must": 0}, {"stream_id": two, "must": 1}],
    }
    assert dialogues.wanted(answers) == [two, one], "and an id that is none is not asked for"


def test_a_frame_says_how_many_are_left_out_before_it() -> None:
    [(_, found)], left = dialogues.folded(["a"], frames("a", [1, 2, 9], 9))
    assert [row["skipped"] for row in found] == [0, 0, 6]
    assert {row["begin_ns"] for row in found} == {1000}
    assert left == 0


def test_sessions_without_room_are_counted() -> None:
    names = [f"{number:020}" for number in range(dialogues.SESSIONS + 5)]
    found, left = dialogues.folded(names, [row for name in names for row in frames(name, [1], 1)])
    assert (len(found), left) == (dialogues.SESSIONS, 5)
