"""The SQL asked of another engine than Spark; tests/spark has Spark's own answers."""

from __future__ import annotations

import statistics

import pyarrow as pa
import pytest

from stompcap.report.page import records
from stompcap.report.queries import QUERIES, SUMMARY
from stompcap.tables import TABLES
from tests.report.sample import ask, lake, table


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return lake()


@pytest.fixture(scope="module")
def answers(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    return ask(tables)


def test_only_tables_of_the_lake_are_asked() -> None:
    assert {name for query in QUERIES.values() for name in query.tables} <= set(TABLES)
    assert set(SUMMARY) <= set(QUERIES)


def test_every_question_is_bounded(answers: dict[str, pa.Table]) -> None:
    for name, query in QUERIES.items():
        assert "LIMIT" in query.sql or name.endswith("_total"), name
        assert answers[name].num_rows >= 1, name


def test_totals_agree_with_the_rows(tables: dict[str, pa.Table], answers: dict[str, pa.Table]) -> None:
    asking = [row for row in tables["deliveries"].to_pylist() if row["status"] != "auto"]
    total = records(answers["ack_total"])[0]
    direct = sorted(r["ack_latency_us"] for r in asking if r["settled_by"] == "direct" and not r["octets_missing"])
    assert total["deliveries"] == len(asking)
    assert [total[name] for name in ("settled", "unsettled", "unknown")] == [
        sum(r["status"] == name for r in asking) for name in ("settled", "unsettled", "unknown")
    ]
    assert min(total["unsettled"], total["unknown"]) > 0
    assert total["p50_us"] == statistics.median(direct)
    assert total["max_us"] == direct[-1]
    assert sum(r["deliveries"] for r in records(answers["ack_destinations"])) == len(asking)
    assert sum(r["deliveries"] for r in records(answers["ack_histogram"])) == total["settled"] - total["uncertain"]
    assert total["uncertain"] == sum(r["octets_missing"] is True for r in asking) > 0
    assert sum(r["deliveries"] for r in records(answers["ack_timeline"])) == len(direct)
    assert sum(r["directions"] for r in records(answers["heartbeat_ratios"])) == tables["heartbeats"].num_rows
    assert sum(r["findings"] for r in records(answers["levels"])) == tables["compliance_findings"].num_rows
    assert sum(r["failed"] for r in records(answers["rules"])) == tables["compliance_findings"].num_rows
    assert sum(r["findings"] for r in records(answers["broken"])) == tables["compliance_findings"].num_rows
    assert sum(r["findings"] for r in records(answers["product_findings"])) == tables["compliance_findings"].num_rows


def test_residence_counts_journeys_whose_send_is_certain(tables: dict[str, pa.Table], answers: dict[str, pa.Table]) -> None:
    rows = tables["journeys"].to_pylist()
    sure = sorted(row["residence_us"] for row in rows if row["joined_by"] == "unique")
    [total] = records(answers["residence_total"])
    assert (total["measured"], total["p50_us"], total["max_us"]) == (len(sure), statistics.median(sure), sure[-1])
    assert total["messages"] == sum(row["message_stream_id"] is not None for row in rows)
    assert total["waiting"] == sum(row["reason"] == "not_yet" for row in rows) > 0
    assert sum(row["waiting"] for row in records(answers["residence_destinations"])) == total["waiting"]


def test_percentiles_leave_cumulative_uncertain_unsettled_and_unknown_deliveries_out() -> None:
    base = {"stream_id": "s", "body_octets": 0, "destination": "/queue/a", "ack_mode": "client", "delivered_ns": 5}
    rows = [
        base | {"stream_offset": 0, "status": "settled", "settled_by": "direct", "ack_latency_us": 100},
        base | {"stream_offset": 1, "status": "settled", "settled_by": "direct", "ack_latency_us": 300},
        base | {"stream_offset": 2, "status": "settled", "settled_by": "cumulative", "ack_latency_us": 9000},
        base | {"stream_offset": 3, "status": "voided", "settled_by": "direct", "ack_latency_us": 7},
        base | {"stream_offset": 4, "status": "unsettled"},
        base | {"stream_offset": 5, "status": "auto", "ack_mode": "auto"},
        base | {"stream_offset": 6, "status": "settled", "settled_by": "direct", "ack_latency_us": 8000, "octets_missing": True},
        base | {"stream_offset": 7, "status": "unknown"},
        base | {"stream_offset": 8, "status": "open"},
        base | {"stream_offset": 9, "status": "settled", "settled_by": "direct", "octets_missing": False},
    ]
    row = records(ask({"deliveries": table("deliveries", rows)})["ack_destinations"])[0]
    figures = (row["deliveries"], row["settled"], row["unsettled"], row["unknown"], row["direct"], row["cumulative"], row["uncertain"])
    assert figures == (9, 5, 3, 1, 2, 1, 2)
    assert (row["p50_us"], row["max_us"], row["cumulative_p50_us"]) == (200, 300, 9000)


def test_the_worst_sessions_come_first(answers: dict[str, pa.Table]) -> None:
    must = [row["must"] for row in records(answers["sessions"])]
    assert must == sorted(must, reverse=True)
    assert records(answers["heartbeats"])[0]["verdict"] == "dead"


def test_only_the_latest_quality_results_count() -> None:
    base = {"table_name": "frames", "expectation": "e", "severity": "error"}
    rows = [
        base | {"run_id": "1", "success": False, "checked_ts": 1_000_000},
        base | {"run_id": "2", "success": True, "checked_ts": 2_000_000},
    ]
    found = records(ask({"quality_results": table("quality_results", rows)})["quality"])
    assert [(row["success"], row["total"], row["failing"]) for row in found] == [(True, 1, 0)]


def test_an_empty_lake_has_answers_too(tables: dict[str, pa.Table]) -> None:
    answers = ask({name: rows.slice(0, 0) for name, rows in tables.items()})
    assert set(answers) == set(QUERIES)
