"""Every question of a report has an answer in lakes that older versions made, whose tables lack columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.lake import query
from stompcap.report.queries import QUERIES
from tests.examples import slow_behind
from tests.lakes import older
from tests.lakes.make import HERE


def no_spark() -> None:
    raise AssertionError("a small lake needs no Spark")


@pytest.mark.parametrize("commit", slow_behind(1, sorted(file.name.partition(".")[0] for file in HERE.glob("*.tar.xz"))))
def test_every_question_has_an_answer(commit: str, tmp_path: Path) -> None:
    lake = older.unpacked(commit, tmp_path)
    there = [one for one in QUERIES.values() if all((lake / name).exists() for name in one.tables)]
    assert len(there) > len(QUERIES) // 2
    assert set(query.ask(str(lake), there, no_spark)) == {one.name for one in there}
