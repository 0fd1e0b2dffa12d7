"""What a killed `stompcap prepare` leaves behind goes with the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stompcap.prepare import classes
from stompcap.spark import archive


def test_archives_begun_by_killed_processes_are_removed(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    ours, theirs = (tmp_path / f"classes-{'0' * 16}.{number}.new" for number in (os.getpid(), child.pid))
    made, other = tmp_path / f"classes-{'0' * 16}.jsa", tmp_path / "classes-x.new"
    for path in (ours, theirs, made, other):
        path.write_bytes(b"x")
    archive.clean(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted((ours, made, other))


def test_also_where_there_is_nothing_to_prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned: list[Path] = []
    monkeypatch.setattr(archive, "clean", cleaned.append)
    monkeypatch.setattr(archive, "lacking", lambda: None)
    assert classes.begin() is None
    assert cleaned == [archive.folder()]
