"""The stage extract of a run, whole or on its own: a batch is made of what the files named bring that the lake has not.

Batches that a killed run left unfinished come first. Connections that are to be computed again come last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipelines.forgetting import forget
from pipelines.ingest import capture_pairs, ledger
from pipelines.ingest.baseline import Baseline, baseline, latest
from pipelines.ingest.extract import extract, outputs
from pipelines.ingest.open_rows import of_pass
from pipelines.ingest.other_protocols import not_read
from pipelines.ingest.ranks import is_new, ranked
from pipelines.ingest.recorded_options import differing, given_options
from pipelines.ingest.survey import related, sizes_here, survey
from pipelines.ingest.unfinished import Unfinished, begin, examined_again, latest_unfinished, open_prefixes, taken_back, unfinished
from pipelines.metrics.aggregates import aggregate
from pipelines.recompute import reprocess
from pipelines.recompute.old_captures import OldCaptures, of_source
from pipelines.recompute.second_pass import reconciled
from pipelines.result import Refused
from stompcap.capture import Known, changed
from stompcap.capture.find import find
from stompcap.capture_point_warnings import warnings
from stompcap.lake import data_files, removal
from stompcap.lake import tables as lakes
from stompcap.lake.open_state import has_states
from stompcap.lake.paths import OPEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.job import Job
    from pipelines.recompute.reprocess import Wanted
    from stompcap.capture import Survey

WHOLE = ("decode", "correlate", "metrics")
"""Stages that a run from captures to metrics does in the same pass as extract."""


def intake(job: Job, named: Sequence[str], *, whole: bool, wanted: Wanted | None = None) -> None:
    """Captures to bronze; with `whole`, to silver and each session's metrics in the same pass.

    `wanted`: connections of the lake that are computed again then, of the captures named if there are any.
    """
    for batch in unfinished(job.lake):
        _finish(job, batch, whole=whole)
    held = _ingest(job, named, whole=whole, rows_stay=wanted is None) if named or wanted is None else []
    if wanted is not None and (held or not named):
        reprocess.reprocess(job, replace(wanted, captures=tuple(held)))
    forget.forget_later(job)


def _ingest(job: Job, named: Sequence[str], *, whole: bool, rows_stay: bool) -> list[str]:
    """Make a batch of the new ones of the files named; returns the ids of the captures among them that the lake had.

    `rows_stay`: the rows of these stay as they are, of which a warning tells where the options differ.
    """
    result = job.result
    paths = find(named, lambda error: job.refuse([Refused.of(error)]))
    if not paths:
        result.warnings.append("no captures found: nothing to do")
        return []
    asked = sizes_here(paths)
    before = related(job.lake, paths, asked)
    found = survey(paths, job.options, before, job.spark, job.progress)
    sizes = {one.row["size_octets"] for one in found.captures} - asked  # as of those on an object store
    known = [*before, *(ledger.known_as(job.lake, (), sizes) if sizes else ())]
    by_id = {row["capture_id"]: row for row in known}
    by_path = _known_by_path(job, known)
    job.refuse(found.refused)
    result.warnings += [f"{path}: empty: nothing to do" for path in found.empty]
    held = [one.row | {"path": one.path} for one in found.known]
    for row in held:
        result.enter(row["path"], row, "known")
    entered = set(by_id)  # a second file of the same octets is known by the first
    for one in found.captures:
        row, new = one.row, is_new(one, entered)
        entered.add(row["capture_id"])
        if new and changed(row, by_path.get(row["path"], ())):
            says = "is not the file that was read under this name before, or no longer begins so; taken as another capture"
            result.warnings.append(f"{row['path']}: {says}")
        result.enter(row["path"], row, row["status"] if new else "known")
        held += [by_id[row["capture_id"]] | {"path": row["path"]}] if row["capture_id"] in by_id else []
    if held and rows_stay:
        stages = ("extract", *WHOLE) if whole else ("extract",)
        result.warnings += differing(given_options(job.options, stages), stages, held, job.lake)
    result.captures.sort(key=lambda capture: capture["path"] or "")
    if batch := ranked(found.captures, by_id):
        _ingest_batch(job, batch, _goes_on_from(job), whole=whole)
    return sorted({row["capture_id"] for row in held if row["source"] == job.options.source})


def _known_by_path(job: Job, known: Sequence[dict[str, Any]]) -> dict[str, list[Known]]:
    """What the lake has of the files of the job's source, by their paths."""
    found: dict[str, list[Known]] = {}
    for row in known:
        if row["source"] == job.options.source:
            found.setdefault(row["path"], []).append(Known(row["capture_id"], row["used_octets"], row["used_sha256"]))
    return found


