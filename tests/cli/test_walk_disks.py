"""A walk through every command on disks that are full, fill up or cannot be written: one line, and nothing lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.commands import run
from tests.cli.walked import ENVIRONMENT, THOROUGH, WALKED, WRITE_FILE, WRITE_LAKE, Walk, frames, one_line

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system in memory, of a size as mount(8) has it; again, to change its options."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options: str) -> Path:
        again = "remount," if os.path.ismount(place) else ""
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", again + options, "tmpfs", place], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        return place

    yield mount
    subprocess.run(["umount", "-l", place], capture_output=True, check=False)


@contextmanager
def filled(place: Path) -> Iterator[None]:
    """Not an octet is free there meanwhile."""
    ballast = place / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    yield
    ballast.unlink()


@pytest.mark.parametrize("name", [name for name in WALKED if name in WRITE_LAKE | WRITE_FILE])
def test_a_full_disk(name: str, walk: Walk, mounted: Callable[[str], Path]) -> None:
    place = mounted("size=64m")
    lake = walk.lake(name, place)
    with filled(place):
        done = run(*walk.words(name, lake, place))
    if done.code:  # what is done already needs no room
        one_line(done, ENVIRONMENT, "No space left" if name in WRITE_FILE else "", "pace")
    done = run(*walk.words(name, lake, place))
    assert (done.code, done.err) == (0, ""), "room was made"


@pytest.mark.parametrize("percent", [10, 30, 50, 65] if THOROUGH else [50])
def test_a_disk_that_fills_up(percent: int, walk: Walk, mounted: Callable[[str], Path]) -> None:
    needed = sum(path.stat().st_blocks * 512 for path in (walk.folder / "made").rglob("*") if "_data_docs" not in path.parts)
    place = mounted(f"size={needed * percent // 100}")
    done = run(*walk.words("run", place / "lake", place))
    one_line(done, ENVIRONMENT, "pace")
    mounted("size=64m")
    done = run(*walk.words("run", place / "lake", place))
    assert (done.code, done.err) == (0, "")
    assert frames(place / "lake") == walk.frames


def test_standard_output_on_a_full_disk(walk: Walk, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        one_line(run("rules", "list", output=full), ENVIRONMENT, "No space left on device")
        one_line(run(*walk.words("sql", walk.lake("sql"), tmp_path), output=full), ENVIRONMENT, "No space left on device")


@pytest.mark.parametrize("name", [name for name in WALKED if name not in ("list", "explain", "doctor", "prepare")])
def test_a_lake_that_cannot_be_written(name: str, walk: Walk, mounted: Callable[[str], Path], tmp_path: Path) -> None:
    place = mounted("size=64m")
    lake = walk.lake(name, place)
    mounted("ro")
    done = run(*walk.words(name, lake, tmp_path), folder=place)
    if name in WRITE_LAKE:
        one_line(done, ENVIRONMENT, "ead-only file system")
    else:
        assert (done.code, done.err, done.left) == (0, "", [])


@pytest.mark.parametrize("name", sorted(WRITE_FILE))
def test_a_place_for_a_file_is_looked_at_first(name: str, walk: Walk, mounted: Callable[[str], Path], tmp_path: Path) -> None:
    lake = tmp_path / "no lake"  # which it would say, had it begun to work
    mounted("size=1m")
    for folder, says in ((tmp_path / "missing", "No such file or directory"), (mounted("ro"), "Read-only file system")):
        one_line(run(*walk.words(name, lake, folder)), ENVIRONMENT, "cannot be written", says, "-o")
