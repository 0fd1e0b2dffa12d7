"""Files against what a lake knows: told by their digest alone where they can be, and Spark is begun only for what must be new."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.ingest.survey import Surveyed, survey
from stompcap import capture
from stompcap.options import Options
from stompcap.progress import Progress
from tests.e2e.truth import DATA

ONE, OTHER = DATA / "rabbitmq_aftermath.pcap", DATA / "activemq_stalls.pcap"


class Sessions:
    """Stands for a session that is never made: counts how often it was begun."""

    def __init__(self) -> None:
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1

    def local(self) -> bool:
        return True


class Kept(Progress):
    def __init__(self) -> None:
        self.told: list[int] = []
        self.octets = 0

    def begin(self, text: str, octets: int = 0) -> None:
        del text
        self.octets = octets

    def reached(self, octets: int) -> None:
        self.told.append(octets)


def look(paths: list[Path], known: list[dict[str, Any]]) -> tuple[Surveyed, int, Kept]:
    sessions, kept = Sessions(), Kept()
    found = survey([str(path) for path in paths], Options(), known, sessions, kept)  # type: ignore[arg-type]
    return found, sessions.begun, kept


def row(path: Path, named: Path | None = None) -> dict[str, Any]:
    """What a lake keeps of a capture."""
    found = capture.survey(str(path), "default")
    assert found is not None
    return found | {"path": str(named or path)}


def test_all_is_new_to_an_empty_lake() -> None:
    found, begun, kept = look([ONE, OTHER], [])
    assert [one.row["path"] for one in found.captures] == sorted([str(ONE), str(OTHER)])
    assert found.known == []
    assert begun == 1
    assert kept.octets == kept.told[-1] == ONE.stat().st_size + OTHER.stat().st_size


@pytest.mark.parametrize("named", ["as it was", "otherwise"])
def test_a_known_capture_is_told_by_its_digest(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ONE if named == "as it was" else Path(shutil.copy(ONE, tmp_path / "copy.pcap"))
    known = [row(ONE), row(OTHER)]
    monkeypatch.setattr(capture, "examine", pytest.fail)
    found, begun, kept = look([path], known)
    assert [(one.path, one.row["capture_id"]) for one in found.known] == [(str(path), known[0]["capture_id"])]
    assert found.captures == []
    assert begun == 0
    assert kept.told[-1] == ONE.stat().st_size


def test_a_compressed_capture_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "one.pcap.gz"
    path.write_bytes(gzip.compress(ONE.read_bytes()))
    found, begun, _ = look([path], [row(path)])
    assert (len(found.known), begun) == (1, 0)


def test_as_long_as_a_known_one_but_another(tmp_path: Path) -> None:
    path = tmp_path / "same-size.pcap"
    octets = bytearray(ONE.read_bytes())
    octets[-1] ^= 1
    path.write_bytes(octets)
    found, begun, _ = look([path], [row(ONE)])
    assert [one.row["path"] for one in found.captures] == [str(path)]
    assert begun == 1


def test_a_file_that_grew_begins_nothing_until_it_is_known_to_have_packets(tmp_path: Path) -> None:
    path, octets = tmp_path / "growing.pcap", ONE.read_bytes()
    path.write_bytes(octets)
    before = [row(path)]
    path.write_bytes(octets + octets[24:30])  # a record is being written
    found, begun, _ = look([path], before)
    assert begun == 0
    assert found.captures[0].row["continues"] == before[0]["capture_id"]
    assert found.captures[0].row["packets"] == 0


def test_what_cannot_be_read_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    text, empty = tmp_path / "notes.pcap", tmp_path / "empty.pcap"
    text.write_bytes(b"x" * ONE.stat().st_size)
    empty.touch()
    found, begun, _ = look([text, empty, ONE, OTHER], [row(ONE)])
    assert [one.path for one in found.refused] == [str(text)]
    assert found.empty == [str(empty)]
    assert [one.path for one in found.known] == [str(ONE)]
    assert [one.row["path"] for one in found.captures] == [str(OTHER)]
    assert begun >= 1
