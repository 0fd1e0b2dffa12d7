"""Extracts a batch that contradicts the lake once more, together with the connections of the lake that are computed again.

The first pass shows which connections are computed again. Their captures must be readable: if they are gone, or too large to read
without being asked, the rows of the first pass stay, and the run says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest import ledger
from pipelines.ingest.extract import Recomputed, RereadError, extract
from pipelines.recompute.connection_groups import NO_CONNECTIONS, Connections
from pipelines.recompute.contradictions import Contradictions, contradicted, contradictions
from pipelines.recompute.duplicates import pairs
from pipelines.recompute.old_captures import OldCaptures, of_source
from stompcap.lake import removal
from stompcap.lake.data_files import File
from stompcap.lake.paths import filesystem, location
from stompcap.units import count, counted

if TYPE_CHECKING:
    from pipelines.ingest.baseline import Baseline
    from pipelines.ingest.extract import Extracted
    from pipelines.job import Job
    from stompcap.lake.paths import DataFile

REREAD_OCTETS = 1 << 30
"""Octets of captures that a run reads again at most without being asked; `stompcap run --reprocess` reads more."""

ABANDONED = "what they had so far stays, and what comes is of connections of their own; stompcap run --reprocess computes them whole, with "
ABANDONED += "all their captures in place"
NOT_KEPT = "STOMP only now: what {} said before was not kept, cannot be read again, and is a gap"
AS_LATEST = "of many packets took its packets as the latest; stompcap run --reprocess computes such connections from their captures"


@dataclass(frozen=True)
class Reconciled:
    """A batch in which nothing contradicts the lake."""

    extracted: Extracted
    recomputed: Recomputed | None = None
    """The connections that it computes again, if any."""

    warnings: tuple[str, ...] = ()
    abandoned: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    """Open streams whose state could not be resumed and that are not computed again: no later run goes on with them."""


@dataclass(frozen=True)
class Plan:
    """Which of the connections that a batch contradicts are computed again."""

    can: Connections
    """Their captures are there."""

    cannot: Connections
    """Their captures are gone."""

    unresumable: pa.Table
    """The open connections that are computed again, rows of table streams."""


def reconciled(
    job: Job, made: Extracted, baseline: Baseline, outputs: Sequence[str], captures: OldCaptures | None = None
) -> Reconciled:
    """The batch as it was extracted if it contradicts nothing, else as a second pass extracts it. Nothing is committed.

    `captures` are those of the source that may be read again, all by default.
    """
    found = contradictions(job, made, baseline)
    if not found and not made.unresumed and not made.recognised_late:
        return Reconciled(made)
    captures = captures or of_source(job, ledger.known(job.lake))
    plan, recomputed, second = _second_pass(job, made, baseline, outputs, captures, found)
    left = _without(found.unresumable, "stream_id", plan.unresumable.column("stream_id").combine_chunks())
    late_stomp = pa.array(list(made.recognised_late), pa.binary())
    gaps = left.filter(pc.is_in(left.column("endpoints"), value_set=late_stomp)).num_rows
    left = _without(left, "endpoints", late_stomp)
    of_lost_state = pc.is_in(left.column("endpoints"), value_set=pa.array(list(made.unresumed), pa.binary()))
    abandoned = left.filter(of_lost_state).column("stream_id").combine_chunks()
    warnings, says = [_abandoned(len(abandoned), made.unresumed)] if len(abandoned) else [], []
    warnings += [_not_kept(gaps)] if gaps else []
    if others := left.num_rows - len(abandoned):
        says.append(f"{counted(others, 'open connection')} {AS_LATEST}")
    if len(plan.cannot):
        twice = _in_both(plan.cannot)
        if len(twice.ids):
            second = replace(second, files=[file for one in second.files if (file := without(job.lake, one, twice)) is not None])
        if found.late or found.unresumable.num_rows:  # of others the pairs of captures say it
            says.append(_why_not(plan.cannot, len(twice.ids), captures))
    rows = [one.row for one in second.captures]
    brought = f"{_named(found.late)}: came late" if found.late else _named(rows)
    warnings += [f"{brought}; {'; '.join(says)}"] if says else []
    points = [*second.points, *pairs(_left_apart(found, plan.can), baseline.captures, rows)]
    return Reconciled(replace(second, points=points), recomputed, tuple(warnings), abandoned)


def _second_pass(
    job: Job, made: Extracted, baseline: Baseline, outputs: Sequence[str], captures: OldCaptures, found: Contradictions
) -> tuple[Plan, Recomputed | None, Extracted]:
    """Extract the batch together with what is computed again; the batch is left as it was made if nothing is.

    Captures at which a task fails count as gone from then on, so that less is computed again.
    """
    while len((plan := _plan(job, made, baseline, captures, found)).can):
        recomputed = Recomputed(plan.can.streams, captures.surveys(plan.can.overlapping(captures.rows)), plan.can.segments)
        try:
            second = extract(job, made.captures, baseline, outputs, recomputed)
        except RereadError as error:
            captures.exclude(error.why)
            continue
        discard(job.lake, made.files)
        return plan, recomputed, replace(second, refused=[*made.refused, *second.refused])
    return plan, None, made


def _plan(job: Job, made: Extracted, baseline: Baseline, captures: OldCaptures, found: Contradictions) -> Plan:
    """Decide what is computed again: connections that have all their captures, if these are not too large to read."""
    while found:
        groups = contradicted(job, made, baseline, found)
        needed = groups.overlapping(captures.rows)
        if found.reads_more and not few_octets(needed):
            found = found.late_ones
            continue
        captures.examine(needed)
        can, cannot = groups.split(captures.missing(needed))
        fewer = found.without_flows_of(cannot.before.column("stream_id").combine_chunks())
        if fewer.unresumable.num_rows == found.unresumable.num_rows:
            return Plan(can, cannot, found.unresumable)
        found = fewer
    return Plan(NO_CONNECTIONS, NO_CONNECTIONS, found.unresumable)


def few_octets(captures: Sequence[Mapping[str, Any]]) -> bool:
    """Whether captures, rows of table captures, are so small that a run reads them again without being asked."""
    octets: int = sum(row["size_octets"] for row in captures)
    return octets <= REREAD_OCTETS


def _without(rows: pa.Table, column: str, values: pa.Array) -> pa.Table:
    """The rows whose column has none of these values."""
    return rows.filter(pc.invert(pc.is_in(rows.column(column), value_set=values)))


def _left_apart(found: Contradictions, can: Connections) -> pa.Table:
    """The duplicates that stay in the lake twice: final connections, and open ones of many packets, that are not computed again."""
    rows = found.duplicates
    others = pc.or_(rows.column("final"), pc.is_in(rows.column("stream_id"), value_set=found.unresumable.column("stream_id")))
    return _without(rows.filter(others), "stream_id", can.before.column("stream_id").combine_chunks())


def _in_both(found: Connections) -> removal.Streams:
    """The streams that both the lake and the batch have."""
    new = found.rows.filter(found.rows.column("came")).column("stream_id")
    ids = new.filter(pc.is_in(new, value_set=found.before.column("stream_id"))).combine_chunks()
    return removal.Streams(ids.cast(pa.string()).sort(), None)


def _abandoned(number: int, why: Mapping[bytes, str]) -> str:
    """The warning about open connections that cannot go on."""
    which = "an open connection of many packets" if number == 1 else f"{count(number)} open connections of many packets"
    return f"{which} cannot go on from the state that another version left ({min(why.values())}): {ABANDONED}"


def _not_kept(number: int) -> str:
    """The warning about connections that show STOMP late."""
    if number == 1:
        return f"1 connection shows {NOT_KEPT.format('it')}"
    return f"{count(number)} connections show {NOT_KEPT.format('they')}"


def _why_not(cannot: Connections, twice: int, captures: OldCaptures) -> str:
    """Why connections are not computed again, and what becomes of them; the lake already has `twice` of them."""
    missing = captures.missing(cannot.overlapping(captures.rows))
    says = "it has packets of connections that the lake has as final and cannot compute again, as captures are not there: "
    says += f"{captures.reasons(missing)}; {count(len(cannot) - cannot.before.num_rows - twice)} stand as connections of their own"
    return says + (f", {count(twice)} that the lake has already are left out" if twice else "")


def _named(captures: Sequence[Mapping[str, Any]], most: int = 3) -> str:
    """Captures by their paths, for people."""
    paths = sorted(row["path"] for row in captures)
    return ", ".join(paths[:most]) + (f" and {count(len(paths) - most)} more" if len(paths) > most else "")


def without(lake: str, file: DataFile, streams: removal.Streams) -> DataFile | None:
    """Take the rows of some streams out of a file that no commit names yet: the new file, or None if no row is left."""
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
