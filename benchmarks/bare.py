"""The minimal wait for any Spark program: a session like that of `stompcap run`, and one job of Python tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stompcap.spark.session import get_session


def same(batches: Iterator[Any]) -> Iterator[Any]:
    """Return the batches unchanged."""
    yield from batches


if __name__ == "__main__":
    get_session().range(0, 2, 1, 2).mapInArrow(same, "id BIGINT").collect()
