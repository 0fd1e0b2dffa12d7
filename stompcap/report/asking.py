"""Asks a lake the queries of a report, those whose tables it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stompcap.lake.scope import NEEDED
from stompcap.report.queries import QUERIES
from stompcap.report.whole import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from stompcap.lake.query import Query
    from stompcap.lake.scope import Scope

EVERY = QUERIES | {whole.query.name: whole.query for whole in WHOLE.values()}
"""The queries of a page by their names."""


def ask(
    lake: str, names: Iterable[str], spark: Callable[[], SparkSession], source: str | None = None, scope: Scope | None = None,
    more: Sequence[Query] = (),
) -> dict[str, pa.Table]:
    """The answers to the named queries and to `more`, of one source and in a scope if they are given.

    One whose tables the lake does not have (yet) is left out.
    Each answer is an aggregate or has a LIMIT, so it is small for any lake; `spark` gives the session for queries of large tables.
    Raises as `stompcap.lake.tables.demand` where there is no lake.
    """
    from stompcap.lake import open_tables, query
    from stompcap.lake.paths import location
    from stompcap.lake.tables import demand

    demand(lake)
    asked = [*(EVERY[name] for name in names), *more]
    needed = set() if scope is None else set(NEEDED)
    present = {table for one in asked for table in (*one.tables, *needed) if open_tables.is_there(location(lake, table))}
    return query.ask(lake, [one for one in asked if present.issuperset(needed.union(one.tables))], spark, source=source, scope=scope)
