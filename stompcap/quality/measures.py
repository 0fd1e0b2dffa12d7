"""What is measured of a lake to be compared with the user's thresholds: the newest packet of each source, the octets that are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.tables.words import DIRECTIONS

RECENT, FEW = "expect_newest_packet_to_be_recent", "expect_lost_octets_to_be_few"
"""The names of the results: of captures.last_ns, and of table streams."""

COLUMNS = {
    "captures": {"source", "last_ns", "path"},
    "streams": {"stream_id", "protocol", *(f"{what}_octets_{way}" for what in ("gap", "outer") for way in DIRECTIONS)},
}


def columns(table: str) -> set[str]:
    """The columns of a table that are read."""
    return COLUMNS.get(table, set())


@dataclass
class Measures:
    """The sums over some rows.

    Per source the time of its newest packet and the file's name; of STOMP streams the octets, those missing, and the stream that lacks
    most with their number.
    """

    newest: dict[str, tuple[int, str]] = field(default_factory=dict)
    octets: int = 0
    lost: int = 0
    most: tuple[int, str] = (0, "")

    @property
    def facts(self) -> dict[str, Any]:
        """As JSON has them, nothing where nothing is measured."""
        return dict(vars(self)) if self.newest or self.octets else {}

    def add(self, facts: Mapping[str, Any]) -> None:
        """Add the facts of other rows."""
        for source, newest in facts.get("newest", {}).items():
            self.newest[source] = max(self.newest.get(source, (0, "")), (newest[0], newest[1]))
        self.octets += facts.get("octets", 0)
        self.lost += facts.get("lost", 0)
        number, stream = facts.get("most", (0, ""))
        self.most = max(self.most, (number, stream))

    def add_rows(self, table: str, rows: pa.Table) -> None:
        """Add rows of a table."""
        if table == "captures":
            for row in rows.select(["source", "last_ns", "path"]).to_pylist():
                if row["last_ns"] is not None and row["source"] is not None:
                    name = (row["path"] or "").rstrip("/").rpartition("/")[2]
                    self.add({"newest": {row["source"]: (row["last_ns"], name)}})
        elif table == "streams":
            stomp = rows.filter(pc.equal(rows.column("protocol").cast(pa.string()), "stomp"))
            gaps, outer = (
                pc.add(*(pc.fill_null(stomp.column(f"{what}_octets_{way}"), 0) for way in DIRECTIONS)) for what in ("gap", "outer")
            )
            if stomp.num_rows:
                worst = pc.max(gaps).as_py()
                most = (worst, stomp.column("stream_id")[pc.index(gaps, worst).as_py()].as_py()) if worst else (0, "")
                self.add({"octets": pc.sum(outer).as_py(), "lost": pc.sum(gaps).as_py(), "most": most})
