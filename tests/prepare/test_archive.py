"""What a killed `stompcap prepare` leaves behind goes with the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stompcap.prepare import classes
from stompcap.spark import archive, processes


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


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_that_is_given_up_leaves_no_jvm_and_no_archive(tmp_path: Path) -> None:
    before = {*processes.descendants(os.getpid())}
    recording = archive.Recording(tmp_path / "classes-1.jsa", ["-m", "stompcap.prepare.classes"])
    until, java = time.monotonic() + 60, set[int]()
    while not java:
        assert time.monotonic() < until
        time.sleep(0.05)
        java = {process for process in {*processes.descendants(os.getpid())} - before if "ArchiveClassesAtExit" in words_of(process)}
    time.sleep(2)  # it would write an archive if it were only asked to end
    recording.stop()
    assert not any(map(words_of, java))
    assert not list(tmp_path.iterdir())


def words_of(process: int) -> str:
    """The command line of a process; empty where it has ended meanwhile."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text("utf-8")
    except OSError:
        return ""
