"""Half of a recording's connections forgotten, from the capture to the last octet on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from pipelines.forgetting.criteria import Criteria
from pipelines.forgetting.forget import forget
from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.cli import entry
from stompcap.lake import data_files, removal
from stompcap.lake.commits import read
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.truth import DATA, sessions
from tests.mangler.compare import LINEAGE
from tests.mangler.packagings import PLAIN_FILE, PLAIN_FRAMES
from tests.mangler.taken_apart import Segment, segments
from tests.pipelines.forgetting.forgotten_lakes import KEYED, holding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CAPTURE, TRUTH = DATA / "rabbitmq_dialogue.pcap", DATA / "rabbitmq_dialogue.truth.jsonl"
TEXT = re.compile(rb"[ -9;-~]{12,}")  # headers' values, and bodies
OWN = ("captures", "runs", "batches", "quality_results")
SESSIONS = {one.ends[0]: one for one in sessions(TRUTH)}
GONE = {port: bytes([10, 99, 0, number]) for number, port in enumerate(sorted(SESSIONS)) if number % 2}
"""Client ports of the connections to be forgotten, and the addresses that their clients are given."""


def packets() -> list[Segment]:
    """Those of the recording, those to be forgotten from and to addresses of their own."""
    return [replace(one, src=GONE.get(one.sport, one.src), dst=GONE.get(one.dport, one.dst)) for one in segments(CAPTURE)]


def written(folder: Path, some: Iterable[Segment]) -> str:
    folder.mkdir()
    [path] = PLAIN_FILE(folder, [frame for one in some for frame in PLAIN_FRAMES.frames(one)], PLAIN_FRAMES.link)
    return str(path)


def run(spark: SparkSession, lake: Path, capture: str, stages: tuple[str, ...] = STAGES) -> Result:
    return execute(Job(lambda: spark, str(lake), Options()), stages, [capture])


def rows_of(lake: Path) -> dict[str, list[str]]:
    """All rows without lineage."""
    found = {}
    for name in TABLES.keys() - OWN:
        rows = read(name, data_files.of(DeltaTable(str(lake / name))))
        without = [column for column in rows.column_names if column in LINEAGE | {"place"}]
        found[name] = sorted(map(repr, rows.drop_columns(without).to_pylist()))
    return found


def theirs(lake: Path) -> list[dict[str, str]]:
    """The streams to be forgotten."""
    streams = read("streams", data_files.of(DeltaTable(str(lake / "streams"))), ["stream_id", "client_ip"]).to_pylist()
    return [row for row in streams if row["client_ip"].startswith("10.99.")]


def own_words() -> list[str]:
    """What only the connections to be forgotten say: their addresses, and all text of their octets that is not in the others' too."""
    said: dict[bool, list[bytes]] = {True: [], False: []}
    for one in packets():
        said[bool({one.sport, one.dport} & set(GONE))] += TEXT.findall(one.payload)
    others = b"\n".join(said[False])
    words = {text.decode() for text in said[True] if text not in others}
    assert {SESSIONS[port].summary["login"] for port in GONE if SESSIONS[port].summary["login"]} <= words
    return [*words, *(f"10.99.0.{address[3]}" for address in GONE.values())]


@pytest.fixture(scope="module")
def never(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The rows of a lake that never had them."""
    folder = tmp_path_factory.mktemp("never")
    stay = [one for one in packets() if not {one.sport, one.dport} & set(GONE)]
    run(spark, folder / "lake", written(folder / "captures", stay))
    return rows_of(folder / "lake")


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", *words])
    return entry.outcome()


def test_half_of_a_recording_is_forgotten(
    spark: SparkSession, never: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tables are those of a lake that never had them; behind maintain no octet of them is left; the capture stays known."""
    lake, capture = tmp_path / "lake", written(tmp_path / "captures", packets())
    run(spark, lake, capture)
    words = own_words()
    words += [row["stream_id"] for row in theirs(lake)]
    held = {name.partition("/")[0] for name in holding(lake, *words)}
    assert held >= {name for name in KEYED if data_files.of(DeltaTable(str(lake / name)))} | {"ack_latency"}
    assert called(monkeypatch, "forget", "--lake", str(lake), "--client", "10.99.0.0/24", "--yes", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["connections"], told["rows"]["streams"]) == ("done", len(GONE), len(GONE))
    assert rows_of(lake) == never
    assert called(monkeypatch, "maintain", "--lake", str(lake), "--retain-hours", "0", "--quiet") == 0
    assert holding(lake, *words) == []
    again = run(spark, lake, capture)
    assert [one["status"] for one in again.captures] == ["known"]
    assert rows_of(lake) == never


def test_tasks_of_spark_rewrite_what_is_much(
    spark: SparkSession, never: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    run(spark, lake, written(tmp_path / "captures", packets()))
    monkeypatch.setattr(removal, "DRIVER_OCTETS", 0)
    ids = tuple(row["stream_id"] for row in theirs(lake))
    done = forget(Job(lambda: spark, str(lake), Options()), Criteria(streams=ids))
    assert done.connections == len(GONE) == len(ids)
    assert rows_of(lake) == never


def test_what_later_captures_bring_of_an_open_connection_is_forgotten_too(spark: SparkSession, tmp_path: Path) -> None:
    """Found by its login, which is in the first capture only."""
    from stompcap.lake import tables as lakes
    from tests.spark.test_reprocess import column, parts

    lake, files = tmp_path / "lake", parts(tmp_path / "files", CAPTURE, (0.1,))
    run(spark, lake, files[0])
    open_ones = {row["stream_id"] for row in lakes.small(str(lake), "streams").to_pylist() if row["close_kind"] == "open"}
    logins = {row["stream_id"]: row["login"] for row in lakes.small(str(lake), "sessions").to_pylist()}
    gone = next(name for name in sorted(open_ones) if logins.get(name))
    [ends] = [row for row in lakes.small(str(lake), "streams").to_pylist() if row["stream_id"] == gone]
    forget(Job(lambda: spark, str(lake), Options()), Criteria(login=logins[gone], streams=(gone,)))
    run(spark, lake, files[1])
    left = lakes.small(str(lake), "streams").to_pylist()
    assert not [row for row in left if (row["client_ip"], row["client_port"]) == (ends["client_ip"], ends["client_port"])]
    assert set(column(lake, "raw_frames", "stream_id")) <= {row["stream_id"] for row in left}
