"""The queries of docs/packets.md work, and what they find are packets of captures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stompcap.lake import tables as lakes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PAGE = Path(__file__).resolve().parents[2] / "docs" / "packets.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: re.findall(r"FROM (\w+)", query)[0])
def test_a_query_of_the_page_finds_packets(viewed: SparkSession, lake: object, query: str) -> None:
    packets = {row["path"]: row["packets"] for row in lakes.small(str(lake), "captures", ["path", "packets"]).to_pylist()}
    rows = [row.asDict() for row in viewed.sql(query).collect()]
    assert rows
    for row in rows:
        paths = [value for name, value in row.items() if name.endswith("path")]
        numbers = [value for name, value in row.items() if name.endswith("packet")]
        assert paths
        assert numbers
        assert all(1 <= number <= max(packets[path] for path in paths) for number in numbers)
