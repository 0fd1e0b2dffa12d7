"""Which incidents a watch says after a round: each once when it begins, and once when it ends.

What a lake has when a watch begins was said before, by the run or the watch that found it; where it is still so, its end is said. An
incident whose first minute is another one by what came late keeps its place: the same kind and subject, at a time that overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Row = Mapping[str, Any]

BEGAN, ENDED = "began", "ended"
FAR_NS = 1 << 63  # behind all times
SAME = ("kind", "subject_kind", "subject", "source", "destination_name")


class IncidentNews:
    """The incidents that were said, by id; `known` are those of the lake when the watch begins."""

    def __init__(self, known: Iterable[Row] = ()) -> None:
        self._known = {row["incident_id"]: row for row in known}

    def of(self, rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
        """What is to be said of the rows of a lake, in their order: that an incident began, or that it ended."""
        rows = list(rows)
        gone = [self._known[one] for one in self._known.keys() - {row["incident_id"] for row in rows}]
        known, self._known = self._known, {row["incident_id"]: row for row in rows}
        for row in rows:
            before = known.get(row["incident_id"]) or next((one for one in gone if _same(one, row)), None)
            if before is None:
                yield BEGAN, row
            elif before["end_ns"] is None and row["end_ns"] is not None:
                yield ENDED, row


def _same(one: Row, other: Row) -> bool:
    """Whether two rows are the same incident at different times."""
    if any(one.get(name) != other.get(name) for name in SAME):
        return False
    ends = [FAR_NS if row["end_ns"] is None else row["end_ns"] for row in (one, other)]
    return bool(one["begin_ns"] <= ends[1] and other["begin_ns"] <= ends[0])
