"""What a validation read is not read again; the next one finds the same, and thresholds are judged by what both have read."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from stompcap.quality import kept
from stompcap.settings import Quality
from tests.examples import slow_behind
from tests.quality import lakes
from tests.quality.faults import BETWEEN, KEYS, failed, put, repeat, run

NAMES = ["captures", "streams", "raw_frames", "segments", "receipts"]


def append(lake: Path, name: str, rows: pa.Table) -> None:
    write_deltalake(str(lake / name), rows, mode="append")


def again(lake: Path, read: list[str], **options: Any) -> tuple[list[str], list[dict[str, Any]]]:
    read.clear()
    rows = run(lake, tables=NAMES, new=True, **options)
    return sorted(read), [{key: value for key, value in row.items() if key != "checked_ts"} for row in rows]


def test_only_new_files_are_read_and_all_are_judged(tmp_path: Path, read: list[str]) -> None:
    made = lakes.tables()
    lake = lakes.write(tmp_path / "lake", made, NAMES)
    assert again(lake, read)[0] == sorted(NAMES)
    assert again(lake, read)[0] == []

    append(lake, "receipts", put("latency_us", 0, -5)(made["receipts"]))
    files, rows = again(lake, read)
    assert (files, failed(rows)) == (["receipts"], {("receipts", "latency_us", BETWEEN), ("receipts", None, KEYS)})
    files, once_more = again(lake, read)
    assert (files, once_more) == ([], rows), "a fault in a file that is not read again stays known"

    append(lake, "segments", repeat(0)(made["segments"].slice(1, 2)))
    files, rows = again(lake, read)
    assert files == ["segments"]
    assert ("segments", None, KEYS) in failed(rows), "keys are told across files"
    assert again(lake, read) == ([], rows)

    read.clear()
    whole = [{key: value for key, value in row.items() if key != "checked_ts"} for row in run(lake, tables=NAMES)]
    assert whole == rows
    assert len(read) == len(NAMES) + 2, "all are read where that is not asked for"

    DeltaTable(str(lake / "segments")).delete()
    DeltaTable(str(lake / "receipts")).delete()
    for name in ("segments", "receipts"):
        append(lake, name, made[name])
    files, rows = again(lake, read)
    assert (files, failed(rows)) == (["receipts", "segments"], set())


@pytest.mark.slow
def test_what_is_kept_is_many_small_files_no_more(tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "PARTS", 3)
    made = lakes.tables()
    lake = lakes.write(tmp_path / "lake", made, NAMES)
    for number in range(8):
        append(lake, "captures", put("capture_id", 0, f"{number:064x}")(made["captures"]))
        files, rows = again(lake, read)
        assert failed(rows) == set()
        assert files == (["captures"] if number else sorted([*NAMES, "captures"]))
        assert len(list((lake / "_quality").iterdir())) <= 3


@pytest.mark.parametrize("damage", slow_behind(1, ["cut", "foreign", "gone"]))
def test_a_lake_that_lost_what_was_kept_is_read_again(tmp_path: Path, read: list[str], damage: str) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables(), NAMES)
    rows = again(lake, read)[1]
    (file,) = (lake / "_quality").iterdir()
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-50])
    elif damage == "foreign":
        file.write_bytes(b"other")
    else:
        shutil.rmtree(lake / "_quality")
    assert again(lake, read) == (sorted(NAMES), rows)
    assert again(lake, read) == ([], rows)


def captures(path: str, source: str, age_s: float) -> pa.Table:
    return lakes.fill("captures", 1, {
        "capture_id": [path], "path": [path], "source": [source], "format": ["pcap"], "last_ns": [time.time_ns() - int(age_s * 1e9)],
    })


def test_old_packets_and_missing_octets_exceed_the_thresholds(tmp_path: Path) -> None:
    made = lakes.tables()
    for row, name in itertools.product(range(3), [f"{what}_octets_{way}" for what in ("gap", "outer") for way in ("c2s", "s2c")]):
        made["streams"] = put(name, row, 0)(made["streams"])
    made["streams"] = put("gap_octets_s2c", 1, 300)(put("outer_octets_s2c", 0, 9700)(put("outer_octets_s2c", 1, 300)(made["streams"])))
    made["captures"] = captures("/home/alice/rotated-0007.pcap", "tap \x1b[2J", 7200)
    lake = lakes.write(tmp_path / "lake", made, ["captures", "streams"])
    append(lake, "captures", captures("/home/alice/rotated-0008.pcap", "tap \x1b[2J", 4000))
    append(lake, "captures", captures("/home/alice/other.pcap", "other", 5))

    def told(**thresholds: float) -> set[str]:
        rows = run(lake, tables=["captures", "streams"], quality=Quality(**thresholds))
        assert all(row["message"] is None or row["severity"] == "error" for row in rows)
        return {row["message"] for row in rows if not row["success"]}

    assert told() == told(newest_packet_s=4100, lost_ratio=0.03) == set()
    assert told(newest_packet_s=3600, lost_ratio=0.02) == {
        r"captures.last_ns: 1 of 2 sources has no packet of the last 1 h: tap \x1b[2J, whose newest is 1 h 6 min old (rotated-0008.pcap)",
        f"streams: 300 of 10,000 octets of STOMP streams are missing: 3 %, above 2 % (stream_id {1:020x}, lost_octets 300)",
    }
    observed = [json.loads(row["observed"]) for row in run(lake, tables=["captures", "streams"], quality=Quality(lost_ratio=0.02))]
    assert "/home/alice" not in json.dumps(observed)


def test_reports_of_another_layout_are_passed_over_and_go(tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "PARTS", 2)
    lake = lakes.write(tmp_path / "lake", lakes.tables(), NAMES)
    (lake / "_quality").mkdir()
    older = lake / "_quality" / "00000001-older.arrow"
    rows = pa.table({"table_name": ["streams"]}).replace_schema_metadata({"stompcap": "{}"})
    with pa.ipc.new_file(str(older), rows.schema) as writer:
        writer.write_table(rows)
    assert again(lake, read)[0] == sorted(NAMES)
    assert older.exists()
    assert again(lake, read)[0] == []
    assert not older.exists()
