"""Captures that come late: with packets from before the latest packet that their source has had.

Segments of connections that are still open are brought into the order of time; those of many packets are beyond that
(`pipelines.overtaken`), and a connection that the lake has as final may be contradicted. Both are computed again together with the late
packets, in the same batch, if their captures can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines import connection_groups
from pipelines.bronze import Before, Extracted, Recomputed, SpoiltError
from pipelines.connection_groups import NO_CONNECTIONS
from pipelines.overtaken import NONE, few_octets, of_others, overtaken
from stompcap.lake import data_files, open_tables, removal
from stompcap.lake.data_files import File, Files
from stompcap.lake.places import filesystem, location, open_files
from stompcap.units import count

if TYPE_CHECKING:
    from pipelines.connection_groups import Connections
    from pipelines.old_captures import OldCaptures
    from stompcap.capture import Survey
    from stompcap.lake.places import DataFile
    from stompcap.options import Options
    from stompcap.spark.slices import Slice

WITHIN = "EXISTS (SELECT 1 FROM late WHERE first_ns <= late.until AND last_ns >= late.since)"
STREAMS = "streams"
LOST = "what they had so far stays, and what comes is of connections of their own; stompcap run --reprocess computes them whole, with all "
LOST += "their captures in place"
UNKEPT = " shows STOMP only now: what it said before was not kept, cannot be read again, and is a gap"
UNKEPTS = "s show STOMP only now: what they said before was not kept, cannot be read again, and is a gap"
BUSY = "of many packets took its packets as the latest; stompcap run --reprocess computes such connections from their captures"


@dataclass(frozen=True)
class Settled:
    """A batch in which nothing contradicts the lake; the connections that it computes again, if any; warnings.

    `ended`: open streams whose state could not be taken up and that are not computed again. Nothing goes on with them.
    """

    made: Extracted
    anew: Recomputed | None = None
    warnings: tuple[str, ...] = ()
    ended: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))


def settled(
    lake: str, made: Extracted, past: Before, old_captures: Callable[[], OldCaptures],
    extract: Callable[[Extracted, Recomputed], Extracted], search: Callable[[Sequence[Survey], Slice], pa.Array],
) -> Settled:
    """Resolve what a batch that was extracted says against the lake.

    `extract` makes the batch once more, with connections computed again; nothing is committed. `old_captures` gives the source's captures,
    `search` the endpoints of chosen segments of captures.
    """
    late = [one.row for one in made.captures if one.row["first_ns"] is not None and one.row["first_ns"] <= past.last_ns]
    if not late and not made.lost and not made.unread:
        return Settled(made)
    captures, anew, lost, unread = old_captures(), None, made.lost, pa.array(list(made.unread), pa.binary())
    open_streams = _open_streams(lake, past, captures.options)
    passed = NONE if past.overtaken else overtaken(made.captures, past, open_streams, search, {*lost, *made.unread})
    while True:
        can, cannot, again = _computable(lake, made, late, past, captures, passed)
        if not len(can):
            break
        anew = Recomputed(can.streams, captures.surveys(can.overlapping(captures.rows)), can.segments)
        try:
            once_more = extract(made, anew)
        except SpoiltError as error:
            captures.spoil(error.why)
            anew = None
            continue
        discard(lake, made.files)
        made = once_more
        break
    left = passed.filter(pc.invert(pc.is_in(passed.column("stream_id"), value_set=again.column("stream_id").combine_chunks())))
    unkept = left.filter(pc.is_in(left.column("endpoints"), value_set=unread)).num_rows
    left = left.filter(pc.invert(pc.is_in(left.column("endpoints"), value_set=unread)))
    without_state = pc.is_in(left.column("endpoints"), value_set=pa.array(list(lost), pa.binary()))
    ended = left.filter(without_state).column("stream_id").combine_chunks()
    warnings, says = [_begun_anew(len(ended), lost)] if len(ended) else [], []
    warnings += [f"{count(unkept)} connection{UNKEPT if unkept == 1 else UNKEPTS}"] if unkept else []
    if busy := left.num_rows - len(ended):
        says.append(f"{count(busy)} open connection{'s' if busy > 1 else ''} {BUSY}")
    if len(cannot):
        twice = _twice(cannot)
        files = [file for one in made.files if (file := without(lake, one, twice)) is not None] if len(twice.ids) else made.files
        made = replace(made, files=files)
        says.append(_why_not(cannot, len(twice.ids), captures))
    warnings += [f"{_named(late)}: came late; {'; '.join(says)}"] if says else []
    return Settled(made, anew, tuple(warnings), ended)


def _begun_anew(number: int, lost: Mapping[bytes, str]) -> str:
    """What is said of open connections that nothing can go on with."""
    which = "an open connection of many packets" if number == 1 else f"{count(number)} open connections of many packets"
    return f"{which} cannot go on from the state that another version left ({min(lost.values())}): {LOST}"


def _computable(
    lake: str, made: Extracted, late: Sequence[dict[str, Any]], past: Before, captures: OldCaptures, passed: pa.Table
) -> tuple[Connections, Connections, pa.Table]:
    """What is contradicted and can be computed again, and what cannot; and which rows of `passed` (`overtaken`) are among the former.

    What that would read too much for goes on as it is, and so does what has captures that are gone.
    """
    again = passed
    while True:
        if not late and not again.num_rows:
            return NO_CONNECTIONS, NO_CONNECTIONS, again
        found = contradicted(lake, made.files, late, past, captures.options, again)
        needed = found.overlapping(captures.rows)
        if again.num_rows and not few_octets(needed):
            again = NONE
            continue
        captures.examine(needed)
        can, cannot = found.split(captures.missing(needed))
        rest = of_others(again, cannot.before.column("stream_id").combine_chunks())
        if rest.num_rows == again.num_rows:
            return can, cannot, again
        again = rest


def _why_not(cannot: Connections, twice: int, captures: OldCaptures) -> str:
    """What becomes of connections whose captures are gone, `twice` of which the lake has already."""
    missing = captures.missing(cannot.overlapping(captures.rows))
    says = "it has packets of connections that the lake has as final and cannot compute again, as captures are not there: "
    says += f"{captures.reasons(missing)}; {count(len(cannot) - cannot.before.num_rows - twice)} stand as connections of their own"
    return says + (f", {count(twice)} that the lake has already are left out" if twice else "")


def _open_streams(lake: str, past: Before, options: Options) -> Files:
    """The files of table streams with the rows of open connections."""
    held = data_files.of(open_tables.table(location(lake, STREAMS), past.streams_version))
    return Files.of(STREAMS, [file for file in held if file.name.startswith(open_files(options))])


def contradicted(
    lake: str, files: Sequence[DataFile], late: Sequence[dict[str, Any]], past: Before, options: Options, again: pa.Table
) -> Connections:
    """Groups of connections with some of the lake that the batch does not replace, and some of the batch from when a capture was late.

    `again` are rows of connections that the batch replaces, which are computed again all the same.
    """
    where = location(lake, STREAMS)
    files_then = data_files.of(open_tables.table(where, past.streams_version), ["first_ns", "last_ns"])
    held = [file for file in files_then if not file.name.startswith(open_files(options))]
    new = Files(STREAMS, tuple(f"{where}/{file.path}" for file in files if file.table == STREAMS))
    times = {name: pa.array([row[column] for row in late], pa.int64()) for name, column in (("since", "first_ns"), ("until", "last_ns"))}
    tables = {"new_streams": new, "open_streams": again, "sources": connection_groups.named(options.source), "late": pa.table(times)}
    begin = pc.min(pa.concat_arrays([times["since"], *again.column("first_ns").chunks])).as_py()
    end = pc.max(pa.concat_arrays([times["until"], *again.column("last_ns").chunks])).as_py()
    mine: list[File] = []
    found = None
    while True:
        window = (begin - options.idle_ns, end + options.idle_ns + 1)
        near = data_files.overlapping(held, ["first_ns", "last_ns"], [window], timeless=window[0] <= 0)
        if found is not None and len(near) == len(mine):
            return found
        mine = near
        found = connection_groups.together(tables | {STREAMS: Files.of(STREAMS, mine)}, "false", options.idle_ns, came=WITHIN, both=True)
        if not (mine or again.num_rows) or not len(found):
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
