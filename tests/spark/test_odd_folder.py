"""A folder of odd and damaged captures of every kind, one of them locked away: one run reads all that can be read and names the rest."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stompcap.lake import tables as lakes
from tests.e2e.truth import DATA
from tests.shared import program, shared
from tests.spark import odd

pytestmark = [pytest.mark.slow, pytest.mark.spark]
STOMPCAP = [sys.executable, "-m", "stompcap"]
LIMIT = 1 << 24
UNPRIVILEGED = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]
"""Root without the right to pass over permissions, and otherwise as before: the same home, caches and files."""


def unprivileged(locked: Path) -> list[str]:
    """What goes before a command so that permissions count for it; skips the test where there is no way to that."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root reads what nobody may read, and there is no setpriv to give that up")
    if subprocess.run([*UNPRIVILEGED, "cat", locked], capture_output=True, check=False).returncode == 0:
        pytest.skip("root reads what nobody may read, and setpriv cannot give that up here")
    return UNPRIVILEGED


@dataclass(frozen=True)
class Said:
    """What capinfos says of a file: packets, None where it reads none of them; and whether it complained."""

    packets: int | None
    complained: bool


def capinfos(paths: Sequence[Path]) -> dict[str, Said]:
    """What capinfos says of the files that it takes for pcap or pcapng; it takes what it does not know for other formats."""
    done = subprocess.run([program("capinfos"), "-TQrtcM", *paths], capture_output=True, text=True, errors="replace", check=False)
    rows = [line.strip('"').split('"\t"') for line in done.stdout.splitlines()]
    counts = {name: int(count) for name, kind, count in rows if "pcap" in kind}
    others = {name for name, *_ in rows} - set(counts)
    return {
        str(path): Said(counts.get(str(path)), f'"{path}"' in done.stderr) for path in paths if str(path) not in others
    }


def run(before: Sequence[str], lake: Path, *named: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    words = [*before, *STOMPCAP, "run", *named, "--lake", lake, "--max-decompressed", str(LIMIT), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    return done, json.loads(done.stdout)


@pytest.fixture(scope="module", params=["made", "public"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder: what tests make, or the public captures that lie beside the project."""
    found = tmp_path_factory.mktemp("odd") / "captures"
    if request.param == "made":
        found.mkdir()
        odd.made(found, DATA / "activemq_dialogue.pcap")
    else:
        shutil.copytree(shared("captures"), found)
    return found


def test_one_run_reads_what_can_be_read_and_names_the_rest(folder: Path, tmp_path: Path) -> None:
    text, gone, bomb = tmp_path / "notes.pcap", tmp_path / "gone.pcap", folder / "bomb.pcap.gz"
    text.write_text("not a capture at all\n")
    whole = (DATA / "rabbitmq_stalls.pcap").read_bytes()
    bomb.write_bytes(gzip.compress(whole + bytes(2 * LIMIT)))
    locked, subfolder = folder / "locked.pcap", folder / "lost+found"
    locked.write_bytes(whole)
    subfolder.mkdir()
    shutil.copy(locked, subfolder)
    looked = sorted(path for path in folder.rglob("*") if path.is_file() and path != locked and path.parent != subfolder)
    try:
        locked.chmod(0)
        subfolder.chmod(0)
        done, told = run(unprivileged(locked), tmp_path / "lake", folder, text, gone)
    finally:
        locked.chmod(0o600)
        subfolder.chmod(0o700)

    assert done.returncode == 4, done.stderr
    assert told["status"] == "incomplete"
    lines = [line for line in done.stderr.splitlines() if line]
    assert {line.split(": ")[0] for line in lines} == {"stompcap"}, done.stderr
    unread = {one["path"] for one in told["captures"] if one["status"] == "unreadable"}
    assert unread == {str(path) for path in (text, gone, bomb, locked, subfolder)}
    assert {line.split(": ")[1] for line in lines} == unread
    assert len(told["captures"]) > 100

    rows = {row["capture_id"]: row for row in lakes.small(str(tmp_path / "lake"), "captures").to_pylist()}
    assert [row["path"] for row in rows.values() if row["status"] == "unreadable"] == [str(bomb)]
    ids = {one["path"]: one["capture_id"] for one in told["captures"] if one["status"] != "unreadable"}
    assert set(rows) == set(ids.values()) | {one["capture_id"] for one in told["captures"] if one["path"] == str(bomb)}
    compared = 0
    for path, said in capinfos(looked).items():
        if said.packets is None or path == str(bomb):
            continue
        if path not in ids:
            assert said.packets == 0, f"{path} was passed over"
            continue
        compared += 1
        row = rows[ids[path]]
        more = said.complained and row["status"] != "complete"  # capinfos stops where it finds damage
        assert row["packets"] >= said.packets if more else row["packets"] == said.packets, row
    assert compared > 100
    assert lakes.small(str(tmp_path / "lake"), "streams").num_rows

    again, told = run([], tmp_path / "lake", folder)
    assert again.returncode == 4, again.stderr
    assert {one["path"]: one["status"] for one in told["captures"] if one["status"] != "known"} == {
        str(bomb): "unreadable",
        str(locked): "complete",  # the other one is a copy of it
    }
