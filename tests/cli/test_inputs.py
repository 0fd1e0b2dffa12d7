"""Where no input that is named is there, a command says so at once: nothing is imported, started or made for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stompcap.cli.inputs import demand_some
from stompcap.errors import NoSuchFile

HEAVY = ("pyspark", "numba", "pipelines.run", "stompcap.lake.tables")
ENDS = f"""
import sys
from stompcap.cli.entry import outcome
code = outcome()
print([name for name in {HEAVY} if name in sys.modules])
sys.exit(code)
"""
SAID = "stompcap: {}: no such file; check the name"


def ended(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", ENDS, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "a.pcap", "--lake", "lake"], ["extract", "a.pcap", "--lake", "lake"], ["peek", "a.pcap"], ["check", "a.pcap"],
        ["run", "a.pcap", "b.pcap", "a.pcap", "--lake", "lake", "--quiet"],
    ],
)  # fmt: skip
def test_it_is_told_before_anything_heavy_is_imported(tmp_path: Path, words: list[str]) -> None:
    done = ended(tmp_path, *words)
    missing = dict.fromkeys(word for word in words if word.endswith(".pcap"))
    assert (done.returncode, done.stdout) == (4, "[]\n")
    assert sorted(done.stderr.splitlines()) == [SAID.format(name) for name in missing]
    assert not list(tmp_path.iterdir())


def test_as_json_it_is_an_object(tmp_path: Path) -> None:
    done = ended(tmp_path, "run", "a.pcap", "--lake", "lake", "--json")
    said, heavy = done.stdout.splitlines()
    assert json.loads(said) == {"status": "failed", "exit_code": 4, "error": "a.pcap: no such file; check the name"}
    assert (done.returncode, heavy) == (4, "[]")


def test_a_form_for_programs_is_written_all_the_same(tmp_path: Path) -> None:
    done = ended(tmp_path, "check", "a.pcap", "--format", "json", "-o", "out.json")
    assert (done.returncode, done.stderr.splitlines()) == (4, [SAID.format("a.pcap")])
    assert json.loads((tmp_path / "out.json").read_text())["refused"] == ["a.pcap: no such file; check the name"]


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        ([], None), (["gone"], "gone"), (["gone", "there"], None), (["link"], None), (["folder"], None), (["gone*"], None),
        (["s3://b/gone"], None), (["gone", "gone*"], None), (["one", "two", "one"], "two"),
    ],
)  # fmt: skip
def test_what_may_be_there_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], missing: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    if missing is None:
        demand_some(names)
    else:
        with pytest.raises(NoSuchFile, match=f"^{missing}: no such file"):
            demand_some(names)
