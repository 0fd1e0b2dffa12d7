"""From when on incidents are made again, and the files that this reads: what is new decides, not how much a lake has.

Captures that came say from when on: incidents that were over a day before their first packet stay as they are. Where something else
changed than captures came (connections were forgotten, computed again or repaired), all are made again.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from stompcap.lake import data_files, delta_log, open_tables, query
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

DAY = datetime.timedelta(days=1)
DAY_NS = 86_400 * 10**9
LAST = datetime.datetime.max.replace(tzinfo=datetime.UTC)
TIMES: dict[str, tuple[str, ...]] = {
    "streams": ("first_ts", "last_ts"), "sessions": ("opened_ts", "last_ts"), "deliveries": ("delivered_ts",), "sends": ("sent_ts",),
    "transactions": ("begun_ts",), "frames": ("first_ts",), "raw_frames": ("first_ts",),
    "destination_minutes": ("minute_ts",), "heartbeat_violations": ("gap_start_ts",), "compliance": ("opened_ts",),
    "compliance_findings": ("found_ts",),
}  # fmt: skip
"""Tables of which only files near what is new are read, by these columns; the others are small."""


@dataclass(frozen=True)
class Window:
    """Incidents that began at `begin_ns` or later are made again; kinds look back a day from there."""

    begin_ns: int

    def parts(self, lake: str) -> dict[str, Files]:
        """The files to read of the tables that have times."""
        begin = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(microseconds=self.begin_ns // 1000) - DAY
        found = {}
        for name, times in TIMES.items():
            files = data_files.of(open_tables.table(location(lake, name)), times)
            found[name] = Files.of(name, data_files.overlapping(files, times, [(begin, LAST)], timeless=True))
        return found


def first_change(lake: str, since: Mapping[str, int | None]) -> int | None:
    """The time of the first packet of the captures that came, in nanoseconds; None where more changed than captures came.

    `since` has the versions of tables that the incidents were made from.
    """
    came = since.get("captures")
    if came is None:
        return None
    changes = delta_log.changes(open_tables.table(location(lake, "captures")), came)
    if not changes or not data_files.exist([change.uri for change in changes]):
        return None
    views = {
        way: Files("captures", tuple(one.uri for one in changes if one.added is added)) for way, added in (("came", True), ("went", False))
    }  # fmt: skip
    with query.opened(views) as database:
        gone = database.sql("SELECT capture_id FROM went EXCEPT SELECT capture_id FROM came").fetchall()
        rows = "SELECT capture_id, packets, first_ns FROM"
        [(first_ns,)] = database.sql(f"SELECT min(first_ns) FROM ({rows} came EXCEPT {rows} went) new").fetchall()
    return None if gone else first_ns


def window(first_ns: int | None, held: pa.Table) -> Window | None:
    """From when on to make incidents again, of which `held` are those that there are; None for all of them."""
    if first_ns is None:
        return None
    begin_ns = first_ns - DAY_NS
    while True:
        lasts = held.filter(pc.or_kleene(pc.is_null(held["end_ns"]), pc.greater_equal(held["end_ns"], begin_ns - DAY_NS)))
        earlier = pc.min(lasts["begin_ns"]).as_py()
        if earlier is None or earlier >= begin_ns:
            return Window(begin_ns)
        begin_ns = earlier
