"""Sentences of the tables on counts and lengths: each fault is caught by the expectation that says the sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap.quality import clear_secrets, ranges
from stompcap.quality.report import report
from stompcap.tables import TABLES
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
