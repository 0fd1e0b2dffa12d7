"""Captures that come late: with packets from before the latest packet that their source has had.

What concerns connections that are still open is right, as segments are brought into the order of time. A connection that the lake has as
final may be contradicted: then it is computed again together with the late packets, in the same batch, if its captures can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipelines import connection_groups
from pipelines.bronze import Before, Extracted, Recomputed, SpoiltError
from stompcap.spark import data_files, open_tables, removal
from stompcap.spark.data_files import File, Files
from stompcap.spark.open_state import has_states
from stompcap.spark.places import filesystem, location, open_files
from stompcap.units import count

if TYPE_CHECKING:
    from pipelines.connection_groups import Connections
    from pipelines.old_captures import OldCaptures
    from stompcap.options import Options
    from stompcap.spark.places import DataFile

WITHIN = "EXISTS (SELECT 1 FROM late WHERE first_ns <= late.until AND last_ns >= late.since)"
STREAMS = "streams"
BUSY = "open connections of many packets took its packets as the latest; stompcap run --reprocess computes them from their captures"


@dataclass(frozen=True)
class Settled:
    """A batch in which nothing contradicts the lake; the connections that it computes again, if any; a warning."""

    made: Extracted
    anew: Recomputed | None = None
    warning: str | None = None


def settled(
    lake: str, made: Extracted, past: Before, old_captures: Callable[[], OldCaptures], extract: Callable[[Extracted, Recomputed], Extracted]
) -> Settled:
    """Resolve what a batch that was extracted says against the lake.

    `extract` makes the batch once more, with connections computed again; nothing is committed. `old_captures` gives the source's captures.
    """
    late = [one.row for one in made.captures if one.row["first_ns"] is not None and one.row["first_ns"] <= past.last_ns]
    if not late:
        return Settled(made)
    options = old_captures().options
    found = contradicted(lake, made.files, late, past, options)
    says = f"{_named(late)}: came late; {BUSY}" if has_states(past.files) else None
    if not len(found):
        return Settled(made, warning=says)
    captures, anew = old_captures(), None
    while True:
        needed = found.overlapping(captures.rows)
        captures.examine(needed)
        missing = captures.missing(needed)
        can, cannot = found.split(missing)
        if not len(can):
            break
        anew = Recomputed(can.streams, captures.surveys(can.overlapping(captures.rows)), can.segments)
        try:
            again = extract(made, anew)
        except SpoiltError as error:
            captures.spoil(error.why)
            anew = None
            continue
        discard(lake, made.files)
        made = again
        break
    if not len(cannot):
        return Settled(made, anew, says)
    twice = _twice(cannot)
    files = [file for one in made.files if (file := without(lake, one, twice)) is not None] if len(twice.ids) else made.files
    stand = len(cannot) - cannot.before.num_rows - len(twice.ids)
    says = f"{says}; " if says else ""
    says += f"{_named(late)}: came late, with packets of connections that the lake has as final and cannot compute again, as captures are "
    says += f"not there: {captures.reasons(missing)}; {count(stand)} stand as connections of their own"
    says += f", {count(len(twice.ids))} that the lake has already are left out" if len(twice.ids) else ""
    return Settled(Extracted(made.batch, made.captures, files, made.refused), anew, says)


def contradicted(lake: str, files: Sequence[DataFile], late: Sequence[dict[str, Any]], past: Before, options: Options) -> Connections:
    """Groups of connections with some of the lake that the batch does not replace, and some of the batch from when a capture was late."""
    where = location(lake, STREAMS)
    table = open_tables.table(where)
    if past.streams_version not in (None, table.version()):
        table = DeltaTable(where, version=past.streams_version)
    held = [file for file in data_files.of(table, ["first_ns", "last_ns"]) if not file.name.startswith(open_files(options))]
    new = Files(STREAMS, tuple(f"{where}/{file.path}" for file in files if file.table == STREAMS))
    times = {name: pa.array([row[column] for row in late], pa.int64()) for name, column in (("since", "first_ns"), ("until", "last_ns"))}
    tables = {"new_streams": new, "sources": connection_groups.named(options.source), "late": pa.table(times)}
    begin, end = pc.min(times["since"]).as_py(), pc.max(times["until"]).as_py()
    mine: list[File] = []
    found = None
    while True:
        window = (begin - options.idle_ns, end + options.idle_ns + 1)
        near = data_files.overlapping(held, ["first_ns", "last_ns"], [window], timeless=False)
        if found is not None and len(near) == len(mine):
            return found
        mine = near
        found = connection_groups.together(tables | {STREAMS: Files.of(STREAMS, mine)}, "false", options.idle_ns, came=WITHIN, both=True)
        if not mine or not len(found):
            return found
        begin, end = min(begin, pc.min(found.rows.column("first_ns")).as_py()), max(end, pc.max(found.rows.column("last_ns")).as_py())


def _named(captures: Sequence[dict[str, Any]], most: int = 3) -> str:
    """Captures by their paths, for people."""
    paths = sorted(row["path"] for row in captures)
    return ", ".join(paths[:most]) + (f" and {count(len(paths) - most)} more" if len(paths) > most else "")


def _twice(found: Connections) -> removal.Streams:
    """The ids that stand both in the lake and in the batch."""
    new = found.rows.filter(found.rows.column("came")).column("stream_id")
    ids = new.filter(pc.is_in(new, value_set=found.before.column("stream_id"))).combine_chunks()
    return removal.Streams(ids.cast(pa.string()).sort(), None)


def without(lake: str, file: DataFile, streams: removal.Streams) -> DataFile | None:
    """A file that no commit names yet without the rows of some streams; None where no other row is in it."""
    held = File(file.path, f"{location(lake, file.table)}/{file.path}", file.size, file.rows, 0, {})
    rewritten = removal.without(lake, file.table, held, streams)
    if not rewritten.removed:
        return file
    discard(lake, [file])
    return rewritten.made


def discard(lake: str, files: Sequence[DataFile]) -> None:
    """Delete files that no commit will name."""
    for file in files:
        system, folder = filesystem(location(lake, file.table))
        system.delete_file(f"{folder}/{file.path}")
