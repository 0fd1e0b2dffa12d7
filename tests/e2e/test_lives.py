"""All that a table has of a connection lies between its first packet and its last, by the time that files are chosen by."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

from stompcap.lake.maintenance import clustering
from stompcap.lake.removal import MARGIN_NS
from stompcap.tables import TABLES
from tests.e2e.pure import recorded_tables


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return dict(recorded_tables())


def nanoseconds(value: Any) -> int:
    if isinstance(value, datetime.datetime):
        return round((value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) / datetime.timedelta(microseconds=1)) * 1000
    return int(value)


def test_rows_lie_in_the_lives_of_their_connections(tables: dict[str, pa.Table]) -> None:
    """Else `stompcap forget` would not open a file that has some. Where packets are not in order of time, it opens all."""
    lives = {row["stream_id"]: (row["first_ns"], row["last_ns"]) for row in tables["streams"].to_pylist() if not row["clock_steps_back"]}
    assert len(lives) > 500
    checked = set()
    for name in tables.keys() & {table.name for table in TABLES.values() if "stream_id" in table.arrow.names}:
        for column in clustering(name):
            for stream, value in zip(*(tables[name].column(one).to_pylist() for one in ("stream_id", column)), strict=True):
                if stream in lives and value is not None:
                    first, last = lives[stream]
                    assert first - MARGIN_NS <= nanoseconds(value) <= last + MARGIN_NS, (name, column, stream)
                    checked.add(name)
    assert checked >= {"raw_frames", "segments", "stalls", "frames", "deliveries", "receipts", "compliance", "compliance_findings"}
