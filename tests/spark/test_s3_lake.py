"""A lake on an S3 server: the tables that the same commands make on disk, and one line where the store refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from pipelines.locking import lock
from stompcap.lake import data_files, open_tables
from stompcap.lake.paths import filesystem, location
from stompcap.tables import TABLES
from tests.e2e.cutting import cut
from tests.e2e.truth import DATA
from tests.readme.lakes import OF_THE_RUN, WAY_IN, differing, rows
from tests.s3 import Store, store
from tests.spark.test_followers import keys, net
from tests.warm import warm

pytestmark = [pytest.mark.slow, pytest.mark.spark]

# Another program puts files of a lake together.
OPTIMIZES = """
import sys
from stompcap.lake import open_tables
from stompcap.lake.paths import location
from stompcap.tables import TABLES

for name in ("streams", "stream_state", "raw_frames", "frames", "deliveries", "journeys"):
    open_tables.at(location(sys.argv[1], name)).optimize.z_order(list(TABLES[name].statistics[:2]))
"""

# What a table had before the other program's commit, and its changes since.
FOLLOWS = """
import sys
import pyarrow as pa
from pyarrow import parquet
from stompcap.lake import open_tables

where, before, changes = sys.argv[1:]
table = open_tables.at(where)
optimized = min(one["version"] for one in table.history() if one["operation"] == "OPTIMIZE")
parquet.write_table(open_tables.at(where, optimized).to_pyarrow_table(), before)
parquet.write_table(pa.table(table.load_cdf(starting_version=optimized + 1).read_all()), changes)
"""


@dataclass(frozen=True)
class Places:
    """The same captures and lakes on a server and on disk."""

    s3: Store
    remote: str
    disk: Path
    warm: Path

    def stompcap(self, *words: str, code: int = 0, warm: bool = True, **changed: str) -> subprocess.CompletedProcess[str]:
        """A command, whose exit code is as expected; in a process of its own, with an environment that is changed, or in one of many."""
        program = [str(self.warm / "stompcap")] if warm else [sys.executable, "-m", "stompcap"]
        done = subprocess.run(
            [*program, *words], cwd=self.disk, env={**os.environ, **changed}, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == code, done.stderr[-3000:]
        assert "Traceback" not in done.stderr
        return done

    def make(self) -> None:
        """For each place a lake to which two captures came one after the other: there the second stage by stage, on disk by a run.

        Between them its files are put together. On disk there is one of the first capture and stage too.
        """
        for place in (self.remote, str(self.disk)):
            first, lake = f"{place}/captures/first.pcap", ("--lake", f"{place}/lake", "--quiet")
            self.stompcap("run", first, *lake)
            subprocess.run([sys.executable, "-c", OPTIMIZES, lake[1]], check=True, timeout=300)
            if place == self.remote:
                self.stompcap("extract", f"{place}/captures", *lake)
                for stage in ("decode", "correlate", "metrics"):
                    self.stompcap(stage, *lake)
                self.stompcap("validate", *lake, "--fail-on", "quality")
            else:
                self.stompcap("run", f"{place}/captures", *lake)
                self.stompcap("extract", first, "--lake", f"{place}/alone", "--quiet")

    def followed(self, table: str) -> list[list[dict[str, Any]]]:
        """Rows that a table there had between the captures, and its changes since, in a process of its own.

        delta-rs would hold the interpreter that the server needs.
        """
        files = [self.disk / name for name in ("before.parquet", "changes.parquet")]
        subprocess.run([sys.executable, "-c", FOLLOWS, table, *files], check=True, timeout=300)
        return [parquet.read_table(file).to_pylist() for file in files]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    pytest.importorskip("moto")
    disk = tmp_path_factory.mktemp("disk")
    (disk / "captures").mkdir()
    with store() as s3:
        for name, path in zip(("first", "second"), cut(DATA / "rabbitmq_midstream.pcap", disk, [0.5]), strict=True):
            there = disk / "captures" / f"{name}.pcap"
            shutil.move(path, there)
            s3.put(f"captures/{name}.pcap", there.read_bytes())
        with warm(disk, tmp_path_factory.mktemp("warm")) as commands:
            made = Places(s3, "s3a://bucket", disk, commands)
            made.make()
            yield made


def without_places(lake: Path | str) -> list[str]:
    """The rows of stream_state in an order of their own, but for where captures have their octets."""
    table = open_tables.at(location(str(lake), "stream_state")).to_pyarrow_table()
    return sorted(map(repr, table.drop_columns([name for name in table.column_names if name in (*WAY_IN, "place")]).to_pylist()))


def apart(there: str, here: Path | str) -> list[str]:
    """The tables that differ; stream_state names places in captures that can be read again, which captures on a store are not."""
    same = without_places(there) == without_places(here)
    return [name for name in differing(there, here) if name != "stream_state" or not same]


def otherwise(there: str, here: Path | str) -> set[str]:
    """The tables that say something else, whichever batch wrote it; octets of states differ, and what runs make of them does not."""
    return {name for name in TABLES.keys() - {*OF_THE_RUN, "stream_state"} if _said(there, name) != _said(str(here), name)}


def test_a_lake_there_is_that_on_disk(places: Places) -> None:
    """By a run, and by stages that go on with open connections; after these stream_state has octets there that on disk are read again."""
    assert rows(places.disk / "lake", "frames")
    assert set(apart(f"{places.remote}/lake", places.disk / "lake")) <= {"stream_state"}
    assert open_tables.at(location(f"{places.remote}/lake", "quality_results")).to_pyarrow_table().num_rows


def test_its_changes_are_those_that_the_second_capture_made(places: Places) -> None:
    where = location(f"{places.remote}/lake", "frames")
    before, changes = places.followed(where)
    held = open_tables.at(where).to_pyarrow_table().to_pylist()
    assert len(held) > len(before)
    assert net(changes, keys(before)) == keys(held)


def test_it_is_read_by_spark_and_for_a_report(places: Places) -> None:
    question = "SELECT count(*) AS n, count(DISTINCT stream_id) AS s, max(last_ns) AS t FROM frames WHERE command <> 'SEND'"
    there = places.stompcap("sql", question, "--lake", f"{places.remote}/lake", "--format", "json").stdout
    assert there == places.stompcap("sql", question, "--lake", "lake", "--format", "json").stdout
    assert json.loads(there)
    assert there == places.stompcap("sql", question, "--spark", "--lake", f"{places.remote}/lake", "--format", "json").stdout
    places.stompcap("report", "--lake", f"{places.remote}/lake", "-o", "there.html")
    assert "RabbitMQ" in (places.disk / "there.html").read_text()


def test_what_is_lost_there_is_computed_again(places: Places) -> None:
    """A table and a file of another; on disk the same, for rows of one pass over both captures are marked otherwise than those of two."""
    lakes = f"{places.remote}/lake", str(places.disk / "lake")
    for lake in lakes:
        system, path = filesystem(data_files.of(open_tables.at(location(lake, "frames")))[0].uri)
        system.delete_file(path)
        system.delete_dir(filesystem(location(lake, "streams"))[1])
        done = places.stompcap("repair", "--lake", lake)
        assert "nothing is lost" in done.stdout + done.stderr
    assert otherwise(*lakes) == set()


def test_it_is_maintained_and_forgotten_there(places: Places) -> None:
    """What connections are forgotten is gone from the bucket when maintain has removed what no version names."""
    lakes = f"{places.remote}/lake", str(places.disk / "lake")
    login = min(_logins(lakes[1]))
    for lake in lakes:
        places.stompcap("forget", "--lake", lake, "--login", login, "--yes")
        places.stompcap("maintain", "--lake", lake, "--retain-hours", "0")
    assert login not in _logins(lakes[0])
    assert otherwise(*lakes) == set()
    for table in TABLES:
        named = {file.name for file in data_files.of(open_tables.at(location(lakes[0], table)))}
        listed = places.s3.client.list_objects_v2(Bucket="bucket", Prefix=f"lake/{table}/").get("Contents", [])
        assert {one["Key"].rpartition("/")[2] for one in listed if one["Key"].endswith(".zstd.parquet")} == named, table


def _logins(lake: str) -> set[str]:
    return {row["login"] for row in open_tables.at(location(lake, "sessions")).to_pyarrow_table().to_pylist() if row["login"]}


def test_two_runs_at_once_add_a_capture_once(places: Places) -> None:
    """On a lake that neither has found there."""
    command = [sys.executable, "-m", "stompcap", "extract", f"{places.remote}/captures/first.pcap", "--wait", "300", "--json"]
    command += ["--lake", f"{places.remote}/both"]
    runs = [subprocess.Popen(command, cwd=places.disk, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [one.communicate(timeout=300) for one in runs]
    assert [one.returncode for one in runs] == [0, 0], said
    assert sorted(bool(json.loads(out)["rows"]) for out, _ in said) == [False, True]
    assert apart(f"{places.remote}/both", places.disk / "alone") == []


def test_a_run_that_finds_it_held_ends_with_5(places: Places) -> None:
    with lock.held("s3://bucket/lake"):
        done = places.stompcap("run", "captures", "--lake", f"{places.remote}/lake", "--quiet", code=5)
    assert "another run holds the lake" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("lake", "refusal", "endpoint", "says"),
    [
        ("s3://nowhere/lake", "", None, "s3://nowhere/lake: no such bucket"),
        ("s3://bucket/new", "InvalidAccessKeyId", None, "s3://bucket/new: no permission; check the credentials"),
        ("s3a://bucket/lake", "AccessDenied", None, "s3a://bucket/lake: no permission; check the credentials"),
        ("s3://bucket/lake", "", "http://127.0.0.1:9", "s3://bucket/lake: the store cannot be reached"),
        ("s3://me:hush@bucket/lake", "", None, "s3://bucket/lake: has a password in its URI"),
        ("gopher://bucket/lake", "", None, "gopher://bucket: no store by this scheme is known"),
    ],
)
def test_a_store_that_refuses_is_a_line(places: Places, lake: str, refusal: str, endpoint: str | None, says: str) -> None:
    places.s3.refusal = refusal
    changed = {"AWS_ENDPOINT_URL": endpoint} if endpoint else {}
    try:
        done = places.stompcap("run", "captures", "--lake", lake, "--quiet", code=3, warm=not changed, **changed)
    finally:
        places.s3.refusal = ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"stompcap: {says}")
    assert "hush" not in line


def _said(lake: str, name: str) -> list[str]:
    """The rows of a table, whichever run and batch wrote them."""
    table = open_tables.at(location(lake, name)).to_pyarrow_table()
    return sorted(map(repr, table.drop_columns([one for one in table.column_names if one in (*WAY_IN, "batch_id")]).to_pylist()))
