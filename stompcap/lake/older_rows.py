"""Connections of a lake whose rows an older version wrote, where rows have come to mean something else since."""

from __future__ import annotations

import shlex
from collections import Counter

from stompcap.lake import open_tables
from stompcap.lake.places import location
from stompcap.lake.query import Query, in_process, whole
from stompcap.tables import changes
from stompcap.units import count

BY_VERSION = """
    SELECT b.tool_version AS version, count(*) AS connections
    FROM streams s LEFT JOIN batches b ON s.batch_id = b.batch_id GROUP BY b.tool_version"""


def older_rows(lake: str) -> str | None:
    """A line on connections whose rows an older version wrote, what these say otherwise, and what mends it; None where there are none."""
    tables = ("streams", "batches")
    if not all(open_tables.is_there(location(lake, name)) for name in tables):
        return None
    [found] = in_process({name: whole(lake, name) for name in tables}, [Query("versions", tables, BY_VERSION)]).values()
    rows = {row["version"]: row["connections"] for row in found.to_pylist()}
    older = Counter({version: number for version, number in rows.items() if changes.since(version)})
    if not older:
        return None
    number = older.total()
    versions = ", ".join(sorted(version or "a version before 0.1.0" for version in older))
    what = "; ".join(dict.fromkeys(change.what for version in older for change in changes.since(version)))
    which = f"{count(number)} connection{'' if number == 1 else 's'} of version {versions}"
    return f"{which} have rows of before these changes: {what}. To compute them anew: stompcap run --reprocess --lake {shlex.quote(lake)}"
