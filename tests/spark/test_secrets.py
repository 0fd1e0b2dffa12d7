"""Secrets of every kind in every place are in no file of a lake, and in nothing that commands say of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

from stompcap.lake.secret_search import Searcher
from tests.capture.packaging import pcap
from tests.cli.exported import packets
from tests.e2e.confided import LEFT, confided
from tests.e2e.test_secrets import OF_BASE64
from tests.warm import warm

pytestmark = [pytest.mark.spark, pytest.mark.slow]
TOLD = confided()
TABLES = ("frames", "raw_frames", "sessions", "deliveries", "compliance_findings", "receipts", "subscriptions")


class Taken:
    """A lake that the command made of all that is told."""

    def __init__(self, folder: Path, commands: Path) -> None:
        self.folder, self.lake, self.stompcap = folder, folder / "lake", commands / "stompcap"
        self.search = Searcher([value.encode() for value in TOLD.values])
        self.captures = [str(pcap(folder / f"{number}.pcap", frames, nano=True)) for number, frames in enumerate(TOLD.runs(2))]
        self.secrets = folder / "secrets.txt"
        self.secrets.write_text("\n".join(TOLD.values))
        self.said = self.command("run", *self.captures, "--lake", str(self.lake), "--verbose")

    def command(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """What a command says."""
        ended = subprocess.run([self.stompcap, *words], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False)
        assert ended.returncode == code, ended.stderr
        return ended

    def assert_nothing(self, octets: bytes, *, base64: bool = False) -> None:
        """No value is there; `base64`: what looks like a part of one may be something else."""
        assert not self.search.times(octets)
        assert base64 or not LEFT.findall(octets)


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taken]:
    folder = tmp_path_factory.mktemp("told")
    with warm(folder, tmp_path_factory.mktemp("warm")) as commands:
        yield Taken(folder, commands)


def values_in(lake: Path) -> Iterator[bytes]:
    """What all Parquet files of a lake have, those that were replaced among them."""
    for path in sorted(lake.rglob("*.parquet")):
        table = parquet.read_table(path, partitioning=None)
        yield repr(table.drop_columns([name for name in OF_BASE64 if name in table.column_names]).to_pylist()).encode()


def test_no_file_of_the_lake_has_one(taken: Taken) -> None:
    told = taken.command("doctor", "--secrets", str(taken.secrets), "--lake", str(taken.lake))
    assert told.stdout == f"{len(TOLD.values):,} secrets looked for in the files of {taken.lake}: none found\n"
    for octets in values_in(taken.lake):
        taken.assert_nothing(octets)


def test_one_that_is_planted_is_found(taken: Taken) -> None:
    value = list(TOLD.values)[77]
    planted = taken.lake / "frames" / "planted.json"
    planted.write_text(f'{{"note": "{value.encode().hex()}"}}')
    told = taken.command("doctor", "--secrets", str(taken.secrets), "--lake", str(taken.lake), code=1)
    planted.unlink()
    assert told.stdout == "frames/planted.json: the secret of line 78, hex, 1 time\n"


def test_nothing_that_commands_say_has_one(taken: Taken) -> None:
    lake = ("--lake", str(taken.lake))
    peeked = ("peek", *taken.captures)
    said = [taken.said, taken.command(*peeked), taken.command(*peeked, "--json"), taken.command("show", *lake)]
    streams = taken.command("sql", "SELECT stream_id FROM sessions ORDER BY opened_ns LIMIT 3", *lake, "--format", "json")
    said += [taken.command("show", row["stream_id"], *lake) for row in json.loads(streams.stdout)]
    said.append(taken.command("sql", "; ".join(f"SELECT * FROM {table}" for table in TABLES), *lake, "--format", "csv"))
    for one in said:
        taken.assert_nothing((one.stdout + one.stderr).encode())
    taken.command("report", *lake, "-o", "report.html")
    taken.assert_nothing((taken.folder / "report.html").read_bytes(), base64=True)


def test_no_exported_packet_has_one(taken: Taken) -> None:
    found = json.loads(taken.command("sql", "SELECT stream_id FROM streams", "--lake", str(taken.lake), "--format", "json").stdout)
    for row in found[:: len(found) // 6]:
        taken.command("export", row["stream_id"], "--lake", str(taken.lake), "-o", "out.pcap")
        for _, octets, _, _ in packets(taken.folder / "out.pcap"):
            taken.assert_nothing(octets)
