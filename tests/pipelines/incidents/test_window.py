"""From when on incidents are made again."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pipelines.incidents.kinds import KINDS
from pipelines.incidents.refresh import windows
from pipelines.incidents.window import DAY_NS
from stompcap.tables.incidents import INCIDENTS

NOW = 100 * DAY_NS


def held(*rows: tuple[str, int, int | None]) -> pa.Table:
    """Incidents: kind, begin and end in days."""
    return pa.Table.from_pylist(
        [{"kind": kind, "begin_ns": begin * DAY_NS, "end_ns": None if end is None else end * DAY_NS} for kind, begin, end in rows],
        schema=pa.schema([INCIDENTS.arrow.field(name) for name in ("kind", "begin_ns", "end_ns")]),
    )


@pytest.mark.parametrize(
    ("rows", "apart"),
    [
        ((), {}),
        ((("refused", 1, 97),), {}),  # over a day before what is made again
        ((("refused", 97, 98),), {"refused": 97}),
        ((("refused", 95, None),), {"refused": 95}),
        ((("refused", 95, None), ("refused", 90, 94)), {"refused": 90}),  # which the first one's begin is within a day of
        ((("refused", 95, None), ("errors", 90, 94)), {"refused": 95}),  # over, and of another kind
        ((("protocol", 1, 100), ("refused", 97, 98), ("errors", 97, None)), {"protocol": 1, "refused": 97, "errors": 97}),
    ],
)
def test_what_lasts_has_its_own_kind_alone_made_again(rows: tuple[tuple[str, int, int | None], ...], apart: dict[str, int]) -> None:
    found = windows(NOW, held(*rows))
    begins = {kind.name: since.begin_ns // DAY_NS for kinds, since in found.items() for kind in kinds if since is not None}
    assert begins == {kind.name: apart.get(kind.name, 99) for kind in KINDS}
    assert len(found) == len({*apart.values(), 99}), "kinds of one day are made together"


def test_all_are_made_again_where_more_changed_than_captures_came() -> None:
    assert windows(None, held(("protocol", 1, 100))) == {KINDS: None}
