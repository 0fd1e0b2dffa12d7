"""What the tests of validations share."""

from __future__ import annotations

from typing import Any

import pytest

from stompcap.quality import report


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables of the files that were read."""
    found: list[str] = []
    whole = report.report

    def reading(table: Any, *rest: Any) -> Any:
        found.append(table.name)
        return whole(table, *rest)

    monkeypatch.setattr(report, "report", reading)
    return found
