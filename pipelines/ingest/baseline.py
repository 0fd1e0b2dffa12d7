"""What a batch goes on from: the rows of open connections that earlier batches left, and the captures that the lake has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest import ledger
from stompcap.lake import data_files, open_tables
from stompcap.lake.paths import location, open_files
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stompcap.lake.data_files import File
    from stompcap.options import Options


@dataclass(frozen=True)
class Baseline:
    """The lake as a batch finds it. It is fixed before the first commit, so that a batch that was killed is finished from the same."""

    version: int
    """Of table stream_state."""

    files: tuple[File, ...] = ()
    """The files of that version that the batch replaces: those of the same source, read by the same rules."""

    captures: pa.Table = field(default_factory=lambda: as_captures(()))
    """The captures of the source that the lake has, by the columns OF_SOURCE of pipelines.ingest.ledger."""

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
        return latest(self.captures)


def as_captures(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows of table captures as a baseline has them."""
    return pa.Table.from_pylist(list(rows), schema=pa.schema([TABLES["captures"].arrow.field(name) for name in ledger.OF_SOURCE]))


def latest(captures: pa.Table) -> int:
    """The latest time of captures; 0 where they have none."""
    return pc.max(captures.column("last_ns")).as_py() or 0


def baseline(
    lake: str, options: Options, version: int | None = None, streams_version: int | None = None, raw_version: int | None = None,
    more: Sequence[Mapping[str, Any]] = (),
) -> Baseline:
    """What a batch goes on from, `more` captures than the lake has included; a version (one of stream_state) is None for the latest."""
    table, raw = (open_tables.table(location(lake, name), at) for name, at in (("stream_state", version), ("raw_frames", raw_version)))
    files, raw_files = ([file for file in data_files.of(one) if file.name.startswith(open_files(options))] for one in (table, raw))
    if streams_version is None:
        streams_version = open_tables.table(location(lake, "streams")).version()
    captures = [ledger.of_source(lake, options.source), *([as_captures(more)] if more else ())]
    known = pa.concat_tables(captures, promote_options="permissive")
    return Baseline(table.version(), tuple(files), known, streams_version, raw_files=tuple(raw_files), raw_version=raw.version())
