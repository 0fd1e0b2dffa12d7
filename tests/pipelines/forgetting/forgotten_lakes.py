"""Small lakes with a row of each connection in every table, to forget some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from deltalake import DeltaTable

from pipelines.forgetting.criteria import Criteria
from pipelines.forgetting.forget import FIRST, LAST, Forgotten, forget
from pipelines.incidents import refresh as incidents
from pipelines.incidents.pace import Pace
from pipelines.job import Job
from pipelines.metrics import aggregates, gold, journeys
from stompcap.lake import data_files
from stompcap.lake import tables as lakes
from stompcap.lake.commits import ordered, read
from stompcap.lake.maintenance import clustering
from stompcap.lake.paths import location
from stompcap.options import Options
from tests.report.sample import START, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_NS = 24 * 3600 * 10**9
KEYED = (*FIRST, *LAST)
COMPARED = (*KEYED, gold.JOURNEYS, *(one.name for one in gold.AGGREGATES), gold.INCIDENTS)


@dataclass(frozen=True)
class Connection:
    """One connection: its id, its client, its login, and on which day it was."""

    name: str
    client: str
    login: str | None
    day: int
    in_order: bool = True

    @property
    def begin(self) -> int:
        return START + self.day * DAY_NS

    def row(self, name: str) -> dict[str, Any]:
        """Its row of a table."""
        begin = self.begin
        row: dict[str, Any] = {"stream_id": self.name}
        for column in clustering(name):
            row[column] = begin // 1000 if column.endswith("_ts") else begin + (-DAY_NS * 9 if not self.in_order else 0)
        times = {"first_ts": begin // 1000, "last_ts": (begin + 10**9) // 1000}
        ends = {"first_ns": begin, "last_ns": begin + 10**9, **times, "client_ip": self.client, "clock_steps_back": int(not self.in_order)}
        more: dict[str, dict[str, Any]] = {
            "streams": ends,
            "sessions": {"client_ip": self.client, "login": self.login, "opened_ns": begin, "opened_ts": begin // 1000,
                         "last_ns": begin + 10**9, "last_ts": (begin + 10**9) // 1000, "server_product": "RabbitMQ"},
            "deliveries": {"delivered_ts": begin // 1000, "destination": f"/queue/{self.name}", "status": "settled", "ack_latency_us": 7,
                           "octets_missing": False, "first_ns": begin, "body_hash": self.day, "content_hash": self.day,
                           "destination_name": "queue/a"},
            "sends": {"sent_ts": begin // 1000, "sent_ns": begin - 10**6, "effective_ns": begin - 10**6, "body_hash": self.day,
                      "content_hash": self.day, "destination_name": "queue/a"},
            "compliance": {"rule_id": "FR-01", "applicable": 1, "passed": 1},
            "compliance_findings": {"rule_id": "FR-01", "level": "M", "side": "client", "ts_ns": begin, "direction": "c2s",
                                    "stream_offset": 0},
            "raw_frames": {"raw": f"body of {self.name}".encode()},
        }  # fmt: skip
        return row | more.get(name, {})


def no_spark() -> NoReturn:
    raise AssertionError("these lakes are small")


def make(lake: Path, files: Iterable[Iterable[Connection]]) -> Path:
    """A lake of connections, a file of each table for each group of them."""
    lakes.create(str(lake))
    for number, group in enumerate(files):
        for name in KEYED:
            lakes.append(str(lake), name, table(name, [one.row(name) for one in group]), [f"unit {number}"], "run")
    refresh(lake)
    return lake


def refresh(lake: Path) -> None:
    journeys.refresh(str(lake), [], "run", no_spark)
    for one in gold.AGGREGATES:
        aggregates.refresh(str(lake), one, [], "run", no_spark)
    incidents.refresh(str(lake), [], "run", Pace())


def job(lake: Path, spark: SparkSession | None = None) -> Job:
    return Job(no_spark if spark is None else lambda: spark, str(lake), Options())


def forgotten(lake: Path, criteria: Criteria) -> Forgotten:
    return forget(job(lake), criteria)


def rows_of(lake: Path, *without: str) -> dict[str, list[str]]:
    """The rows of all tables that connections are in."""
    found = {}
    for name in COMPARED:
        rows = ordered(name, read(name, data_files.of(DeltaTable(location(str(lake), name)))))
        found[name] = sorted(map(repr, rows.drop_columns([column for column in without if column in rows.column_names]).to_pylist()))
    return found


def files_of(lake: Path, name: str) -> set[str]:
    """The names of a table's data files."""
    return {file.name for file in data_files.of(DeltaTable(location(str(lake), name)))}


def octets_of(lake: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file of a lake, data pages of Parquet files decompressed by reading them."""
    import pyarrow.parquet as pq

    for path in sorted(lake.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()
            if path.suffix == ".parquet":
                with pq.ParquetFile(path) as file:
                    yield path, repr(file.read().to_pylist()).encode()


def holding(lake: Path, *words: str) -> list[str]:
    """The files in which one of some words is found."""
    return sorted({str(path.relative_to(lake)) for path, octets in octets_of(lake) for word in words if word.encode() in octets})
