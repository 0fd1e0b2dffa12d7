"""What rows have come to mean: which changes rows of a version do not have yet."""

from __future__ import annotations

import pytest

from stompcap.tables import TABLES, changes
from stompcap.tables.changes import CHANGES, since
from stompcap.version import version


@pytest.mark.parametrize("written", [None, "0.1.0", "0+unknown", "0.1.10", "0.1", "no version"])
def test_rows_of_versions_before_a_change_lack_it(written: str | None) -> None:
    assert since(written) == CHANGES


@pytest.mark.parametrize("written", ["0.2.0", "0.10.0", "0.2.0+local", "1.0"])
def test_rows_of_later_versions_have_it(written: str) -> None:
    assert since(written) == ()


def test_rows_of_this_version_lack_nothing() -> None:
    assert since(version()) == ()


def test_changes_are_of_tables_of_the_lake_and_in_order() -> None:
    assert {table for change in CHANGES for table in change.tables} <= TABLES.keys()
    assert [change.version for change in CHANGES] == sorted((change.version for change in CHANGES), key=changes._numbers)
