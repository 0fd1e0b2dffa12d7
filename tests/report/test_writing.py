"""Pages are written whole, and the umask says who may read them: reports show logins and bodies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stompcap.report.writing import replace


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o027, 0o640)])
def test_a_page_follows_the_umask(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        replace(tmp_path / "report.html", "<p>")
    finally:
        os.umask(before)
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == mode
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
