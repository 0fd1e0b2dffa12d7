"""Key logs are files, folders and globs; they are read where they are needed, and again when they have grown."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.assembly import key_logs
from stompcap.errors import CaptureError
from stompcap.lake.batch_options import as_json, from_json
from stompcap.options import Options


def line(number: int) -> str:
    return f"CLIENT_RANDOM {number:064x} {number:096x}\n"


def found(*named: object) -> list[int]:
    return sorted(int.from_bytes(random, "big") for random in key_logs.of_files([str(name) for name in named]).randoms)


def test_files_folders_and_globs(tmp_path: Path) -> None:
    for number, name in enumerate(("a.log", "b.log", "c.txt")):
        (tmp_path / name).write_text(line(number))
    (tmp_path / "folder.log").mkdir()
    assert found(tmp_path / "b.log") == [1]
    assert found(tmp_path) == [0, 1, 2]
    assert found(tmp_path / "*.log") == [0, 1]
    assert found(tmp_path / "b.log", tmp_path / "c.txt") == [1, 2]
    assert found((tmp_path / "a.log").as_uri()) == [0]


def test_a_log_that_grows_is_read_again(tmp_path: Path) -> None:
    log = tmp_path / "keys.log"
    log.write_text(line(1))
    assert found(log) == [1]
    log.write_text(line(1) + line(2))
    assert found(log) == [1, 2]


@pytest.mark.parametrize("name", ["nothing.log", "no folder/keys.log"])
def test_one_that_is_not_there_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such key log"):
        found(tmp_path / name)


def test_a_batch_says_which_logs_it_was_read_with_and_not_what_is_in_them(tmp_path: Path) -> None:
    log = tmp_path / "keys.log"
    log.write_text(line(7))
    options = Options(keylog=(str(log),))
    assert from_json(as_json(options)) == options
    assert f"{7:064x}" not in as_json(options)
    assert from_json(as_json(Options()).replace('"keylog": []', '"other": []')).keylog == ()


def test_one_that_the_host_of_a_task_cannot_read_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "there.log").write_text(line(1))
    log = key_logs.of_task([str(tmp_path / "gone.log"), str(tmp_path / "there.log")], [])
    assert (len(log.randoms), log.unread) == (1, 1)