def _goes_on_from(job: Job) -> Baseline:
    """What a batch goes on from. One that was killed may have changed raw_frames and not stream_state: then it is what that had."""
    killed, more = latest_unfinished(job.lake, job.options), _of_unfinished(job)
    found = baseline(job.lake, job.options, more=more)
    if killed and not lakes.has_committed(job.lake, "stream_state", killed.batch_id):
        before = baseline(job.lake, job.options, raw_version=killed.raw_version, more=more)
        found = before if data_files.exist(file.uri for file in before.raw_files) else found
    return replace(found, anew=killed is not None)


def _of_unfinished(job: Job) -> list[dict[str, Any]]:
    """The captures of batches that cannot be finished, as rows: open streams may have their segments, behind those of the others."""
    source = job.options.source
    captures = [capture for batch in unfinished(job.lake) if batch.options.source == source for capture in batch.captures]
    last_ns = latest(ledger.of_source(job.lake, source)) if captures else 0
    return [{**capture, "source": source, "first_ns": last_ns, "last_ns": last_ns} for capture in captures]


def _finish(job: Job, batch: Unfinished, *, whole: bool) -> None:
    """Finish a batch that a run had begun when it was killed, as that run would have; where its files are gone, a warning says so."""
    warn = job.result.warnings.append
    job = job.with_options(batch.options)
    if batch.slice is not None:
        reprocess.finish(job, batch)
        return
    known = ledger.known(job.lake)
    captures, missing = examined_again(batch, known)
    names = {capture["capture_id"] for capture in batch.reread}
    old = of_source(job, known, names)
    reread = [row for row in old.rows if row["capture_id"] in names]
    old.examine(reread)
    missing += [old.reasons([row]) for row in old.missing(reread)]
    before = baseline(job.lake, batch.options, batch.state_version, batch.streams_version, batch.raw_version)
    if not data_files.exist(file.uri for file in (*before.files, *before.raw_files)):
        missing.append("what it went on from is deleted")
    if missing:
        if some := taken_back(job.lake, batch, job.result.run_id):
            says = f"was killed while it committed, and only {', '.join(some)} have its rows; to finish it, put these files back"
            warn(f"run {batch.run_id} {says}: {'; '.join(missing)}")
        return
    warn(f"run {batch.run_id} was killed while it committed: what it had begun is finished first")
    superseded = not open_prefixes(job.lake).get(batch.batch_id, ("", True))[1]
    if superseded:
        says = "later captures were taken in before: stompcap run --reprocess completes the connections that were open then"
        warn(f"run {batch.run_id}: {says}")
    _ingest_batch(job, ranked(captures, ()), replace(before, superseded=superseded, anew=batch.anew), whole=whole, old=old)


def _ingest_batch(job: Job, captures: Sequence[Survey], before: Baseline, *, whole: bool, old: OldCaptures | None = None) -> None:
    """Make a batch of captures and commit it; `old` are the captures of the lake that may be read again, all by default.

    A saved state of an open connection is one of all machines: where there is one, the batch goes through all stages in one pass.
    """
    whole = whole or has_states(before.files)
    tables = outputs(job, whole=whole)
    inputs = [one.row["capture_id"] for one in captures]
    with job.stage("extract", inputs, within=WHOLE if whole else ()) as rows:
        first = extract(job, captures, before, tables)
        found = reconciled(job, first, before, tables, old)
        made, recomputed = found.extracted, found.recomputed
        job.result.warnings += [*found.warnings, *warnings(made.points)]
        inputs[:] = [one.row["capture_id"] for one in made.captures]  # the options of the others are those they are read with later
        if made.captures:
            begin(job, made.batch, made.captures, before, recomputed.captures if recomputed else ())
            for table in forget.KEYED if recomputed and not whole else ():  # stages that come later make the rows of other tables
                if recomputed and table not in tables:
                    removal.remove(job.spark, job.lake, table, recomputed.removed, job.result.run_id)
            files = [file for file in made.files if not (before.superseded and file.path.startswith(OPEN))]
            job.result.abandoned += len(found.abandoned)
            open_rows = None if before.superseded else of_pass(job, made, found.abandoned, before)
            job.commit(files, made.batch, rows, tables, open_rows, recomputed.removed if recomputed else None)
            entered = capture_pairs.with_pairs([one.row for one in made.captures], made.points)
            rows["captures"] = ledger.enter(job.lake, entered, made.batch, job.result.run_id)
    job.refuse(made.refused)
    if made.captures:
        job.result.warnings += not_read(job.lake, made.batch, job.options.ports, job.spark)
        if whole:
            aggregate(job, [made.batch], {})
