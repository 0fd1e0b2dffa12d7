"""The aggregates over every recorded session, against the same figures computed in plain Python."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pipelines.metrics import gold, journeys_touched
from stompcap.lake.query import in_process
from tests.e2e.plain_gold import wrong_latencies, wrong_summaries
from tests.e2e.pure import recorded_tables
from tests.examples import slow_behind
from tests.pipelines.metrics.journey_cases import joined


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    made = dict(recorded_tables())
    made["captures"] = pa.table({"source": pa.array([], pa.string()), "last_ns": pa.array([], pa.int64())})
    made["journeys"] = joined({name: made[name] for name in journeys_touched.TABLES_READ})
    asked = {name: made[name] for name in ("deliveries", "sends", "journeys", "sessions", "compliance", "streams")}
    return made | in_process(asked, [one.query() for one in gold.AGGREGATES])


def test_latencies_are_those_of_the_deliveries(tables: dict[str, pa.Table]) -> None:
    assert list(wrong_latencies(tables)) == []
    for name in ("hour_ts", "destination", "ack_mode", "settled_by", "server_product"):
        assert len(tables["ack_latency"][name].unique()) > 1, name


def test_summaries_are_those_of_the_sessions(tables: dict[str, pa.Table]) -> None:
    assert list(wrong_summaries(tables)) == []
    for name in ("server_product", "client_product", "version"):
        assert len(tables["compliance_summary"][name].unique()) > 1, name


@pytest.mark.parametrize("name", ["p50_us", "p90_us", "p95_us", "p99_us", "max_us", "mean_us", "deliveries", "unsettled", "unknown"])
def test_a_wrong_latency_is_noticed(name: str, tables: dict[str, pa.Table]) -> None:
    assert list(wrong_latencies(tables | {"ack_latency": _one_more(tables["ack_latency"], name)}))


@pytest.mark.parametrize("name", slow_behind(3, ["sessions", "failed", "failure_rate", "applicable", "passed", "not_evaluable"]))
def test_a_wrong_sum_is_noticed(name: str, tables: dict[str, pa.Table]) -> None:
    assert list(wrong_summaries(tables | {"compliance_summary": _one_more(tables["compliance_summary"], name)}))


def _one_more(table: pa.Table, name: str) -> pa.Table:
    """The table with a value of a column one higher, the last that is not null."""
    values = table[name].to_pylist()
    last = max(i for i, value in enumerate(values) if value is not None)
    values[last] += 1
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table.schema.types[place]))
