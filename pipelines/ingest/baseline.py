"""What a batch goes on from: the rows of open connections that earlier batches left, and the captures that the lake has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stompcap.lake import data_files, open_tables
from stompcap.lake.paths import location, open_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stompcap.lake.data_files import File
    from stompcap.options import Options


@dataclass(frozen=True)
class Baseline:
    """The lake as a batch finds it. It is fixed before the first commit, so that a batch that was killed is finished from the same."""

    version: int
    """Of table stream_state."""

    files: tuple[File, ...] = ()
    """The files of that version that the batch replaces: those of the same source, read by the same rules."""

    captures: tuple[dict[str, Any], ...] = ()
    """The captures of the source that the lake has, rows of table captures."""

    streams_version: int | None = None
    """Of table streams, in which connections are found that are computed again; None for the latest."""

    anew: bool = False
    """Whether all open connections are computed again: a batch that was killed may have left rows of some in some of the tables."""

    raw_files: tuple[File, ...] = ()
    """The files of table raw_frames with rows of open streams, which have octets that table stream_state has not."""

    raw_version: int | None = None
    """The version of that table; None for the latest."""

    superseded: bool = False
    """Whether a batch of later captures has gone on with the open connections already."""

    @property
    def last_ns(self) -> int:
        """The latest capture time of the source."""
        return max((row["last_ns"] or 0 for row in self.captures), default=0)


def baseline(
    lake: str, options: Options, known: Iterable[dict[str, Any]], version: int | None = None, streams_version: int | None = None,
    raw_version: int | None = None,
) -> Baseline:
    """What a batch goes on from, given the captures that the lake has; a version (one of stream_state) is None for the latest."""
    table, raw = (open_tables.table(location(lake, name), at) for name, at in (("stream_state", version), ("raw_frames", raw_version)))
    files, raw_files = ([file for file in data_files.of(one) if file.name.startswith(open_files(options))] for one in (table, raw))
    if streams_version is None:
        streams_version = open_tables.table(location(lake, "streams")).version()
    captures = tuple(row for row in known if row["source"] == options.source)
    return Baseline(table.version(), tuple(files), captures, streams_version, raw_files=tuple(raw_files), raw_version=raw.version())
