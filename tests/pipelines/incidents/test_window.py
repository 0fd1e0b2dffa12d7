"""From when on incidents are made again."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pipelines.incidents.kinds import KINDS
from pipelines.incidents.refresh import BRIEF, DAILY, windows
from pipelines.incidents.window import DAY_NS, Window
from stompcap.tables.incidents import INCIDENTS

NOW = 100 * DAY_NS


def held(*rows: tuple[str, int, int | None]) -> pa.Table:
    """Incidents: kind, begin and end in days."""
    return pa.Table.from_pylist(
        [{"kind": kind, "begin_ns": begin * DAY_NS, "end_ns": None if end is None else end * DAY_NS} for kind, begin, end in rows],
        schema=pa.schema([INCIDENTS.arrow.field(name) for name in ("kind", "begin_ns", "end_ns")]),
    )


@pytest.mark.parametrize(
    ("rows", "brief", "daily"),
    [
        ((), 99, 99),
        ((("refused", 1, 97),), 99, 99),  # over a day before what is made again
        ((("refused", 97, 98),), 97, 99),
        ((("refused", 95, None),), 95, 99),
        ((("refused", 95, None), ("errors", 90, 94)), 90, 99),  # which the first one's begin is within a day of
        ((("protocol", 1, 100),), 99, 1),  # lasts, and has nothing else made again
        ((("protocol", 1, 100), ("refused", 97, 98)), 97, 1),
    ],
)
def test_what_lasts_as_long_as_a_lake_is_made_again_alone(
    rows: tuple[tuple[str, int, int | None], ...], brief: int, daily: int
) -> None:
    wanted = {BRIEF: Window(brief * DAY_NS), DAILY: Window(daily * DAY_NS)}
    assert windows(NOW, held(*rows)) == (wanted if brief != daily else {KINDS: Window(daily * DAY_NS)})


def test_all_are_made_again_where_more_changed_than_captures_came() -> None:
    assert windows(None, held(("protocol", 1, 100))) == {KINDS: None}


def test_each_kind_is_made_again_once() -> None:
    assert sorted(kind.name for kind in (*BRIEF, *DAILY)) == sorted(kind.name for kind in KINDS)
