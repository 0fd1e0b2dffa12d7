"""Whole tables inside the page: they know how many rows there are beside those that they have."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import pyarrow as pa
import pytest

from stompcap.lake.query import in_process
from stompcap.report.whole import WHOLE, packed
from tests.report.sample import lake


def unpacked(rows: pa.Table, name: str) -> dict[str, Any]:
    found = re.search(r">([A-Za-z0-9+/=]+)</script>", str(packed(rows, name, "UTC")))
    assert found
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(found[1])))
    return data


@pytest.mark.parametrize("name", WHOLE)
def test_it_knows_how_many_rows_there_are(name: str) -> None:
    query = WHOLE[name].query
    answer = in_process(lake(), [query])[query.name]
    assert answer.num_rows > 1
    assert unpacked(answer, name)["total"] == answer.num_rows
    data = unpacked(answer.slice(0, 1), name)
    assert (data["rows"], data["total"]) == (1, answer.num_rows), "counted before the limit"
