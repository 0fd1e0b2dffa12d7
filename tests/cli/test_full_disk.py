"""On a full disk `maintain` and `forget` free some of it first; what the system refuses is told with its place."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stompcap.cli import entry
from stompcap.cli.failures import explain
from stompcap.lake import tables as lakes
from stompcap.lake.damage import examined
from tests.pipelines.forgetting.forgotten_lakes import Connection, make
from tests.report.sample import table

ONE = Connection("0a" * 10, "10.1.2.3", "alice", 0)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", place], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], capture_output=True, check=False)


@pytest.fixture
def lake(disk: Path) -> Path:
    """A lake with a replaced file, on a disk without an octet left."""
    lake = make(disk / "lake", [[ONE]])
    rows = table("frames", [ONE.row("frames")])
    lakes.replace(str(lake), "frames", rows.slice(0, 0), "run")
    [replaced] = (lake / "frames").glob("*.parquet")
    with open(replaced, "ab") as file:
        file.write(bytes(1 << 20))
    old = replaced.rename(replaced.with_name("open-" + replaced.name))
    for log in (lake / "frames" / "_delta_log").glob("*.json"):  # as files of open streams are named
        log.write_text(log.read_text().replace(replaced.name, old.name))
    os.utime(old, (0, 0))
    with open(disk / "ballast", "wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            pass
    return lake


@pytest.mark.slow
@pytest.mark.parametrize("words", ["maintain --retain-hours 0", "forget --login nobody --yes"])
def test_space_is_freed_before_anything_is_written(lake: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="No space left"):
        (lake / "more").write_bytes(bytes(1 << 20))
    monkeypatch.setattr("sys.argv", ["stompcap", *words.split(), "--lake", str(lake), "--quiet"])
    monkeypatch.setattr("stompcap.lake.replaced.keep", lambda _: None)
    monkeypatch.setattr("stompcap.lake.replaced.KEPT_S", [0])
    assert entry.outcome() == 0
    assert not list((lake / "frames").glob("open-*"))
    assert not examined(str(lake))


@pytest.mark.parametrize(("text", "place"), [
    ("[Errno 28] Error writing bytes to file '/lake/frames/x.parquet'. Detail: No space left on device", "/lake/frames/x.parquet"),
    ("java.io.IOException: No space left on device", "{}"),
    ("Generic LocalFileSystem error: Unable to open file /lake/runs/_delta_log/1.json: Permission denied (os error 13)",
     "/lake/runs/_delta_log/1.json"),
    ("Permission denied", "{}"),
])  # fmt: skip
def test_errors_of_the_system_name_the_place(text: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = str(tmp_path)
    monkeypatch.setattr("tempfile.gettempdir", lambda: lake)
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    line, code = explain(RuntimeError(text), lake)
    assert line.startswith(f"{place.format(lake)}: ")
    assert code == 3
