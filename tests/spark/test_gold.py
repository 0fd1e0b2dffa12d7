"""The aggregates over deliveries made up for it, asked of both engines."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.metrics import aggregates, gold
from stompcap.lake import query
from stompcap.lake import tables as lakes
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
HOUR = datetime.datetime(2026, 11, 21, 7, tzinfo=datetime.UTC)
COUNTED = [
    ("settled", 100, False), ("settled", 300, False), ("settled", 9_000, True), ("settled", None, False),
    ("voided", 7, False), ("unsettled", None, None), ("unknown", None, True), ("auto", None, None),
]  # fmt: skip


@pytest.fixture(params=[10**9, 0], ids=["in this process", "by Spark"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either engine answers."""
    monkeypatch.setattr(query, "DRIVER_ROWS", request.param)


@pytest.mark.usefixtures("engine")
def test_what_no_latency_counts_of_is_counted_and_in_no_figure(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    deliveries: list[dict[str, Any]] = [
        {"stream_id": "s", "stream_offset": at, "delivered_ts": HOUR + datetime.timedelta(minutes=at), "destination": "/queue/a",
         "ack_mode": "client", "settled_by": "direct", "status": status, "ack_latency_us": latency, "octets_missing": missing}
        for at, (status, latency, missing) in enumerate(COUNTED)
    ]  # fmt: skip
    lakes.append(lake, "deliveries", table("deliveries", deliveries), ["unit"], "run")
    lakes.append(lake, "sessions", table("sessions", [{"stream_id": "s", "server_product": "RabbitMQ"}]), ["unit"], "run")
    aggregates.refresh(lake, gold.ACK_LATENCY, [], "run", lambda: spark)
    others, row = sorted(lakes.small(lake, "ack_latency").to_pylist(), key=lambda row: row["settled_by"] or "")
    assert (row["hour_ts"], row["server_product"], row["settled_by"]) == (HOUR, "RabbitMQ", "direct")
    counts = ("deliveries", "settled", "uncertain", "unsettled", "unknown")
    assert [row[name] for name in counts] == [4, 4, 2, 0, 0]
    assert [others[name] for name in ("settled_by", *counts)] == [None, 3, 0, 0, 2, 1]
    assert (row["p50_us"], row["p99_us"], row["max_us"], row["mean_us"]) == (200, 298, 300, 200)


def delivered(stream: str, minute: float, settled_by: str | None, status: str, *latencies: int | None) -> list[dict[str, Any]]:
    """Deliveries of one stream, minutes behind the hour."""
    return [
        {"stream_id": stream, "delivered_ts": HOUR + datetime.timedelta(minutes=minute), "destination": DESTINATIONS[stream],
         "ack_mode": "client", "settled_by": settled_by, "status": status, "ack_latency_us": latency, "octets_missing": False}
        for latency in latencies
    ]  # fmt: skip


DESTINATIONS = {"s": "/queue/a", "t": None}
DELIVERED = [
    *delivered("s", 0, "direct", "settled", 700, 100, 1100, 300, 500),
    *delivered("s", 59.99, "direct", "settled", 900, 200, 1000, 400, 800, 600),
    *delivered("s", 60, "direct", "settled", 5),
    *delivered("s", 30, "cumulative", "settled", 10, 21),
    *delivered("s", 30, None, "unsettled", None), *delivered("s", 30, None, "open", None), *delivered("s", 30, "direct", "voided", 9),
    *delivered("s", 30, None, "unknown", None, None), *delivered("s", 30, None, "auto", None),
    *delivered("t", 30, "direct", "settled", 1_000_000),
]  # fmt: skip
LATENCIES = {  # hour, destination, settled_by, broker: deliveries, settled, uncertain, unsettled, unknown; p50, p90, p95, p99, max, mean
    (7, None, "direct", "Artemis"): (1, 1, 0, 0, 0, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000),
    (7, "/queue/a", None, "RabbitMQ"): (5, 0, 0, 3, 2, None, None, None, None, None, None),
    (7, "/queue/a", "cumulative", "RabbitMQ"): (2, 2, 0, 0, 0, 16, 20, 20, 21, 21, 16),
    (7, "/queue/a", "direct", "RabbitMQ"): (11, 11, 0, 0, 0, 600, 1000, 1050, 1090, 1100, 600),
    (8, "/queue/a", "direct", "RabbitMQ"): (1, 1, 0, 0, 0, 5, 5, 5, 5, 5, 5),
}
COMPLIANCE = [  # session, rule, passed, failed, not evaluable
    ("s", "FR-01", 7, 1, 2), ("u", "FR-01", 2, 0, 0), ("t", "FR-01", 0, 0, 4), ("t", "HB-01", 1, 2, 0), ("s", "HB-01", 3, 0, 0),
]  # fmt: skip
DAY, NEXT = HOUR.date(), HOUR.date() + datetime.timedelta(days=1)
SUMMARIES = {  # day, rule, broker, client, version: sessions, applicable, passed, failed, not evaluable, rate
    (DAY, "FR-01", "RabbitMQ", "stompjs", "1.2"): (2, 12, 9, 1, 2, 0.1),
    (DAY, "HB-01", "RabbitMQ", "stompjs", "1.2"): (1, 3, 3, 0, 0, 0.0),
    (NEXT, "FR-01", "Artemis", None, None): (1, 4, 0, 0, 4, None),
    (NEXT, "HB-01", "Artemis", None, None): (1, 3, 1, 2, 0, 2 / 3),
}
OPENED = {"s": HOUR, "u": HOUR + datetime.timedelta(hours=16.99), "t": HOUR + datetime.timedelta(hours=17)}


@pytest.mark.usefixtures("engine")
def test_figures_computed_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    lake, rabbit = str(tmp_path), {"server_product": "RabbitMQ", "client_product": "stompjs", "version": "1.2"}
    lakes.create(lake)
    products = {"s": rabbit, "u": rabbit, "t": {"server_product": "Artemis"}}
    sessions = [{"stream_id": stream, "opened_ts": OPENED[stream]} | columns for stream, columns in products.items()]
    compliance = [
        {"stream_id": stream, "rule_id": rule, "applicable": good + bad + unclear, "passed": good, "failed": bad, "not_evaluable": unclear}
        for stream, rule, good, bad, unclear in COMPLIANCE
    ]  # fmt: skip
    deliveries = [row | {"stream_offset": at} for at, row in enumerate(DELIVERED)]
    for name, rows in (("deliveries", deliveries), ("sessions", sessions), ("compliance", compliance)):
        lakes.append(lake, name, table(name, rows), ["unit"], "run")
    for one in gold.AGGREGATES:
        aggregates.refresh(lake, one, [], "run", lambda: spark)
    latencies = [list(row.values()) for row in lakes.small(lake, "ack_latency").to_pylist()]
    assert {(hour.hour, destination, by, broker): tuple(rest) for hour, _, destination, _, by, broker, *rest in latencies} == LATENCIES
    summaries = [list(row.values()) for row in lakes.small(lake, "compliance_summary").to_pylist()]
    assert {(day, *row[:4]): tuple(row[4:]) for day, _, *row in summaries} == SUMMARIES
    assert len(latencies) == len(LATENCIES)
    assert len(summaries) == len(SUMMARIES)


@pytest.mark.usefixtures("engine")
def test_a_later_batch_counts_in_its_hours_and_days(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    for batch, came in enumerate([[(0, 100), (30, 500)], [(0, 300)]]):
        rows: dict[str, list[dict[str, Any]]] = {"sessions": [], "deliveries": [], "compliance": []}
        for hour, latency in came:
            stream, when = {"stream_id": f"{batch} {hour}"}, HOUR + datetime.timedelta(hours=hour)
            rows["sessions"].append(stream | {"opened_ts": when, "last_ts": when})
            settled = {"status": "settled", "ack_latency_us": latency, "octets_missing": False}
            rows["deliveries"].append(stream | {"delivered_ts": when} | settled)
            rows["compliance"].append(stream | {"opened_ts": when, "rule_id": "FR-01", "applicable": 2, "passed": 1, "failed": 1})
        for name, of_table in rows.items():
            lakes.append(lake, name, table(name, of_table), [str(batch)], "run")
        for one in gold.AGGREGATES:
            aggregates.refresh(lake, one, [str(batch)], "run", lambda: spark)
    latencies = [(row["hour_ts"], row["deliveries"], row["p50_us"]) for row in lakes.small(lake, "ack_latency").to_pylist()]
    assert sorted(latencies) == [(HOUR, 2, 200), (HOUR + datetime.timedelta(hours=30), 1, 500)]
    summed = lakes.small(lake, "compliance_summary").to_pylist()
    summaries = [(row["day"], row["sessions"], row["failed"], row["failure_rate"]) for row in summed]
    assert sorted(summaries) == [(DAY, 2, 2, 0.5), (NEXT, 1, 1, 0.5)]
    assert lakes.lacking(lake, "ack_latency", frozenset("012")) == {"2"}
