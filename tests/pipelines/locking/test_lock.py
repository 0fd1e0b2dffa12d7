"""One run at a time holds a lake; another one is told who that is, or waits."""

from __future__ import annotations

import os
import platform
import threading
import time
from pathlib import Path

import pytest

from pipelines.locking import lock
from stompcap.cli.entry import with_seconds
from stompcap.errors import LakeBusy
from stompcap.progress import Progress


class Said(Progress):
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, text: str, octets: int = 0) -> None:
        self.lines.append(text)


def test_a_lake_is_held_by_one_and_the_other_hears_by_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/stompcap", "run", "a capture.pcap"])
    words = rf"another run holds the lake \(stompcap run 'a capture.pcap', process {os.getpid()} on {platform.node()}, since 20.*--wait$"
    with lock.held(str(tmp_path)), pytest.raises(LakeBusy, match=words), lock.held(str(tmp_path)):
        pass
    with lock.held(str(tmp_path)):
        pass
    assert (tmp_path / lock.NAME).read_bytes() == b""


def test_no_option_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One may be a secret, such as the key of an object store."""
    monkeypatch.setattr("sys.argv", ["stompcap", "run", "--conf", "spark.hadoop.fs.s3a.secret.key=hush", "a.pcap"])
    with lock.held(str(tmp_path)):
        written = (tmp_path / lock.NAME).read_text()
    assert "stompcap run" in written
    assert "hush" not in written


def test_it_is_waited_for_and_that_is_said_once(tmp_path: Path) -> None:
    said, ended = Said(), threading.Event()

    def hold() -> None:
        with lock.held(str(tmp_path)):
            ended.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    while not (tmp_path / lock.NAME).exists() or not (tmp_path / lock.NAME).read_bytes():
        time.sleep(0.01)
    threading.Timer(3 * lock.POLL_S, ended.set).start()
    with lock.held(str(tmp_path), 10, said):
        assert ended.is_set()
    other.join()
    assert len(said.lines) == 1
    assert f"process {os.getpid()}" in said.lines[0]


def test_no_longer_than_was_asked_for(tmp_path: Path) -> None:
    began = time.monotonic()
    with lock.held(str(tmp_path)), pytest.raises(LakeBusy, match=r"try again when it has ended$"), lock.held(str(tmp_path), 0.5):
        pass
    assert 0.5 <= time.monotonic() - began < 5


def test_a_lock_that_an_older_version_wrote_names_nobody(tmp_path: Path) -> None:
    with lock.held(str(tmp_path)):
        (tmp_path / lock.NAME).write_bytes(b"")
        with pytest.raises(LakeBusy, match="holds the lake; try"), lock.held(str(tmp_path)):
            pass


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (["run", "a", "--wait"], ["run", "a", "--wait=inf"]),
        (["run", "--wait", "--json", "a"], ["run", "--wait=inf", "--json", "a"]),
        (["run", "--wait", "2.5", "a"], ["run", "--wait", "2.5", "a"]),
        (["run", "--wait=3", "a"], ["run", "--wait=3", "a"]),
        (["sql", "SELECT 1"], ["sql", "SELECT 1"]),
    ],
)
def test_wait_takes_seconds_or_none(words: list[str], read: list[str]) -> None:
    assert with_seconds(words) == read
