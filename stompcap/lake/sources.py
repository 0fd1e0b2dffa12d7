"""The capture sources of a lake. Figures are summed up for each by itself, as the lake has a connection twice that two sources see."""

from __future__ import annotations

from stompcap.errors import UsageError
from stompcap.lake import open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location
from stompcap.visible import visible

MOST = 5
"""Sources that are summed up where none is named."""


def names(lake: str) -> list[str]:
    """The sources that a lake has captures of, in order."""
    if not open_tables.is_there(location(lake, "captures")):
        return []
    return sorted(lakes.small(lake, "captures", ["source"]).column("source").unique().to_pylist())


def selected(lake: str, source: str | None = None) -> list[str | None]:
    """The sources that a lake is summed up by: the one named, else all; a single None where it has no more than one.

    Raises UsageError for a source that the lake has nothing of.
    """
    held = names(lake)
    if source is not None and source not in held:
        raise UsageError(f"{lake}: has no captures of --source {source}; it has: {', '.join(map(visible, held)) or 'none'}")
    if len(held) < 2:
        return [None]
    return [source] if source is not None else list(held)
