"""Which files of a watched folder are read in which round, as programs that capture write, rotate, replace and remove them."""

from __future__ import annotations

import os
import stat
from itertools import pairwise
from pathlib import Path

import pytest

from pipelines.watching.rotating import LONG_S, MOST_ROUNDS, Due, Rotating
from tests.e2e.truth import DATA

STILL_S = 60
CAPTURE = (DATA / "rabbitmq_midstream.pcap").read_bytes()


class Folder:
    """A folder with a clock: what is written there is modified now, and looks are a minute apart."""

    def __init__(self, folder: Path, *named: str) -> None:
        self.folder, self.now_s = folder, 1_790_000_000.0
        self.watched = Rotating([str(folder / name) for name in named] or [str(folder)], STILL_S, lambda: self.now_s)

    def put(self, name: str, octets: int, age_s: float = 0) -> None:
        path = self.folder / name
        path.write_bytes((CAPTURE + bytes(octets))[:octets])
        os.utime(path, (self.now_s - age_s,) * 2)

    def look(self) -> Due:
        self.now_s += STILL_S
        return self.watched.look()

    def names(self, paths: object) -> list[str]:
        return [os.path.relpath(path, self.folder) for path in paths]  # type: ignore[attr-defined]


# What is put before each look (None: removed), the files that are due then, and those that are being written. What is due is read.
Step = tuple[dict[str, int | None], list[str], list[str]]
ROTATIONS: dict[str, list[Step]] = {
    "tcpdump -G: a file each minute, the last one is written to": [
        ({"a-0.pcap": 500}, [], ["a-0.pcap"]),
        ({"a-0.pcap": 900, "a-1.pcap": 100}, [], ["a-0.pcap", "a-1.pcap"]),
        ({"a-1.pcap": 900, "a-2.pcap": 100}, ["a-0.pcap"], ["a-1.pcap", "a-2.pcap"]),
        ({"a-2.pcap": 900}, ["a-1.pcap"], ["a-2.pcap"]),
        ({}, ["a-2.pcap"], []),
        ({}, [], []),
    ],
    "tcpdump -C: numbers behind the name": [
        ({"a.pcap": 900, "a.pcap1": 100}, [], ["a.pcap", "a.pcap1"]),
        ({"a.pcap1": 900, "a.pcap2": 50}, ["a.pcap"], ["a.pcap1", "a.pcap2"]),
    ],
    "tcpdump -W: a ring of names": [
        ({"a0": 900, "a1": 100}, [], ["a0", "a1"]),
        ({"a1": 900}, ["a0"], ["a1"]),
        ({"a0": 100}, ["a1"], ["a0"]),
        ({"a0": 900}, [], ["a0"]),
        ({}, ["a0"], []),
    ],
    "a file that goes on after it stood still": [
        ({"a": 500}, [], ["a"]),
        ({}, ["a"], []),
        ({"a": 700}, [], ["a"]),
        ({"a": 800}, [], ["a"]),
        ({}, ["a"], []),
    ],
    "an empty file, and one that is no capture": [
        ({"a": 0}, [], []),
        ({}, [], []),
        ({"a": 300}, [], ["a"]),
        ({}, ["a"], []),
    ],
    "files that come and go": [
        ({"a": 500, "b": 500}, [], ["a", "b"]),
        ({"a": None}, ["b"], []),
        ({"a": 500, "b": None}, [], ["a"]),
        ({}, ["a"], []),
        ({"a": None}, [], []),
    ],
}  # fmt: skip


@pytest.mark.parametrize("steps", ROTATIONS.values(), ids=ROTATIONS)
def test_a_file_is_read_when_it_stands_still(steps: list[Step], tmp_path: Path) -> None:
    at = Folder(tmp_path)
    for number, (put, due_names, written) in enumerate(steps):
        at.now_s += STILL_S - 1
        for name, octets in put.items():
            if octets is None:
                (tmp_path / name).unlink()
            else:
                at.put(name, octets)
        at.now_s -= STILL_S - 1
        due = at.look()
        assert (at.names(due.files), at.names(due.written)) == (due_names, written), f"look {number}"
        at.watched.taken(due, ())


def test_what_lay_there_before_is_read_at_once(tmp_path: Path) -> None:
    at = Folder(tmp_path)
    at.put("old", 500, age_s=1)
    at.put("new", 500, age_s=-STILL_S + 1)
    (tmp_path / "words.txt").write_text("no capture")
    due = at.look()
    assert (at.names(due.files), at.names(due.written)) == (["old"], ["new"])


def test_a_clock_that_is_ahead_does_not_keep_a_file_from_being_read(tmp_path: Path) -> None:
    """That of a file server may be."""
    at = Folder(tmp_path)
    at.put("a", 500, age_s=-1_000_000)
    assert not at.look().files
    assert at.names(at.look().files) == ["a"]


def test_a_file_that_is_named_is_read_as_it_grows(tmp_path: Path) -> None:
    at = Folder(tmp_path, "a.pcap")
    for octets in (300, 500, 900):
        at.put("a.pcap", octets, age_s=-STILL_S)
        due = at.look()
        assert at.names(due.files) == ["a.pcap"]
        at.watched.taken(due, ())
    assert not at.look().files


def test_what_a_failed_round_did_not_take_is_due_again(tmp_path: Path) -> None:
    at = Folder(tmp_path)
    at.put("a", 500)
    assert at.names(at.look().files) == at.names(at.look().files) == ["a"]


def test_what_cannot_be_read_is_tried_again_less_and_less_often(tmp_path: Path) -> None:
    at = Folder(tmp_path)
    at.put("a", 500)
    tried = []
    for number in range(300):
        due = at.look()
        if due.files:
            tried.append(number)
            at.watched.taken(due, list(due.files))
    assert tried[:6] == [0, 1, 3, 7, 15, 31]
    assert {later - sooner for sooner, later in pairwise(tried[6:])} == {MOST_ROUNDS}
    os.chmod(tmp_path / "a", stat.S_IRUSR)  # whoever repairs it has it tried at once
    assert at.names(at.look().files) == ["a"]


def test_what_cannot_be_looked_at_is_told_once(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    at = Folder(folder)
    assert [str(error) for error in at.look().refused] == [f"{folder}: no such file; check the name"]
    assert not at.look().refused
    folder.mkdir()
    at.put("a", 500)
    due = at.look()
    assert (at.names(due.files), due.refused) == (["a"], [])
    (folder / "a").unlink()
    folder.rmdir()
    assert len(at.look().refused) == 1


def test_a_file_that_never_stands_still_is_told_once(tmp_path: Path) -> None:
    at = Folder(tmp_path)
    told = []
    for number in range(2 * LONG_S // STILL_S):
        at.now_s += STILL_S - 1
        at.put("a", 300 + number)
        at.now_s -= STILL_S - 1
        told += at.look().long
    assert at.names(told) == ["a"]


def test_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    at = Folder(tmp_path)
    for number in range(5):
        at.put(f"{number}", 500)
        due = at.look()
        at.watched.taken(due, due.files if number % 2 else ())
        (tmp_path / f"{number}").unlink()
    at.look()
    kept = (at.watched._last, at.watched._taken, at.watched._unreadable, at.watched._written_since)
    assert [len(one) for one in kept] == [0, 0, 0, 0]
