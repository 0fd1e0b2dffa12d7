"""Captures that come late: with packets from before the latest packet that their source has had.

Segments of connections that are still open are brought into the order of time; those of many packets are beyond that
(`pipelines.recompute.unresumable`), and a connection that the lake has as final may be contradicted. Both are computed again together with
the late packets, in the same batch, if their captures can be read. So are connections that the batch has once more
(`pipelines.recompute.duplicates`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.bronze import Before, Extracted, Recomputed, SpoiltError
from pipelines.recompute import connection_groups
from pipelines.recompute.connection_groups import NO_CONNECTIONS
from pipelines.recompute.duplicates import pairs, seen_twice
from pipelines.recompute.unresumable import NONE, few_octets, of_others, overtaken
from stompcap.lake import data_files, open_tables, removal
from stompcap.lake.data_files import File, Files
from stompcap.lake.places import filesystem, location, open_files
from stompcap.units import count

if TYPE_CHECKING:
    from pipelines.recompute.connection_groups import Connections
    from pipelines.recompute.old_captures import OldCaptures
    from stompcap.capture import Survey
    from stompcap.lake.places import DataFile
    from stompcap.options import Options
    from stompcap.spark.slices import Slice

TWICE = "stream_id IN (SELECT stream_id FROM twins)"
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


@dataclass(frozen=True)
class Doubts:
    """What may be wrong in a batch: rows of captures that came late, open connections that were overtaken, others that are seen twice."""

    late: Sequence[dict[str, Any]]
    passed: pa.Table
    twins: pa.Table

    def __bool__(self) -> bool:
        return bool(self.late) or self.reads_more

    @property
    def reads_more(self) -> bool:
        """Whether captures are read again that no late one contradicts."""
        found: bool = self.passed.num_rows + self.twins.num_rows > 0
        return found


def settled(
    lake: str, made: Extracted, past: Before, options: Options, old_captures: Callable[[], OldCaptures],
    extract: Callable[[Extracted, Recomputed], Extracted], search: Callable[[Sequence[Survey], Slice], pa.Array],
) -> Settled:
    """Resolve what a batch that was extracted says against the lake.

    `extract` makes the batch once more, with connections computed again; nothing is committed. `old_captures` gives the source's captures,
    `search` the endpoints of chosen segments of captures.
    """
    late = [one.row for one in made.captures if one.row["first_ns"] is not None and one.row["first_ns"] <= past.last_ns]
    new, open_streams, final = _streams(lake, made, past, options)
    twins, passed = seen_twice(new, [*open_streams, *final], options.source), NONE
    if not past.overtaken:
        opened = Files.of(STREAMS, open_streams)
        passed = overtaken(made.captures, past, opened, new, twins, search, {*made.lost, *made.unread})
    doubts = Doubts(late, passed, twins)
    if not doubts and not made.lost and not made.unread:
        return Settled(made)
    captures, anew, lost, unread = old_captures(), None, made.lost, pa.array(list(made.unread), pa.binary())
    while True:
        can, cannot, again = _computable(lake, made, past, captures, doubts)
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
        says += [_why_not(cannot, len(twice.ids), captures)] if late or passed.num_rows else []  # of others `pairs` are told
    brought = f"{_named(late)}: came late" if late else _named([one.row for one in made.captures])
    warnings += [f"{brought}; {'; '.join(says)}"] if says else []
    apart = _left_apart(doubts, can)
    points = [*made.points, *pairs(apart, past.captures, [one.row for one in made.captures])]
    return Settled(replace(made, points=points), anew, tuple(warnings), ended)


def _left_apart(doubts: Doubts, can: Connections) -> pa.Table:
    """Those that are seen twice and stand in the lake twice: final ones and states of busy ones that are not computed again."""
    twins = doubts.twins
    others = pc.or_(twins.column("final"), pc.is_in(twins.column("stream_id"), value_set=doubts.passed.column("stream_id")))
    return twins.filter(pc.and_(others, pc.invert(pc.is_in(twins.column("stream_id"), value_set=can.before.column("stream_id")))))


def _begun_anew(number: int, lost: Mapping[bytes, str]) -> str:
    """What is said of open connections that nothing can go on with."""
    which = "an open connection of many packets" if number == 1 else f"{count(number)} open connections of many packets"
    return f"{which} cannot go on from the state that another version left ({min(lost.values())}): {LOST}"


def _computable(
    lake: str, made: Extracted, past: Before, captures: OldCaptures, doubts: Doubts
) -> tuple[Connections, Connections, pa.Table]:
    """What is in doubt and can be computed again, and what cannot; and which open connections (`overtaken`) are among the former.

    What that would read too much for goes on as it is, and so does what has captures that are gone.
    """
    while True:
        if not doubts:
            return NO_CONNECTIONS, NO_CONNECTIONS, doubts.passed
        found = contradicted(lake, made, doubts, past, captures.options)
        needed = found.overlapping(captures.rows)
        if doubts.reads_more and not few_octets(needed):
            doubts = Doubts(doubts.late, NONE, doubts.twins.slice(0, 0))
            continue
        captures.examine(needed)
        can, cannot = found.split(captures.missing(needed))
        rest = of_others(doubts.passed, cannot.before.column("stream_id").combine_chunks())
        if rest.num_rows == doubts.passed.num_rows:
            return can, cannot, doubts.passed
        doubts = replace(doubts, passed=rest)


def _why_not(cannot: Connections, twice: int, captures: OldCaptures) -> str:
    """What becomes of connections whose captures are gone, `twice` of which the lake has already."""
    missing = captures.missing(cannot.overlapping(captures.rows))
    says = "it has packets of connections that the lake has as final and cannot compute again, as captures are not there: "
    says += f"{captures.reasons(missing)}; {count(len(cannot) - cannot.before.num_rows - twice)} stand as connections of their own"
    return says + (f", {count(twice)} that the lake has already are left out" if twice else "")


def _streams(lake: str, made: Extracted, past: Before, options: Options) -> tuple[Files, list[File], list[File]]:
    """The files of table streams: of the batch; with the rows of open connections; the others; these with bounds of their times."""
    where = location(lake, STREAMS)
    files = data_files.of(open_tables.table(where, past.streams_version), ["first_ns", "last_ns"])
    mine = [file for file in files if file.name.startswith(open_files(options))]
    new = tuple(f"{where}/{file.path}" for file in made.files if file.table == STREAMS)
    return Files(STREAMS, new), mine, [file for file in files if file not in mine]


def contradicted(lake: str, made: Extracted, doubts: Doubts, past: Before, options: Options) -> Connections:
    """Groups of connections with some of the lake that the batch does not replace, and some of the batch from when a capture was late.

    And those of which it has some twice. `doubts.passed` are rows of connections that the batch replaces, which are computed again all
    the same.
    """
    new, _, final = _streams(lake, made, past, options)
    late, again, twins = doubts.late, doubts.passed, doubts.twins
    times = {name: pa.array([row[column] for row in late], pa.int64()) for name, column in (("since", "first_ns"), ("until", "last_ns"))}
    sources = connection_groups.named(options.source)
    tables = {"new_streams": new, "open_streams": again, "sources": sources, "late": pa.table(times), "twins": twins}
    begin = pc.min(pa.concat_arrays([times["since"], *again.column("first_ns").chunks, *twins.column("first_ns").chunks])).as_py()
    end = pc.max(pa.concat_arrays([times["until"], *again.column("last_ns").chunks, *twins.column("last_ns").chunks])).as_py()
    mine: list[File] = []
    found = None
    while True:
        window = (begin - options.idle_ns, end + options.idle_ns + 1)
        near = data_files.overlapping(final, ["first_ns", "last_ns"], [window], timeless=window[0] <= 0)
        if found is not None and len(near) == len(mine):
            return found
        mine = near
        lives = tables | {STREAMS: Files.of(STREAMS, mine)}
        found = connection_groups.together(lives, TWICE, options.idle_ns, came=WITHIN, both=True)
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
