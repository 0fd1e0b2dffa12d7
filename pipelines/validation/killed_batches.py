"""Batches of runs that were killed while they committed, and that no run could finish: some tables have their rows, others lack them.

Where later captures went on with the same connections, rows that such a batch had made final stand twice.
"""

from __future__ import annotations

import datetime
import json

import pyarrow as pa

from pipelines.ingest.unfinished import partly_in, unfinished
from stompcap.lake import tables as lakes
from stompcap.quality.ranges import EXAMPLES
from stompcap.quality.wording import FINISHED, failure
from stompcap.tables import TABLES


def result(lake: str, run_id: str) -> pa.Table:
    """The row of `quality_results` that says whether every batch is in all tables or in none."""
    left = [(batch, tables) for batch in unfinished(lake) if (tables := partly_in(lake, batch))]
    rows = lakes.small(lake, "batches", ["batch_id"]).num_rows
    first = [{"batch_id": batch.batch_id, "run_id": batch.run_id, "tables": tables} for batch, tables in left[:EXAMPLES]]
    row = {
        "run_id": run_id, "table_name": "batches", "column_name": None, "expectation": FINISHED, "severity": "error",
        "success": not left, "observed": json.dumps({"rows": rows, "broken": len(left), "first": first}, sort_keys=True),
        "checked_ts": datetime.datetime.now(datetime.UTC), "checked_rows": rows, "failed_rows": len(left), "message": None,
    }  # fmt: skip
    return pa.Table.from_pylist([row | {"message": failure(row) if left else None}], schema=TABLES["quality_results"].arrow)
