"""From captures to rows: what the files named bring that the lake has not, taken in as a batch, or what it has, computed again."""

from __future__ import annotations

from collections.abc import Container, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipelines.forgetting import forget
from pipelines.ingest import bronze, capture_points, ledger
from pipelines.ingest.other_protocols import unread
from pipelines.ingest.recorded_options import chosen, differing
from pipelines.ingest.survey import Refused, survey
from pipelines.ingest.unfinished import Unfinished, begin, open_prefixes, partly_in, read_again, unfinished
from pipelines.passes import Pass
from pipelines.recompute import late, reprocess
from pipelines.recompute.abandoned import standing
from pipelines.recompute.old_captures import OldCaptures, of_source
from stompcap.capture import Known, changed
from stompcap.capture.find import find
from stompcap.capture_points import warnings
from stompcap.lake import data_files, removal
from stompcap.lake.open_state import has_states
from stompcap.lake.places import OPEN, open_files

if TYPE_CHECKING:
    import pyarrow as pa

    from pipelines.recompute.reprocess import Wanted
    from stompcap.capture import Survey
    from stompcap.spark.slices import Slice

WHOLE = ("decode", "correlate", "metrics")
"""Stages that a run from captures to metrics does in the same pass as extract."""


class Intake(Pass):
    """The stage extract of a run, whole or on its own."""

    _whole = False
    overtaken = False
    """Whether a batch of later captures went on with open streams first: its rows of them stay."""

    def extract(self, named: Sequence[str], *, whole: bool, wanted: Wanted | None = None) -> None:
        """Captures to bronze; with `whole`, to silver and each session's metrics in the same pass.

        `wanted`: connections of the lake that are computed again then, of the captures named if there are any.
        """
        self._whole = whole
        for batch in unfinished(self.lake):
            self._finish(batch)
        again = self._take_in(named, whole=whole, anew=wanted is not None) if named or wanted is None else []
        if wanted is not None and (again or not named):
            reprocess.reprocess(self, replace(wanted, captures=tuple(again)))

    def _take_in(self, named: Sequence[str], *, whole: bool, anew: bool) -> list[str]:
        """Take in what is new of the files named; the ids of the captures that the lake had. `anew`: their rows do not stay as they are."""
        paths = self._find(named)
        if not paths:
            self.result.warnings.append("no captures found: nothing to do")
            return []
        known = ledger.known(self.lake)
        ids = {row["capture_id"] for row in known}
        found = survey(paths, self.options, known, self.spark, self.progress)
        self.refuse(found.refused)
        self.result.warnings += [f"{path}: empty: nothing to do" for path in found.empty]
        named_again = [again.row | {"path": again.path} for again in found.again]
        for row in named_again:
            self.result.enter(row["path"], row, "known")
        for one in found.captures:
            row, is_new = one.row, bronze.is_new(one, ids)
            if is_new and changed(row, self._before(row["path"], known)):
                says = "is not the file that was read under this name before, or no longer begins so; taken as another capture"
                self.result.warnings.append(f"{row['path']}: {says}")
            self.result.enter(row["path"], row, row["status"] if is_new else "known")
            named_again += [before | {"path": row["path"]} for before in known if before["capture_id"] == row["capture_id"]]
        if named_again and not anew:
            stages = ("extract", *WHOLE) if whole else ("extract",)
            self.result.warnings += differing(chosen(self.options, stages), stages, named_again, self.lake)
        self.result.captures.sort(key=lambda capture: capture["path"] or "")
        new = bronze.ranked(found.captures, ids)
        if new:
            self.admit_captures(new, bronze.before(self.lake, self.options, [*known, *self._begun(known)]), whole=whole)
        return sorted({row["capture_id"] for row in named_again if row["source"] == self.options.source})

    def _begun(self, known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The captures of batches that cannot be finished, as rows: open streams may have their segments, behind those of the others."""
        latest = max((row["last_ns"] or 0 for row in known if row["source"] == self.options.source), default=0)
        return [
            {**capture, "source": self.options.source, "first_ns": latest, "last_ns": latest}
            for batch in unfinished(self.lake)
            if batch.options.source == self.options.source
            for capture in batch.captures
        ]

    def _finish(self, batch: Unfinished) -> None:
        """Take in a batch that a run had begun when it was killed, as that run would have."""
        job = copy(self)
        job.options = batch.options
        if batch.slice is not None:
            reprocess.finish(job, batch)
            return
        known = ledger.known(self.lake)
        captures, wrong = read_again(batch, known)
        held = job.old_captures({capture["capture_id"] for capture in batch.again})
        old = [row for row in held.rows if any(row["capture_id"] == one["capture_id"] for one in batch.again)]
        held.examine(old)
        wrong += [held.reasons([row]) for row in held.missing(old)]
        past = bronze.before(self.lake, batch.options, known, batch.state_version, batch.streams_version)
        if not data_files.exist(file.uri for file in past.files):
            wrong.append("what it went on from is deleted")
        if wrong:
            if some := partly_in(self.lake, batch):
                says = f"was killed while it committed, and only {', '.join(some)} have its rows; to finish it, put these files back"
                self.result.warnings.append(f"run {batch.run_id} {says}: {'; '.join(wrong)}")
            return
        self.result.warnings.append(f"run {batch.run_id} was killed while it committed: what it had begun is finished first")
        job.overtaken = not open_prefixes(self.lake).get(batch.batch_id, ("", True))[1]
        if job.overtaken:
            says = "later captures were taken in before: stompcap run --reprocess completes the connections that were open then"
            self.result.warnings.append(f"run {batch.run_id}: {says}")
        job.admit_captures(bronze.ranked(captures, ()), replace(past, overtaken=job.overtaken), whole=self._whole, old=held)

    def _before(self, path: str, known: Sequence[dict[str, Any]]) -> list[Known]:
        """What the lake has of a file of this path."""
        mine = [row for row in known if (row["path"], row["source"]) == (path, self.options.source)]
        return [Known(row["capture_id"], row["used_octets"], row["used_sha256"]) for row in mine]

    def old_captures(self, allowed: Container[str] | None = None) -> OldCaptures:
        """The captures of the source that the lake has, to be read again; `allowed` are the ids of those that may be."""
        return of_source(self.lake, ledger.known(self.lake), self.options, self.progress, allowed)

    def admit_captures(self, captures: Sequence[Survey], past: bronze.Before, *, whole: bool, old: OldCaptures | None = None) -> None:
        """Take in captures; `old` has those of the lake that may be read again.

        What is left of connections with many packets is the state of all machines: then they are gone through in one pass.
        """
        whole = whole or has_states(past.files)
        outputs = self.outputs(whole=whole)
        inputs = [one.row["capture_id"] for one in captures]
        with self.stage("extract", inputs, within=WHOLE if whole else ()) as rows:
            made = bronze.extract(self.spark, self.lake, captures, past, self.options, outputs, self.progress)

            def once_more(made: bronze.Extracted, anew: bronze.Recomputed) -> bronze.Extracted:
                more = bronze.extract(self.spark, self.lake, made.captures, past, self.options, outputs, self.progress, anew)
                return replace(more, refused=[*made.refused, *more.refused])

            def search(late: Sequence[Survey], chosen: Slice) -> pa.Array:
                return bronze.endpoints(self.spark, late, chosen, self.options)

            found = late.settled(self.lake, made, past, self.options, lambda: old or self.old_captures(), once_more, search)
            made, anew = found.made, found.anew
            self.result.warnings += found.warnings
            inputs[:] = [one.row["capture_id"] for one in made.captures]  # the options of the others are those they are read with later
            self.result.warnings += warnings(made.points)
            if made.captures:
                begin(self.lake, self.result.run_id, made.batch, made.captures, self.options, past, anew.captures if anew else ())
                for table in forget.KEYED if anew and not whole else ():  # stages that come later make the rows of other tables
                    if anew and table not in outputs:
                        removal.remove(self.spark, self.lake, table, anew.gone, self.result.run_id)
                files = [file for file in made.files if not (self.overtaken and file.path.startswith(OPEN))]
                files += standing(self.lake, self.options, found.ended) if len(found.ended) else []
                self.result.begun_anew += len(found.ended)
                prefix = "" if self.overtaken else open_files(self.options)
                self.admit(files, made.batch, rows, outputs, prefix, anew.gone if anew else None)
                entered = capture_points.noted([one.row for one in made.captures], made.points)
                rows["captures"] = ledger.enter(self.lake, entered, made.batch, self.result.run_id)
        self.refuse(made.refused)
        if made.captures:
            self.result.warnings += unread(self.lake, made.batch, self.options.ports, self.spark)
            if whole:
                self.aggregate([made.batch], {})

    def _find(self, named: Sequence[str]) -> list[str]:
        """The files meant; those that do not exist are refused, the rest goes on."""
        return find(named, lambda error: self.refuse([Refused.of(error)]))
