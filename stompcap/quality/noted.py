"""What a run itself notes in `quality_results`, because no row of the lake shows it later."""

from __future__ import annotations

import datetime
import json

import pyarrow as pa

from stompcap.quality.wording import GOES_ON, failure
from stompcap.tables import TABLES


def began_anew(run_id: str, number: int) -> pa.Table:
    """The row of a run in which as many open connections ended, because the state that another version left could not be taken up."""
    row = {
        "run_id": run_id, "table_name": "streams", "column_name": None, "expectation": GOES_ON, "severity": "warning", "success": False,
        "observed": json.dumps({"broken": number}), "checked_ts": datetime.datetime.now(datetime.UTC), "checked_rows": None,
        "failed_rows": number, "message": None,
    }  # fmt: skip
    return pa.Table.from_pylist([row | {"message": failure(row)}], schema=TABLES["quality_results"].arrow)
