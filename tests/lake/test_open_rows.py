"""Rows of open streams: what a batch leaves where it is, what it writes again, and how many files there are whatever came before."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from stompcap.lake import commits, data_files, open_rows
from stompcap.lake import tables as lakes
from stompcap.lake.data_files import File
from stompcap.lake.open_rows import OpenRows, OpenWriter
from stompcap.lake.paths import DataFile
from tests.examples import slow_behind
from tests.report.sample import table

PREFIX = "open-0-"
ROWS = 40


def rows(stream: int, version: int, count: int = ROWS) -> pa.Table:
    """Stalls of a stream, as computed in some batch, that zstd makes no smaller than others."""
    name = f"{stream * 7919 % 65536:04x}{stream:04x}"
    chance = random.Random(f"{stream} {version}")
    return table("stalls", [{"stream_id": name, "begin_ns": version + 1, "end_ns": chance.getrandbits(60)} for _ in range(count)])


def written(lake: Path, of_streams: list[pa.Table]) -> list[DataFile]:
    writer = OpenWriter(str(lake), "stalls", PREFIX)
    writer.write(pa.concat_tables(of_streams))
    return writer.close()


def names(tables: list[pa.Table]) -> pa.Array:
    return pa.array([one.column("stream_id")[0].as_py() for one in tables], pa.string())


def held(lake: Path) -> list[File]:
    return data_files.of(DeltaTable(str(lake / "stalls")))


def commit(lake: Path, number: int, new: list[pa.Table], over: list[pa.Table]) -> int:
    """A batch of new rows for streams, some of which the table had, and of streams that are over; octets of open rows that it wrote."""
    before = {file.name for file in held(lake)}
    wanted = OpenRows(PREFIX, names(new), names(over))
    lakes.commit(str(lake), "stalls", written(lake, new), [f"{number}"], "run", wanted)
    return sum(file.size for file in held(lake) if file.name not in before and file.name.startswith(PREFIX))


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With small files."""
    monkeypatch.setattr(open_rows, "FILE_OCTETS", 6_000)
    monkeypatch.setattr(open_rows, "WRITTEN_OCTETS", 20_000)
    lakes.create(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("seed", "commits_made"), slow_behind(1, [(0, 10), (0, 30), (1, 30), (2, 30)], several=True))
def test_every_stream_has_the_rows_of_its_latest_batch_in_a_bounded_number_of_files(
    seed: int, commits_made: int, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_rows, "MOST_FILES", 10)
    monkeypatch.setattr(commits, "MOST_SMALL", 4)
    chance, is_open, final = random.Random(seed), dict[int, pa.Table](), list[pa.Table]()
    for number in range(commits_made):
        over = chance.sample(sorted(is_open), chance.randint(0, len(is_open) // 8))
        ended = [is_open.pop(stream) for stream in over]
        several = chance.choice([1, 1, 3, 60])
        which = set(chance.choices(range(200), k=several)) - set(over)
        new = {stream: rows(stream, number, chance.choice([1, ROWS])) for stream in which or {200 + number}}
        commit(lake, number, list(new.values()), ended)
        is_open |= new
        final += ended
        for prefix, expected in (("part-", final), (PREFIX, list(is_open.values()))):
            files = [file for file in held(lake) if file.name.startswith(prefix)]
            found = Counter(map(repr, commits.read("stalls", files).to_pylist()))
            assert found == Counter(repr(row) for one in expected for row in one.to_pylist())
            assert len(files) <= 2 * 10 + open_rows.MOST_SMALL + 2


def test_a_stream_that_is_computed_again_has_one_file_written_again_and_not_all(lake: Path) -> None:
    together = commit(lake, 0, [rows(stream, 0) for stream in range(100)], [])
    again = [commit(lake, number, [rows(number * 7, number)], []) for number in range(1, 12)]
    assert max(again) < together / 5


def test_where_nothing_is_computed_again_or_over_no_file_is_written(lake: Path) -> None:
    commit(lake, 0, [rows(stream, 0) for stream in range(100)], [])
    before = {file.name for file in held(lake)}
    lakes.commit(str(lake), "stalls", [], ["1"], "run", OpenRows(PREFIX))
    lakes.commit(str(lake), "stalls", [], ["2"], "run", OpenRows(PREFIX, pa.array(["another"]), pa.array(["a third"])))
    assert {file.name for file in held(lake)} == before


def test_rows_are_cut_into_files_between_streams_alone(lake: Path) -> None:
    files = written(lake, [rows(stream, 0, 1 + stream % 50) for stream in range(200)])
    ids = [set(pq.read_table(lake / "stalls" / file.path, columns=["stream_id"])["stream_id"].to_pylist()) for file in files]
    assert len(files) > 4
    assert sum(map(len, ids)) == len(set.union(*ids)) == 200
    assert sum(file.rows for file in files) == sum(1 + stream % 50 for stream in range(200))
