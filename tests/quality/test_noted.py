"""What a run notes itself is a row as any other, told in words."""

from __future__ import annotations

import pytest

from stompcap.quality import began_anew, failure


@pytest.mark.parametrize(("number", "words"), [(1, "1 open connection of many"), (1200, "1,200 open connections of many")])
def test_connections_that_began_anew_are_noted(number: int, words: str) -> None:
    [row] = began_anew("r", number).to_pylist()
    assert (row["success"], row["severity"], row["failed_rows"]) == (False, "warning", number)
    assert row["message"] == failure(row)
    assert words in row["message"]
