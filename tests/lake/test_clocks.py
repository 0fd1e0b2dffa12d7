"""Operators are told where times contradict the order of packets, what that costs, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.cli.commands import doctor
from stompcap.lake import tables as lakes
from stompcap.lake.clocks import CLOCKS, disagreeing, explained
from stompcap.lake.query import in_process
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.mangler.shapes import MS, Shape, file_a_direction, rotated, swapped
from tests.report.sample import table

AGAINST, UNMEASURED, TIMED = "acks_against_time", "unmeasured", 1_764_000_000_000_000_000
REMEDY = "Synchronise the clocks of the capturing machines, or capture both directions on one (docs/judging.md)."
DIFFER = "sessions acknowledgements have earlier times than what they acknowledge: clocks of the captures differ or were set back."
Sessions = list[tuple[int | None, int | None, int | None]]
SAID: dict[str, tuple[Sessions, str | None]] = {
    "no sessions": ([], None),
    "all is well": ([(0, 0, TIMED), (0, 0, TIMED)], None),
    "an older version, which counted neither": ([(None, None, TIMED)], None),
    "acknowledgements before what they acknowledge": ([(2, 0, TIMED), (1, 0, TIMED), (0, 0, TIMED)], f"In 2 {DIFFER} {REMEDY}"),
    "durations unknown": (
        [(2, 1200, TIMED), (1, 3, TIMED), (0, 4, TIMED)],
        f"In 2 {DIFFER} 1,207 durations in 3 sessions are unknown (null), and in no figure. {REMEDY}",
    ),
    "a step that no acknowledgement contradicts": (
        [(0, 1, TIMED)],
        f"1 duration in 1 session is unknown (null) because clocks of the captures differ or stepped, and in no figure. {REMEDY}",
    ),
    "captures without times": ([(0, 5, None)], "1 session is from captures without times, and has no durations."),
}


def lake_of(where: Path, sessions: Sessions) -> str:
    """A lake of these sessions."""
    lake = str(where)
    lakes.create(lake)
    names = [f"{number:032x}" for number in range(len(sessions))]
    of = [(name, *one) for name, one in zip(names, sessions, strict=True)]
    lakes.append(lake, "streams", table("streams", [{"stream_id": name, AGAINST: against} for name, against, _, _ in of]), ["u"], "r")
    lakes.append(lake, "sessions", table("sessions", [{"stream_id": name, UNMEASURED: lost, "opened_ns": at} for name, _, lost, at in of]),
                 ["u"], "r")  # fmt: skip
    return lake


@pytest.mark.parametrize(("sessions", "words"), SAID.values(), ids=SAID)
def test_disagreeing_clocks_are_told_of(sessions: Sessions, words: str | None, tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", sessions)
    assert disagreeing(lake) == words
    [check] = [one for one in doctor.checks(lake, start_spark=False) if one.name == "clocks of the lake"]
    assert check.ok
    assert check.found == (words or "nothing contradicts them")


def test_of_no_lake_nothing_is_said(tmp_path: Path) -> None:
    assert disagreeing(str(tmp_path / "none")) is None


def test_connections_that_are_no_sessions_do_not_count() -> None:
    tables = {"sessions": table("sessions", []), "streams": table("streams", [{"stream_id": "a", AGAINST: 9}])}
    [row] = in_process(tables, [CLOCKS])["clocks_total"].to_pylist()
    assert explained(row) is None


SHAPES: dict[str, tuple[Shape, bool]] = {
    "a file a direction": (file_a_direction(), False),
    "neighbours swapped": (swapped(0.1), False),
    "one card's clock is 3 ms fast": (file_a_direction(3 * MS), True),
    "one card's clock is 3 ms slow": (file_a_direction(-3 * MS), True),
    "rotated files, between which the clock stepped back": (rotated(4, 200 * MS), True),
}


@pytest.mark.parametrize(("shape", "disagree"), SHAPES.values(), ids=SHAPES)
def test_captures_whose_clocks_disagree_are_told_of_and_no_others(shape: Shape, disagree: bool, tmp_path: Path) -> None:
    """Files that lost the order of packets say nothing against clocks: times tell it."""
    [files] = shape.files(DATA / "rabbitmq_dialogue.pcap", tmp_path)
    tables = tables_of([str(file) for file in files])
    [row] = in_process({name: tables[name] for name in CLOCKS.tables}, [CLOCKS])["clocks_total"].to_pylist()
    words = explained(row)
    assert (words is not None) == disagree
    if words is not None:
        durations = sum(tables["sessions"].column("unmeasured").to_pylist())
        assert f"{durations:,} durations in " in words
        assert words.endswith(REMEDY)
