"""A lake on an S3 server: the tables that the same commands make on disk, and one line where the store refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from pipelines.job import Job
from pipelines.locking import lock
from pipelines.recompute.repair import repair
from pipelines.run import STAGES, execute
from stompcap.lake import data_files, open_tables
from stompcap.lake.paths import filesystem, location
from stompcap.lake.tables import bring_up, create
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.cutting import cut
from tests.e2e.truth import DATA
from tests.lakes.make import MANY
from tests.lakes.older import put_back, unpacked
from tests.lakes.wire import write
from tests.readme.lakes import OF_THE_RUN, WAY_IN, differing, rows
from tests.s3 import Store, store
from tests.spark.test_followers import keys, net
from tests.spark.test_older_lakes import unmarked
from tests.warm import warm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]

# For each place: a lake by two runs, between which another program puts its files together, and one stage by stage.
MAKES_LAKES = """
import sys
from pipelines.job import Job
from pipelines.run import STAGES, execute
from stompcap.lake import open_tables
from stompcap.lake.paths import location
from stompcap.options import Options
from stompcap.options import Options
from stompcap.tables import TABLES
from stompcap.spark.session import get_session

spark = get_session("local[2]")

def do(lake, stages, *captures):
    result = execute(Job(lambda: spark, lake, Options()), stages, captures, whole=stages == ["validate"])
    assert result.status == "done" and not result.failed_expectations, (lake, stages, result.warnings)

for place in sys.argv[1:]:
    first, second = (f"{place}/captures/{name}.pcap" for name in ("first", "second"))
    do(f"{place}/lake", STAGES[:-1], first)
    for name in ("streams", "stream_state", "raw_frames", "frames", "deliveries", "journeys"):
        open_tables.at(location(f"{place}/lake", name)).optimize.z_order(list(TABLES[name].statistics[:2]))
    do(f"{place}/lake", STAGES, first, second)
    do(f"{place}/once", ["extract"], f"{place}/captures")
    for stage in STAGES[1:]:
        do(f"{place}/once", [stage])
"""

FOLLOWS = """
import sys
import pyarrow as pa
from pyarrow import parquet
from stompcap.lake import open_tables

