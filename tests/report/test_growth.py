"""The page of a lake with ever more sessions, each with names of its own, stays as large as it is."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stompcap.report import build
from tests.report.sample import ask, lake

NAMES = ("stream_id", "client_ip", "server_product", "client_product", "login", "error_message", "destination", "subscription", "path",
         "command", "evidence")  # fmt: skip
ALIKE = ("rules", "quality_results", "incidents")
"""Tables that do not grow with sessions; of incidents the page has all there is room for."""


def copies(rows: pa.Table, number: int) -> pa.Table:
    """The rows so many times, each time an hour later and under other names."""
    found = []
    for copy in range(number):
        one = rows
        for place, field in enumerate(rows.schema):
            if field.name in NAMES and pa.types.is_string(field.type):
                one = one.set_column(place, field, pc.binary_join_element_wise(f"{copy:05d}", rows[field.name], ""))
            elif field.name.endswith("_ns"):
                one = one.set_column(place, field, pc.add(rows[field.name], copy * 3600 * 10**9))
        found.append(one)
    return pa.concat_tables(found)


@pytest.mark.slow
def test_a_page_does_not_grow_with_the_sessions_of_the_lake() -> None:
    few = lake()
    sizes = []
    for number in (30, 600):
        tables = {name: rows if name in ALIKE else copies(rows, number) for name, rows in few.items()}
        sizes.append(len(build(ask(tables))))
    assert tables["sessions"].num_rows > 20_000
    assert sizes[0] < 1_500_000
    assert sizes[1] < 2 * sizes[0], "more digits and other hours, up to 1,000 names"
