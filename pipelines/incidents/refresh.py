"""Keeps table incidents up to date: made again, from some moment on, where one of the tables that it is made of has changed.

Which events are of an incident is described by what is near in time, so that many runs give what one gives, whatever comes late or goes.
A commit notes the versions of the tables that it was made from.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.incidents.evidence import Frame, find_frames, find_packets
from pipelines.incidents.islands import islands
from pipelines.incidents.kinds import KINDS, MINUTE, TABLES, Kind
from pipelines.incidents.pace import Pace
from pipelines.incidents.possible import possible, questions
from pipelines.incidents.window import DAY_NS, Window, first_change, window
from stompcap.incidents.facts import Facts
from stompcap.incidents.summary import summarise
from stompcap.lake import delta_log, open_tables, query
from stompcap.lake.commits import SOURCE, CommitInfo, replace_files, replace_where
from stompcap.lake.paths import location
from stompcap.tables.incidents import INCIDENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltalake import DeltaTable

Row = dict[str, Any]

TABLE = INCIDENTS.name
OF_KIND = {kind.name: kind for kind in KINDS}
MINUTE_NS = MINUTE * 10**9
TOTALS = "SELECT source, count(*) AS connections FROM streams WHERE protocol = 'stomp' GROUP BY source"
SAME = ("kind", "source", "subject_kind", "subject", "server_product", "what", "begin_ns")


def refresh(lake: str, batches: Sequence[str], run_id: str, pace: Pace) -> int:
    """Bring table incidents up to date under the names of the batches, if they are due; returns the rows written."""
    delta = open_tables.table(location(lake, TABLE))
    versions = {name: open_tables.table(location(lake, name)).version() for name in TABLES}
    recorded = delta_log.transactions(delta)
    info = CommitInfo(run_id, tuple(batches), versions)
    if all(recorded.get(SOURCE + name) == version for name, version in versions.items()):
        replace_files(delta, [], [], info)
        return 0
    if not pace.is_due():
        replace_files(delta, [], [], CommitInfo(run_id, tuple(batches)))  # it names no versions: the next refresh goes on from the last
        return 0
    with pace.timed():
        return _refresh(lake, delta, {name: recorded.get(SOURCE + name) for name in versions}, info)


def _refresh(lake: str, delta: DeltaTable, since: Mapping[str, int | None], info: CommitInfo) -> int:
    held = delta.to_pyarrow_table().select(INCIDENTS.arrow.names).cast(INCIDENTS.arrow)
    again = windows(first_change(lake, since), held)
    rows = pa.concat_tables([part for kinds, begin in again.items() for part in (_before(held, kinds, begin), made(lake, begin, kinds))])
    return replace_where(lake, TABLE, "incident_id", None, rows, info)


def windows(first_ns: int | None, held: pa.Table) -> dict[tuple[Kind, ...], Window | None]:
    """From when on to make the incidents of which kinds again, where the first packet that came is of that time.

    Each kind has its own incidents that last: one that lasts as long as a lake has no other kind made again from its begin on. Those
    that begin on the same day are made together.
    """
    of_day: dict[int | None, list[tuple[Kind, Window | None]]] = defaultdict(list)
    for kind in KINDS:
        since = window(first_ns, held.filter(_of(held, (kind,))))
        of_day[None if since is None else since.begin_ns // DAY_NS].append((kind, since))
    return {tuple(kind for kind, _ in of_one): _earliest(since for _, since in of_one) for of_one in of_day.values()}


def _earliest(windows: Iterable[Window | None]) -> Window | None:
    found = [one for one in windows if one is not None]
    return min(found, key=lambda one: one.begin_ns) if found else None


def _of(held: pa.Table, kinds: Sequence[Kind]) -> pa.ChunkedArray:
    return pc.is_in(held["kind"], pa.array([kind.name for kind in kinds], pa.string()))


def _before(held: pa.Table, kinds: Sequence[Kind], since: Window | None) -> pa.Table:
    """The incidents of these kinds that stay as they are."""
    return held.slice(0, 0) if since is None else held.filter(pc.and_(_of(held, kinds), pc.less(held["begin_ns"], since.begin_ns)))


def made(lake: str, since: Window | None = None, every: Sequence[Kind] = KINDS) -> pa.Table:
    """The incidents of a lake, or those that began in a window.

    However large it is, DuckDB answers, which makes once what several kinds are told by, and has room on the disk; Spark would plan each
    relation anew wherever one is named, and takes a hundred times as long.
    """
    tables = {name: query.all_files(lake, name) for name in TABLES} | (since.parts(lake) if since is not None else {})
    asked = questions(every)
    kinds = possible(every, query.in_process({one.name: tables[one.name] for one in asked}, asked).values())
    if not kinds:
        return INCIDENTS.arrow.empty_table()
    with query.opened(tables) as database:
        totals = dict(database.sql(TOTALS).fetchall())
        found = [row for row in islands(database, tables, kinds).to_pylist() if since is None or row["begin_ns"] >= since.begin_ns]
    rows = [incident(list(samples), totals) for _, samples in groupby(found, lambda row: [row[name] for name in SAME])]
    _with_evidence(lake, rows)
    return pa.Table.from_pylist(rows, schema=INCIDENTS.arrow)


def incident(samples: Sequence[Row], totals: dict[str, int]) -> Row:
    """The row of an incident, by the rows of its first events; `totals` are the connections of each source."""
    first = samples[0]
    of_all = first["events"] / max(totals.get(first["source"], 1), 1) if first["subject_kind"] == "capture" else None
    names = ("kind", "subject_kind", "subject", "source", "begin_ns", "latest_ns", "events", "what", "text", "server_product", "messages",
             "least", "mean", "most", "total", "destination_name", "before", "backlog", "late_s")  # fmt: skip
    facts = Facts(end_ns=first["end_ns"], of_all=of_all, **{name: first[name] for name in names})
    described = summarise(facts)
    streams = list(dict.fromkeys(row["stream_id"] for row in samples if row["stream_id"] is not None))
    return {
        "incident_id": _digest(first), "kind": first["kind"], "subject_kind": first["subject_kind"], "subject": first["subject"],
        "source": first["source"], "destination_name": first["destination_name"], "server_product": first["server_product"],
        "begin_ns": first["begin_ns"],
        "begin_ts": first["begin_ns"] // 1000, "end_ns": _end(first), "level": described.level,
        "confidence": "proven" if described.would_change is None else "likely", "would_change": described.would_change,
        "numbers": [dict(zip(("what", "unit", "before", "during"), one, strict=True)) for one in described.numbers],
        "messages": first["messages"] or 0, "sentence": described.sentence, "streams": streams,
        "frames": [_frame(row) for row in samples if row["stream_id"] is not None], "packets": [],
    }  # fmt: skip


def _digest(row: Row) -> str:
    """The id of an incident: of what it is, whose, and its first minute."""
    names = (*(row[name] or "" for name in SAME[:-1]), str(row["begin_ns"] // MINUTE_NS))
    return hashlib.blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _end(row: Row) -> int | None:
    """When it ended; None where it is still so, as nothing ended it, or the capture ends before it was quiet for as long as usual."""
    end, seen = row["end_ns"], row["seen_ns"]
    if end is None or not OF_KIND[row["kind"]].lasts or seen is None:
        return None if end is None else int(end)
    usual = (row["latest_ns"] - row["begin_ns"]) // max(row["events"] - 1, 1)
    quiet = min(max(3 * usual, MINUTE_NS), row["gap_ns"])
    return None if end + quiet > seen else int(end)


def _frame(row: Row) -> Row:
    """The frame that shows an event: the one that it names, else that of its kind, without an offset as far as it must be looked for."""
    frame = OF_KIND[row["kind"]].frame
    direction, offset = row["direction"], row["stream_offset"]
    if offset is None and frame is not None:
        direction, offset = frame
    return {"stream_id": row["stream_id"], "direction": direction, "stream_offset": offset}


def _with_evidence(lake: str, rows: Iterable[Row]) -> None:
    """Name the packets of the frames, and drop frames that are not known."""
    every = [(row, frame) for row in rows for frame in row["frames"]]
    sought = [frame for _, frame in every if frame["stream_offset"] is None and frame["direction"] is not None]
    found = find_frames(lake, sorted({frame["stream_id"] for frame in sought})) if sought else {}
    for frame in sought:
        if frame["stream_id"] in found:
            error, last = found[frame["stream_id"]]
            frame["direction"], frame["stream_offset"] = ("s2c", error) if frame["direction"] else last
    wanted: dict[Frame, list[Row]] = defaultdict(list)
    for row, frame in every:
        if frame["stream_offset"] is not None:
            wanted[frame["stream_id"], frame["direction"], frame["stream_offset"]].append(row)
    for row, _ in every:
        row["frames"] = [frame for frame in row["frames"] if frame["stream_offset"] is not None]
    for key, packet in find_packets(lake, list(wanted)).items() if wanted else ():
        for row in wanted[key]:
            row["packets"].append(packet)
