"""Sentences of the tables on counts and lengths: each fault is caught by the expectation that says the sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap.quality import clear_secrets, ranges
from stompcap.quality.report import report
from stompcap.quality.row_rules import ROW_RULES
from stompcap.tables import TABLES
from stompcap.tables.carriers import ORIGINS, PROBE
from tests.quality import lakes
from tests.quality.faults import Fault, failed, put, run

COUNTED = ["streams", "sessions", "subscriptions", "deliveries", "transactions", "receipts"]
UNMEASURED = "expect_unmeasured_to_count_durations"


def several(*changes: Fault) -> Fault:
    def change(table: pa.Table) -> pa.Table:
        for one in changes:
            table = one(table)
        return table

    return change


@pytest.mark.parametrize(("changes", "table", "column", "expectation"), [
    ({"subscriptions": several(put("acked", 0, 1), put("delivered", 0, 1))}, "subscriptions", "max_in_flight",
     "expect_deliveries_in_flight_where_settled"),
    ({"subscriptions": several(put("unsettled", 0, 1), put("delivered", 0, 1))}, "subscriptions", "max_in_flight",
     "expect_column_values_to_be_at_least_unsettled"),
    ({"subscriptions": several(put("subscription", 0, "0"), put("max_in_flight", 0, 2), put("delivered", 0, 2)),
      "deliveries": several(*(put("subscription", row, "0") for row in (0, 1)), put("status", 0, "auto"), put("status", 1, "unknown"))},
     "subscriptions", None, "expect_deliveries_in_flight_to_ask_for_an_ack"),
    ({"sessions": put("unmeasured", 0, 1)}, "sessions", None, UNMEASURED),
    ({"receipts": several(put("status", 0, "answered"), put("answer", 0, "RECEIPT"))}, "sessions", None, UNMEASURED),
    ({"transactions": put("outcome", 0, "aborted")}, "sessions", None, UNMEASURED),
    ({"deliveries": several(put("status", 0, "settled"), put("settle_offset", 0, 5))}, "sessions", None, UNMEASURED),
])  # fmt: skip
def test_a_count_that_cannot_be_is_caught(
    tmp_path: Path, changes: Mapping[str, Fault], table: str, column: str | None, expectation: str
) -> None:
    made = lakes.tables()
    made["deliveries"] = several(*(put("status", row, "open") for row in range(12)))(made["deliveries"])
    clean = lakes.write(tmp_path / "clean", made, COUNTED)
    before = failed(run(clean, tables=COUNTED))
    assert before == set()
    made |= {name: change(made[name]) for name, change in changes.items()}
    assert (table, column, expectation) in failed(run(lakes.write(tmp_path / "lake", made, COUNTED), tables=COUNTED))


@pytest.mark.parametrize(("kind", "value", "wrong"), [
    ("frame", b"x" * 99, 1), ("frame", None, 1), ("eol", b"\n", 0), ("eol", b"\n\n", 1), ("gap", b"1234567", 1),
])  # fmt: skip
def test_octets_are_as_many_as_their_row_says(tmp_path: Path, kind: str, value: Any, wrong: int) -> None:
    """A gap has none."""
    made = lakes.tables()["raw_frames"]
    row = made.column("kind").to_pylist().index(kind)
    lake = lakes.write(tmp_path, {"raw_frames": put("raw", row, value)(made)}, ["raw_frames"])
    (file,) = (lake / "raw_frames").glob("*.parquet")
    found = report(TABLES["raw_frames"], "a", str(file), False, [], True, False).facts["faults"]
    assert {label: rows for label, (rows, _) in found.items() if clear_secrets.LENGTHS[2] in label} == (
        {" ".join(clear_secrets.LENGTHS[1:]): wrong} if wrong else {})
    assert all(len(first) <= ranges.EXAMPLES for _, first in found.values())


ALONE = {
    "captures": {"damage": "a packet is cut"},
    "streams": {"close_kind": "open", "fin_ns_c2s": 5, "fin_ns_s2c": 5, "origin_ip": "192.0.2.1"},
    "raw_frames": {"kind": "gap", "first_ns": 5},
    "sessions": {"end_kind": "open", "connect_latency_us": 5, "version_source": "unknown"},
    "subscriptions": {"status": "open", "unsubscribed_ns": 5},
    "deliveries": {"settled_by": "direct", "transaction": "t", "octets_missing": False},
    "transactions": {"ended_ns": 5},
    "heartbeats": {"max_gap_ms": 6, "observed_ms": 5},
}
"""Values that the first row of a table cannot have together with the others that it has."""


@pytest.mark.parametrize(("source", "meant"), [*((source, True) for source in ORIGINS), (PROBE, False), (None, False)])
def test_an_origin_has_a_header_that_names_it(tmp_path: Path, source: str | None, meant: bool) -> None:
    streams = several(put("origin_ip", 0, "192.0.2.1"), put("origin_source", 0, source))(lakes.tables()["streams"])
    found = failed(run(lakes.write(tmp_path, {"streams": streams}, ["streams"]), tables=["streams"]))
    assert (("streams", "origin_ip", "expect_column_values_to_be_null_unless_origin_source") not in found) is meant


def test_values_that_another_column_excludes_are_caught(tmp_path: Path) -> None:
    made = lakes.tables()
    made["heartbeats"] = lakes.fill("heartbeats", 1, {"stream_id": ["0" * 20], "max_gap_ms": [1], "observed_ms": [2]})
    clean = failed(run(lakes.write(tmp_path / "clean", made, ALONE), tables=list(ALONE)))
    assert not {column for _, column, _ in clean if column}
    for name, values in ALONE.items():
        made[name] = several(*(put(column, 0, value) for column, value in values.items()))(made[name])
    made["streams"] = put("close_kind", 1, "rst")(made["streams"])
    made["sessions"] = put("ended_by", 1, "server")(made["sessions"])
    made["deliveries"] = put("transaction_outcome", 1, "open")(made["deliveries"])
    made["captures"] = pa.concat_tables([made["captures"], put("capture_id", 0, "d" * 64)(put("damage", 0, None)(
        put("status", 0, "truncated")(made["captures"])))])  # fmt: skip
    rules = {(rule.table, rule.column, rule.expectation) for rule in ROW_RULES}
    found = failed(run(lakes.write(tmp_path / "lake", made, ALONE), tables=list(ALONE)))
    assert found & rules >= {
        ("captures", "damage", "expect_column_values_to_be_null_unless_status"), ("captures", "damage", "expect_damage_to_be_told"),
        ("streams", "fin_ns_c2s", "expect_column_values_to_be_null_unless_close_kind"),
        ("streams", "fin_ns_s2c", "expect_column_values_to_be_null_unless_close_kind"),
        ("streams", "origin_ip", "expect_column_values_to_be_null_unless_origin_source"),
        ("streams", "rst_by", "expect_resets_to_have_a_side"),
        ("raw_frames", "first_ns", "expect_column_values_to_be_null_unless_kind"),
        ("sessions", "ended_by", "expect_column_values_to_be_null_unless_end_kind"),
        ("sessions", "ended_by", "expect_clients_to_disconnect"),
        ("sessions", "connect_latency_us", "expect_column_values_to_be_null_unless_connect_command"),
        ("sessions", "version", "expect_column_values_to_be_null_unless_version_source"),
        ("subscriptions", "unsubscribed_ns", "expect_column_values_to_be_null_unless_status"),
        ("deliveries", "settled_by", "expect_column_values_to_be_null_unless_settlement"),
        ("deliveries", "transaction", "expect_column_values_to_be_null_unless_settle_offset"),
        ("deliveries", "transaction_outcome", "expect_column_values_to_be_null_unless_transaction"),
        ("deliveries", "octets_missing", "expect_column_values_to_be_null_unless_settle_offset"),
        ("transactions", "ended_ns", "expect_column_values_to_be_null_unless_outcome"),
    }
    assert ("heartbeats", "observed_ms", "expect_column_values_to_be_at_least_max_gap_ms") in found
    assert ("sessions", None, "expect_complete_ends_to_match_streams") in found
