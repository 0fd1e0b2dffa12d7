"""Captures of two points that have one source, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stompcap.units import count, share
from stompcap.visible import visible

Pair = tuple[Mapping[str, Any], Mapping[str, Any], int]
"""Two rows of table captures, first that of which the rows are, and how many packets both have."""

MOST = 5  # pairs that are named one by one
APART = "give each a --source"


def warning(first: Mapping[str, Any], other: Mapping[str, Any], packets: int, mend: str = APART) -> str:
    """That two captures are of two points, in words, and what mends that; of no `packets`: these could not be compared."""
    if not packets:
        alike = "they have the same connections at different times, which stand in the lake twice, as packets could not be compared"
        return f"{visible(first['path'])} and {visible(other['path'])} seem to be captured at two points: {alike}; {mend}"
    segments = max(min(first.get("tcp_segments") or packets, other.get("tcp_segments") or packets), packets)
    part = f"{count(packets)} TCP segments ({share(packets, segments)} of the smaller file) are in both, at different times"
    gives = f"the connections in both are taken as {visible(first['path'])} has them, and what the other has of them counts as duplicates"
    return f"{visible(first['path'])} and {visible(other['path'])} were captured at two points: {part}; {gives}; {mend}"


def warnings(pairs: Sequence[Pair], mend: str = APART) -> list[str]:
    """A line for each pair, where there are not too many."""
    most = sorted(pairs, key=lambda pair: -pair[2])
    more = [f"and {count(len(most) - MOST)} more pairs of captures of two points"] if len(most) > MOST else []
    return [*(warning(*pair, mend) for pair in most[:MOST]), *more]
