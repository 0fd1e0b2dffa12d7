"""`stompcap generate` and `stompcap dissector` as users enter them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stompcap.cli import entry

Said = pytest.CaptureFixture[str]


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", *words])
    return entry.outcome()


def test_a_capture_and_its_truth_are_written(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "made.pcap"
    assert called(monkeypatch, "generate", str(path), "--connections", "2", "--messages", "3", "--size", "20kB", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["captures"], said["truth"]) == ([str(path)], str(tmp_path / "made.truth.json"))
    assert said["octets"] == path.stat().st_size >= 20_000
    assert said["totals"] == json.loads(Path(said["truth"]).read_text("utf-8"))["totals"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--profile", "busy\x1b[2J"], 2, "--profile busy\\x1b[2J: must be one of normal,"),
        (["--profile", "violations", "--rules", "XX-99"], 2, "--rules XX-99: no rule with an example"),
        (["--rules", "FR-07"], 2, "--rules: only violations break rules by choice"),
        (["--size", "lots"], 2, "--size lots: must be a size such as"),
        (["--profile", "rotation", "--size", "1GB"], 2, "--size: rotation is as large as"),
        (["--profile", "rotation", "--rotate", "soon"], 2, "--rotate soon: must be a duration"),
        (["--connections", "10000"], 2, "--connections times --messages is 500,000, at most 200,000"),
        (["--profile", "rotation", "--duration", "3650d"], 2, "--connections times --duration makes more than 2,000,000 heart-beats"),
        (["--profile", "day", "--size", "1GB"], 2, "--size: day is as large as"),
        (["--profile", "day", "--messages", "9000"], 2, "--messages times the hours of --duration is 216,000, at most 200,000"),
        (["--connections", "0"], 2, "Invalid value for '--connections'"),
    ],
)
def test_what_cannot_be_generated_is_one_line(words, code, says, tmp_path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, "generate", str(tmp_path / "x.pcap"), *words) == code
    said = capsys.readouterr().err
    assert said.startswith(f"stompcap: {says}")
    assert len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named_with_a_remedy(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, "generate", str(tmp_path / "no" / "x.pcap")) == 3
    assert capsys.readouterr().err.endswith("x.pcap: cannot be written (No such file or directory); name another file\n")


def test_the_dissector_is_printed(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, "dissector") == 0
    assert 'Proto("stomp"' in capsys.readouterr().out
