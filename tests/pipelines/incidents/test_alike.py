"""Of many incidents that say the same the first are shown, the others counted with their names and times; nothing is lost or moved."""

from __future__ import annotations

from typing import Any

from stompcap.incidents.alike import EACH, folded
from tests.cli.test_incidents import row
from tests.report.sample import HOSTILE


def stalled(name: str, waits: int, **values: Any) -> dict[str, Any]:
    sentence = f"{name} settled nothing for {waits} s with 1 message in flight of /queue/a, 1.0{waits} ms a message before"
    return row(name, waits, kind="consumer_stalled", subject=name, sentence=sentence, **values)


def numbers(rows: list[dict[str, Any]]) -> list[tuple[int, list[int]]]:
    return [(one.number, [number for number, _ in one.others]) for one in folded(rows)]


def test_those_that_differ_in_names_and_numbers_are_counted_behind_the_third() -> None:
    rows = [stalled(f"10.0.0.{n}", n) for n in range(6)]
    rows.insert(2, row("billing"))
    assert numbers(rows) == [(1, []), (2, []), (3, []), (4, [5, 6, 7])]
    assert folded(rows)[-1].words == "and 3 that say the same, begun 2025-11-24 16:00:03 to 16:00:05: 10.0.0.3, 10.0.0.4, 10.0.0.5"


def test_one_more_is_shown_as_it_is() -> None:
    assert numbers([stalled("a", n) for n in range(EACH + 1)]) == [(n + 1, []) for n in range(EACH + 1)]


def test_each_name_is_said_once_and_three_at_most() -> None:
    names = ["a", "b", "c", "d", "d", "e", "f", "g"]
    [*_, last] = folded([stalled(name, 7) for name in names])
    assert last.words == "and 5 that say the same, begun 2025-11-24 16:00:07: d, e, f and others"


def test_what_differs_in_more_is_not_the_same() -> None:
    one, other = [stalled("a", n) for n in range(4)], [stalled("a", n, level="critical") for n in range(4)]
    third = [stalled("a", n) | {"sentence": f"a settled nothing for {n} s of /queue/b"} for n in range(4)]
    ended = [stalled("a", n, end=9) for n in range(4)]
    assert numbers([*one, *other, *third, *ended]) == [(n + 1, []) for n in range(16)]


def test_names_of_the_wire_are_escaped() -> None:
    assert folded([stalled(HOSTILE, n) for n in range(9)])[-1].words.isprintable()


def test_none_are_none() -> None:
    assert folded([]) == []
