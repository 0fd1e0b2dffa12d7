"""A damaged lake repaired: made readable, and what it lost by that computed again from the captures that are there.

A mark beside the tables (`stompcap.lake.damage.MARK`) says from before the first change until the end what was lost. A repair that was
killed is begun again by it. What is computed again goes the way of `stompcap run --reprocess`.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

from pipelines.forgetting.forget import KEYED
from pipelines.ingest import extract, ledger
from pipelines.ingest.unfinished import all_begun, examined_again
from pipelines.locking import lock
from pipelines.metrics import gold
from pipelines.metrics.aggregates import forget_sources, refresh_all
from pipelines.recompute import old_captures, reprocess
from pipelines.recompute.reprocess import Wanted
from pipelines.validation.validate import validate
from stompcap.errors import EnvironmentProblem
from stompcap.lake import damage, mending, open_tables, stores
from stompcap.lake import tables as lakes
from stompcap.lake.batch_options import as_json, from_json
from stompcap.lake.damage import Damage
from stompcap.lake.mending import Lost
from stompcap.lake.paths import filesystem, location
from stompcap.options import Options
from stompcap.tables import TABLES
from stompcap.units import count, counted
from stompcap.version import version

if TYPE_CHECKING:
    from pipelines.job import Job

SUMMED = (*(one.name for one in gold.AGGREGATES), gold.JOURNEYS, "rules", gold.INCIDENTS)
"""Tables that are made of others."""

CAPTURES = TABLES["captures"].arrow
MARGIN_NS = 10**6
"""Bounds in statistics are rounded to milliseconds."""

EVERY_TIME = Wanted(since_ns=-1 << 62, until_ns=1 << 62)
"""All connections that table streams has, and no others."""

HISTORY = ("runs", "quality_results")
"""Tables that nothing can be computed again for."""


@dataclass
class Repaired:
    """What a repair found and did: what was damaged, what was lost for good as sentences, and whether the lake was changed."""

    damaged: list[Damage] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    changed: bool = False


def repair(job: Job, *, dry_run: bool, wait_s: float = 0) -> Repaired:
    """Repair the job's lake; with `dry_run` only find what is damaged, and which captures are gone that it would need.

    Raises LakeBusy; EnvironmentProblem where there is no lake.
    """
    if dry_run:
        return _repair(job, dry_run=True)
    with lock.held(job.lake, wait_s, job.progress):
        return _repair(job, dry_run=False)


def _repair(job: Job, *, dry_run: bool) -> Repaired:
    job.progress.begin("looking for damage")
    with stores.explained(job.lake):
        damaged = damage.examined(job.lake)
        before = _marked(job.lake)
    if not damaged and before is None:
        lakes.demand(job.lake)
        return Repaired()
    if not any(open_tables.is_there(location(job.lake, name)) for name in TABLES) and before is None:
        raise EnvironmentProblem(f"{job.lake}: nothing of it can be read; make another lake: stompcap run CAPTURE... --lake OTHER")
    found = Repaired([*(before.damaged if before else ()), *(one for one in damaged if before is None or one not in before.damaged)])
    if dry_run:
        found.lost = [f"{one} loses {_rows(one.rows)}" for one in found.damaged]
        return found
    found.changed = True
    mark = _Mark(found.damaged, list(before.lost if before else ()))
    _write(job.lake, mark)
    with open_tables.keep_open(job.lake):
        job.progress.begin("making the tables readable")
        mark.lost += mending.mend(job.lake, list(dict.fromkeys(one.table for one in found.damaged)), job.result.run_id)
        _write(job.lake, mark)
        found.lost = _recompute(job, mark.lost)
        validate(job, whole=True)
    system, path = filesystem(location(job.lake, damage.MARK))
    system.delete_file(path)
    return found


@dataclass
class _Mark:
    """What the mark of a repair says."""

    damaged: list[Damage]
    lost: list[Lost]


def _marked(lake: str) -> _Mark | None:
    """What the mark of a repair that has not ended says; None where there is none. One that is cut says that all may be lost."""
    system, path = filesystem(location(lake, damage.MARK))
    if system.get_file_info(path).type == fs.FileType.NotFound:
        return None
    with system.open_input_stream(path) as stream:
        text = stream.read()
    try:
        says = json.loads(text)
        return _Mark([Damage(**one) for one in says["damaged"]], [Lost(**one) for one in says["lost"]])
    except (ValueError, KeyError, TypeError):
        return _Mark([], [Lost(name, None) for name in TABLES])


def _write(lake: str, mark: _Mark) -> None:
    """Write the mark: what is lost is known again by it, whatever the tables say by then."""
    system, path = filesystem(location(lake, damage.MARK))
    text = json.dumps({"damaged": [asdict(one) for one in mark.damaged], "lost": [asdict(one) for one in mark.lost]}, default=str)
    with system.open_output_stream(path) as stream:
        stream.write(text.encode())


def _recompute(job: Job, lost: Sequence[Lost]) -> list[str]:
    """Compute again what tables have lost; sentences on what cannot be had again."""
    says = [f"{one.table}: what it said of earlier runs is lost ({_rows(one.rows)})" for one in lost if one.table in HISTORY]
    tables = {one.table for one in lost}
    forget_sources(job.lake, job.result.run_id)
    if "batches" in tables:
        says += _batches(job)
    if "runs" in tables and "streams" in tables:
        says.append("whether connections were forgotten is not known: those that table streams has lost are not computed again")
    whole = tables & {"batches", "captures", "streams"} or any(one.all_of_it for one in lost if one.table in KEYED)
    says += _captures(job)
    sources = sorted({row["source"] for row in ledger.known(job.lake)})
    if tables - {*HISTORY, *SUMMED}:
        for source in sources:
            says += _source(job, source, [one for one in lost if one.table in KEYED], whole=bool(whole), new_flows="runs" not in tables)
        _enter(job, tables)
    with job.stage("repair", sorted(tables)) as rows:
        refresh_all(job.with_options(_options(job.lake, sources[0]) if sources else job.options), [], rows)
    return says


def _source(job: Job, source: str, lost: Iterable[Lost], *, whole: bool, new_flows: bool) -> list[str]:
    """Compute the connections of a source again that may have lost rows; `new_flows`: also those that table streams does not have."""
    options = _options(job.lake, source)
    of_source = job.with_options(options)
    captures = old_captures.of_source(of_source, ledger.known(job.lake))
    times = [_ns(time) for one in lost if not one.all_of_it for time in (one.begin, one.end)]
    wanted = Wanted() if whole or not times else Wanted(since_ns=min(times) - MARGIN_NS, until_ns=max(times) + MARGIN_NS + 1)
    if whole and not new_flows:
        wanted = EVERY_TIME
    needed = [row for row in captures.rows if not wanted.kinds or _during(row, wanted)]
    captures.examine(needed)
    reprocess.reprocess(of_source, wanted)
    if missing := captures.missing(needed):
        return [f"rows of source {source} that came from captures which cannot be read are lost for good: {captures.reasons(missing)}"]
    return []


def _during(row: dict[str, Any] | Any, wanted: Wanted) -> bool:
    """Whether a capture has packets of a time."""
    if row["first_ns"] is None or wanted.since_ns is None or wanted.until_ns is None:
        return True
    return bool(row["first_ns"] < wanted.until_ns and row["last_ns"] >= wanted.since_ns)


def _ns(value: Any) -> int:
    """A bound of a column of times, as the mark has it too, in nanoseconds."""
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1) * 1000
    return int(value)


def _options(lake: str, source: str) -> Options:
    """The options by which the latest batch of a source was made."""
    rows = sorted(lakes.small(lake, "batches", ["begun_ts", "options"]).to_pylist(), key=lambda row: row["begun_ts"])
    found = [options for row in rows if (options := from_json(row["options"])).source == source]
    return found[-1] if found else Options(source)


def _captures(job: Job) -> list[str]:
    """Enter the captures of batches that table captures has lost, or that a killed run had begun to commit, where they are there."""
    says, run_id = [], job.result.run_id
    held = set(lakes.small(job.lake, "captures", ["capture_id"]).column("capture_id").to_pylist())
    for batch in all_begun(job.lake):
        lost = [one for one in batch.captures if one["capture_id"] not in held] if batch.slice is None else []
        captures, missing = examined_again(replace(batch, captures=lost), ledger.known(job.lake)) if lost else ([], [])
        says += [f"a capture of the lake is lost for good: {why}" for why in missing]
        rows = pa.Table.from_pylist([{**one.row, "batch_id": batch.batch_id, "run_id": run_id} for one in captures], schema=CAPTURES)
        if len(rows):
            lakes.append(job.lake, "captures", rows, [f"{run_id}:{batch.batch_id}"], run_id)
        lakes.commit(job.lake, "captures", [], [batch.batch_id], run_id)
    return says


def _batches(job: Job) -> list[str]:
    """Enter the batches that table batches has lost, by the captures of the lake; with default options, for nobody knows others."""
    held = set(lakes.small(job.lake, "batches", ["batch_id"]).column("batch_id").to_pylist())
    lost: dict[str, list[dict[str, Any]]] = {}
    for row in ledger.known(job.lake):
        if row["batch_id"] not in held:
            lost.setdefault(row["batch_id"], []).append(row)
    if not lost:
        return []
    rows = [
        {
            "batch_id": batch, "run_id": job.result.run_id, "begun_ts": ledger.now(), "options": as_json(Options(captures[0]["source"])),
            "captures": [{name: row[name] for name in ("capture_id", "path", "size_octets")} for row in captures],
            "tool_version": version(), "again": [],
        }
        for batch, captures in lost.items()
    ]  # fmt: skip
    lakes.append(job.lake, "batches", pa.Table.from_pylist(rows, schema=TABLES["batches"].arrow), sorted(lost), job.result.run_id)
    return [f"the options of {count(len(lost))} batch{'es' if len(lost) > 1 else ''} are lost: all was computed with the defaults"]


def _enter(job: Job, tables: Iterable[str]) -> None:
    """Enter what the lake's batches brought into the tables that lost commits, for it was computed again under another name."""
    names = sorted({row["batch_id"] for row in ledger.known(job.lake)})
    for table in {*extract.TABLES, *(table for table in tables if table in KEYED)}:
        if lacking := lakes.lacking(job.lake, table, frozenset(names)):
            lakes.commit(job.lake, table, [], sorted(lacking), job.result.run_id)


def _rows(number: int | None) -> str:
    if number is None:
        return "it is not known how many rows"
    return counted(number, "row")

