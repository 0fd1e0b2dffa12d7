"""Lakes without a fault, of other traffic than the recordings, have no failure: what an expectation takes for sure is so there too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stompcap.generate.profiles import Wanted
from stompcap.generate.write import Request, generate
from stompcap.lake import tables as lakes
from stompcap.quality import failure
from stompcap.tables import TABLES
from tests.e2e.cutting import cut
from tests.e2e.pure import wire_of
from tests.e2e.runs import Lake
from tests.e2e.test_clocks import SHAPES, recorded, told
from tests.e2e.test_without_times import zeroed
from tests.lakes.make import OLDER
from tests.lakes.older import unpacked
from tests.quality.faults import run

Tables = Mapping[str, pa.Table]
RECORDING = "rabbitmq_dialogue.pcap"


def written(folder: Path, tables: Tables, captures: Iterable[Mapping[str, Any]]) -> Path:
    """A lake of these tables."""
    lakes.create(str(folder))
    rows = [{name: row.get(name) for name in TABLES["captures"].arrow.names} | {"batch_id": "batch"} for row in captures]
    for name, table in {**tables, "captures": pa.Table.from_pylist(rows, TABLES["captures"].arrow)}.items():
        if table.num_rows:
            lakes.append(str(folder), name, table.select(TABLES[name].arrow.names).cast(TABLES[name].arrow), ["batch"], "run")
    return folder


def rotated(profile: str, most: int, block: int) -> Callable[[Path], Path]:
    """A generated capture in three files, of which open connections go on by their packets, or by the states of machines."""

    def make(folder: Path) -> Path:
        generate(folder / "made.pcap", Request(profile, wanted=Wanted(connections=4, messages=40)))
        lake = Lake(most=most, block=block)
        for part in cut(folder / "made.pcap", folder, (0.3, 0.6)):
            lake.run([part])
        return written(folder / "lake", {name: lake.table(name) for name in {*lake.final, *lake.open}}, lake.captures)

    return make


def of_clocks(shape: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        tables = told(RECORDING, SHAPES[shape])
        times = pc.min_max(tables["segments"].column("ts_ns")).as_py()  # but for those of packets without octets
        streams = {"min": pc.min(tables["streams"].column("first_ns")).as_py(), "max": pc.max(tables["streams"].column("last_ns")).as_py()}
        (row,) = recorded(RECORDING).surveyed
        bounds = {"first_ns": min(times["min"], streams["min"]), "last_ns": max(times["max"], streams["max"])}
        stamps = {"first_ts": bounds["first_ns"] // 1000}
        return written(folder / "lake", tables, [{**row, **bounds, **stamps}])

    return make


def without_times(folder: Path) -> Path:
    wire = wire_of([str(zeroed(folder))])
    return written(folder / "lake", wire.tables(), wire.surveyed)


def older(commit: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        lake = str(unpacked(commit, folder))
        lakes.create(lake)
        lakes.bring_up(lake)
        return folder / "lake"

    return make


LAKES: dict[str, Callable[[Path], Path]] = {
    "packets lost": rotated("loss", 512, 1 << 13),
    "packets lost, by states": rotated("loss", 10, 64),
    "slow consumers": rotated("slow-consumer", 10, 64),
    "late heart-beats": rotated("broken-heart-beats", 512, 1 << 13),
    "rules broken": rotated("violations", 10, 64),
    **{shape: of_clocks(shape) for shape in ("both clocks step back", "one clock steps back", "one clock is 3 ms ahead")},
    "without times": without_times,
    **{f"of {commit}": older(commit) for commit in OLDER},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAKES)
def test_a_clean_lake_has_no_failure(name: str, tmp_path: Path) -> None:
    assert [failure(row) for row in run(LAKES[name](tmp_path)) if not row["success"]] == []


@pytest.mark.slow
def test_files_that_lack_columns_of_words_and_of_a_key_are_judged(tmp_path: Path) -> None:
    lake = LAKES["of dea8dce"](tmp_path)
    names = ["ack_latency", "streams", "batches"]
    assert [failure(row) for row in run(lake, tables=names) if not row["success"]] == []