parquet.write_table(pa.table(open_tables.at(sys.argv[1]).load_cdf(starting_version=int(sys.argv[2])).read_all()), sys.argv[3])
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

    def changes(self, table: str, since: int) -> list[dict[str, Any]]:
        """The changes of a table there, by delta-rs in a process of its own: it would hold the interpreter that the server needs."""
        into = self.disk / "changes.parquet"
        subprocess.run([sys.executable, "-c", FOLLOWS, table, str(since), str(into)], check=True, timeout=300)
        rows: list[dict[str, Any]] = parquet.read_table(into).to_pylist()
        return rows


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
        remote = "s3a://bucket"
        done = subprocess.run(
            [sys.executable, "-c", MAKES_LAKES, remote, str(disk)],
            cwd=disk, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        with warm(disk, tmp_path_factory.mktemp("warm")) as commands:
            yield Places(s3, remote, disk, commands)


def without_places(lake: Path | str) -> list[str]:
    """The rows of stream_state in an order of their own, but for where captures have their octets."""
    table = open_tables.at(location(str(lake), "stream_state")).to_pyarrow_table()
    return sorted(map(repr, table.drop_columns([name for name in table.column_names if name in (*WAY_IN, "place")]).to_pylist()))


def apart(there: str, here: Path | str) -> list[str]:
    """The tables that differ; stream_state names places in captures that can be read again, which captures on a store are not."""
    same = without_places(there) == without_places(here)
    return [name for name in differing(there, here) if name != "stream_state" or not same]


@pytest.mark.parametrize(("lake", "differ"), [("lake", ["stream_state"]), ("once", [])])
def test_a_lake_there_is_that_on_disk(places: Places, lake: str, differ: list[str]) -> None:
    """By two runs, the second of which goes on with open connections, and by the stages one by one.

    After the second, stream_state has octets there that on disk are read again.
    """
    assert rows(places.disk / lake, "frames")
    assert set(apart(f"{places.remote}/{lake}", places.disk / lake)) <= set(differ)
    results = open_tables.at(location(f"{places.remote}/{lake}", "quality_results")).to_pyarrow_table()
    assert results.num_rows


OLD = "334e90f"


def test_a_lake_of_an_older_version_goes_on_there(places: Places, spark: SparkSession, tmp_path: Path) -> None:
    """Put together by delta-rs, gone on with, followed, damaged and repaired: it says what the same makes of it on disk.

    On disk that is what a new lake says (tests/spark/test_older_lakes.py).
    """
    here = unpacked(OLD, places.disk / "older")
    (tmp_path / "captures").mkdir()
    _, after = write(tmp_path / "captures", MANY[OLD])
    create(str(here))
    bring_up(str(here))
    put_back(here, tmp_path / "captures")
    for path in sorted(one for one in here.rglob("*") if one.is_file()):
        places.s3.put(f"older/{path.relative_to(here)}", path.read_bytes())
    there = f"{places.remote}/older"
    assert rows(there, "frames") == rows(here, "frames")
    for name in ("streams", "stream_state", "raw_frames", "frames", "deliveries"):
        for lake in (there, here):
            open_tables.at(location(str(lake), name)).optimize.z_order(list(TABLES[name].statistics[:2]))
    frames = open_tables.at(location(there, "frames"))
    before, since = frames.to_pyarrow_table().to_pylist(), frames.version() + 1
    assert went_on(places, there, spark, here, after)
    feed = places.changes(location(there, "frames"), since)
    held = open_tables.at(location(there, "frames")).to_pyarrow_table().to_pylist()
    assert len(held) > len(before)
    assert net(unmarked(feed), keys(unmarked(before))) == keys(unmarked(held))
    for lake in (there, here):
        system, path = filesystem(data_files.of(open_tables.at(location(str(lake), "frames")))[0].uri)
        system.delete_file(path)
        system.delete_dir(filesystem(location(str(lake), "streams"))[1])
    done = places.stompcap("repair", "--lake", there)
    assert "nothing is lost" in done.stdout + done.stderr
    assert not repair(Job(lambda: spark, str(here), Options()), dry_run=False).lost
    names = TABLES.keys() - {*OF_THE_RUN, "stream_state"}  # octets of states differ, and what runs make of them does not
    assert {name for name in names if _said(there, name) != _said(str(here), name)} == set()


def went_on(places: Places, there: str, spark: SparkSession, here: Path, capture: str) -> list[str]:
    """What runs over a capture warn of, on the server and on disk alike."""
    told = json.loads(places.stompcap("run", capture, "--lake", there, "--json").stdout)["warnings"]
    done = execute(Job(lambda: spark, str(here), Options()), STAGES, [capture])
    found, same = ([re.sub(r" in [\d.]+ s$", "", one) for one in of_place] for of_place in (told, done.warnings))
    assert found == same
    return found


def test_it_is_read_by_spark_and_for_a_report(places: Places) -> None:
    question = "SELECT count(*) AS n, count(DISTINCT stream_id) AS s, max(last_ns) AS t FROM frames WHERE command <> 'SEND'"
    there = places.stompcap("sql", question, "--lake", f"{places.remote}/lake", "--format", "json").stdout
    assert there == places.stompcap("sql", question, "--lake", "lake", "--format", "json").stdout
    assert json.loads(there)
    assert there == places.stompcap("sql", question, "--spark", "--lake", f"{places.remote}/lake", "--format", "json").stdout
    places.stompcap("report", "--lake", f"{places.remote}/lake", "-o", "there.html")
    assert "RabbitMQ" in (places.disk / "there.html").read_text()


def test_it_is_maintained_and_forgotten_there(places: Places) -> None:
    """What connections are forgotten is gone from the bucket when maintain has removed what no version names."""
    lakes = f"{places.remote}/once", str(places.disk / "once")
    login = min(_logins(lakes[1]))
    for lake in lakes:
        places.stompcap("forget", "--lake", lake, "--login", login, "--yes")
        places.stompcap("maintain", "--lake", lake, "--retain-hours", "0")
    assert login not in _logins(lakes[0])
    assert apart(*lakes) == []
    for table in TABLES:
        named = {file.name for file in data_files.of(open_tables.at(location(lakes[0], table)))}
        listed = places.s3.client.list_objects_v2(Bucket="bucket", Prefix=f"once/{table}/").get("Contents", [])
        assert {one["Key"].rpartition("/")[2] for one in listed if one["Key"].endswith(".zstd.parquet")} == named, table


def _logins(lake: str) -> set[str]:
    return {row["login"] for row in open_tables.at(location(lake, "sessions")).to_pyarrow_table().to_pylist() if row["login"]}


def test_two_runs_at_once_add_a_capture_once(places: Places, spark: SparkSession) -> None:
    """On a lake that neither has found there."""
    command = [sys.executable, "-m", "stompcap", "run", f"{places.remote}/captures/first.pcap", "--wait", "300", "--json"]
    command += ["--lake", f"{places.remote}/both"]
    runs = [subprocess.Popen(command, cwd=places.disk, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [one.communicate(timeout=300) for one in runs]
    assert [one.returncode for one in runs] == [0, 0], said
    assert sorted(bool(json.loads(out)["rows"]) for out, _ in said) == [False, True]
    execute(Job(lambda: spark, str(places.disk / "alone"), Options()), STAGES, [str(places.disk / "captures" / "first.pcap")])
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
        done = places.stompcap("run", "captures", "--lake", lake, "--quiet", code=3, warm=False, **changed)
    finally:
        places.s3.refusal = ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"stompcap: {says}")
    assert "hush" not in line


def _said(lake: str, name: str) -> list[str]:
    """The rows of a table, whichever run and batch wrote them."""
    table = open_tables.at(location(lake, name)).to_pyarrow_table()
    return sorted(map(repr, table.drop_columns([one for one in table.column_names if one in (*WAY_IN, "batch_id")]).to_pylist()))
