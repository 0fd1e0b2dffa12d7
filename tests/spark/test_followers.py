"""Whoever follows a table gets each final row once, by its change feed or by what is appended, over runs with open connections."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from stompcap.lake import followers, replaced
from tests.spark.test_other_writers import run, spoken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FOLLOWED = ("frames", "deliveries", "streams")
TIMES = {"_change_type", "_commit_version", "_commit_timestamp"}


def keys(rows: list[dict[str, Any]], final: bool | None = None) -> Counter[str]:
    """Rows by what they say, all or the final ones."""
    return Counter(
        repr(sorted((name, str(value)) for name, value in row.items() if name not in TIMES and not isinstance(value, (list, dict))))
        for row in rows
        if final is None or row["final"] is final
    )


def held(lake: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(lake / name)).to_pyarrow_table().to_pylist()
    return rows


def net(changes: list[dict[str, Any]], before: Counter[str] | None = None) -> Counter[str]:
    """What is left of inserted rows, and of those before, without the deleted ones."""
    left = keys([row for row in changes if row["_change_type"] == "insert"]) + (before or Counter())
    left.subtract(keys([row for row in changes if row["_change_type"] == "delete"]))
    return +left


def feed(lake: Path, name: str, since: int) -> list[dict[str, Any]]:
    """The changes of a table from a version on, as delta-rs reads them."""
    table = DeltaTable(str(lake / name))
    return pa.table(table.load_cdf(starting_version=since).read_all()).to_pylist() if since <= table.version() else []


def stream(spark: SparkSession, lake: Path, name: str, into: Path, **options: str) -> None:
    """Take what a table has more since the last time, as a Spark stream."""
    source = spark.readStream.format("delta").options(**options).load(str(lake / name))
    source = source if "readChangeFeed" in options else source.where("final")
    made = source.writeStream.format("delta").option("checkpointLocation", f"{into}-log").trigger(availableNow=True).start(str(into))
    made.awaitTermination()


def late(lake: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """A follower that last came after the first run is told from which version it has all rows."""
    with pytest.raises(Exception, match=r"parquet|not found|No such file"):
        feed(lake, name, 2)
    begin = int(DeltaTable(str(lake / name)).metadata().configuration[followers.PROPERTY])
    assert begin > 2
    found, since = keys(DeltaTable(str(lake / name), version=begin).to_pyarrow_table().to_pylist()), feed(lake, name, begin + 1)
    assert since
    found.update(keys([row for row in since if row["_change_type"] == "insert"]))
    found.subtract(keys([row for row in since if row["_change_type"] == "delete"]))
    assert +found == keys(rows)


def test_followers_have_each_final_row_once_over_seven_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what is appended and by the change feed; one that comes too late is told where to begin."""
    lake, since = tmp_path / "lake", dict.fromkeys(FOLLOWED, 0)
    changes: dict[str, list[dict[str, Any]]] = {name: [] for name in FOLLOWED}
    for number, part in enumerate(spoken(tmp_path, 7)):
        run(spark, lake, part)
        for name in FOLLOWED:
            changes[name] += feed(lake, name, since[name])
            since[name] = DeltaTable(str(lake / name)).version() + 1
        if number in (3, 6):
            stream(spark, lake, "deliveries", tmp_path / "appended", skipChangeCommits="true")
            stream(spark, lake, "frames", tmp_path / "fed", readChangeFeed="true", startingVersion="0")
        if number == 3:
            with monkeypatch.context() as patched:  # as if these were replaced two hours ago
                patched.setattr(replaced, "KEPT_S", [0])
                assert all(replaced.drop(str(lake), name) for name in FOLLOWED)
    for name in FOLLOWED:
        rows = held(lake, name)
        assert keys(rows, final=True)
        assert net(changes[name]) == keys(rows)
        inserted = keys([row for row in changes[name] if row["_change_type"] == "insert"], final=True)
        assert inserted == keys(rows, final=True)
        with_final = {row["_commit_version"] for row in changes[name] if row["final"]}
        assert {(row["_change_type"], row["final"]) for row in changes[name] if row["_commit_version"] in with_final} == {("insert", True)}
        late(lake, name, rows)
    assert keys(held(tmp_path, "appended")) == keys(held(lake, "deliveries"), final=True)
    assert net(held(tmp_path, "fed")) == keys(held(lake, "frames"))
