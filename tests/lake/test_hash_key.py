"""The key of hashes: made once, for its owner's eyes, and shown nowhere."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.lake import hash_key
from stompcap.lake.batch_options import as_json, from_json
from stompcap.options import HASH_KEY_VARIABLE, Options


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key in the environment."""
    monkeypatch.delenv(HASH_KEY_VARIABLE, raising=False)


def test_a_lake_has_one_key_that_its_owner_alone_reads(tmp_path: Path) -> None:
    key = hash_key.of_lake(str(tmp_path))
    assert len(key) == hash_key.KEY_OCTETS
    assert hash_key.of_lake(str(tmp_path)) == key
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_another_lake_has_another_key(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    assert hash_key.of_lake(str(tmp_path / "one")) != hash_key.of_lake(str(tmp_path / "other"))


def test_the_key_of_another_run_that_was_faster_counts(tmp_path: Path) -> None:
    key = hash_key.of_lake(str(tmp_path))
    assert hash_key._made(str(tmp_path / hash_key.FILE), bytes(16)) == key  # between the look and the making
    assert [file.name for file in tmp_path.iterdir()] == [hash_key.FILE]


def test_the_environment_has_the_last_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HASH_KEY_VARIABLE, "00" * 15 + "fF")
    assert hash_key.of_lake(str(tmp_path)) == Options().hash_key == bytes(15) + b"\xff"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["secret", "00" * 15, "00" * 17, "0x" + "0" * 30])
def test_a_wrong_key_is_told_without_showing_it(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HASH_KEY_VARIABLE, given)
    with pytest.raises(UsageError, match="32 hexadecimal digits") as caught:
        hash_key.of_lake("anywhere")
    assert given not in str(caught.value)
    assert Options().hash_key == b""


def test_a_damaged_key_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / hash_key.FILE).write_bytes(b"short")
    with pytest.raises(EnvironmentProblem, match="restore it"):
        hash_key.of_lake(str(tmp_path))


def test_no_recorded_option_has_it() -> None:
    options = Options(hash_key=b"sixteen octets!!")
    assert "sixteen" not in as_json(options) + repr(options)
    assert "hash_key" not in as_json(options)
    assert from_json(as_json(options).replace("{", '{"hash_key": "x", ', 1)).hash_key == b""
