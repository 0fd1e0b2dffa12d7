"""However little of a stream is held at a time, the rows are the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stompcap.assembly import windows
from tests.e2e.pure import tables_of
from tests.e2e.truth import captures

SOME = [path for path in captures() if any(word in path for word in ("bodies", "violations", "midstream"))]


@pytest.fixture(scope="module")
def whole() -> dict[str, list[str]]:
    return rows(tables_of(SOME))


@pytest.mark.slow
def test_many_small_frames_make_smaller_windows(whole: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    made, delimited = [], windows._Reader._delimited
    monkeypatch.setattr(windows, "MOST_NULS", 300)
    monkeypatch.setattr(windows, "LEAST", 4_000)
    monkeypatch.setattr(windows._Reader, "_delimited", lambda *a: made.append(delimited(*a)) or made[-1])
    found = rows(tables_of(SOME))
    assert found == whole
    assert max(len(found_rows) for found_rows, _ in made) < 1_000 < len(found["raw_frames"]) / 2


def rows(tables: dict[str, pa.Table]) -> dict[str, list[str]]:
    return {name: sorted(repr(row) for row in table.to_pylist()) for name, table in tables.items()}


@pytest.mark.slow
@pytest.mark.parametrize("octets", [20_000, *(pytest.param(octets, marks=pytest.mark.slow) for octets in (1_500, 200_000))])
def test_any_window_gives_the_same_rows(octets: int, whole: dict[str, list[str]]) -> None:
    found = rows(tables_of(SOME, window=octets))
    assert found.keys() == whole.keys()
    for name in whole:
        assert found[name] == whole[name], name
