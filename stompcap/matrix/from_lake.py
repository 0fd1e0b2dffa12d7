"""Counts of a lake, by DuckDB in this process: what is added up there is a few rows for each rule and product.

Table compliance has the occasions of both sides together where a rule is about both, so these are `shared`.
"""

# ruff: noqa: S608  the SQL is put together from this file's own words

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stompcap.lake import query
from stompcap.matrix.counts import MOST_OCTETS, Broken, Counts, Judged, Key
from stompcap.matrix.subjects import USER_AGENT, Subjects
from stompcap.rules.catalogue import BY_ID

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLES = ("sessions", "streams", "frames", "raw_frames", "compliance", "compliance_findings", "captures")
AGENT = f"""
SELECT stream_id, min(nullif(regexp_extract(
    list_filter(headers, h -> lower(h.name) = 'user-agent')[1].value, '{USER_AGENT}', 1), '')) AS agent
FROM frames WHERE command IN ('CONNECT', 'STOMP') GROUP BY stream_id"""
FIRST = (
    "arg_min({stream_id: t.stream_id, direction: t.direction, stream_offset: t.stream_offset, ts_ns: t.ts_ns, evidence: t.evidence}, "
    "(coalesce(t.ts_ns, 0), t.stream_id, t.direction, t.stream_offset, coalesce(t.evidence, '')))"
)
FRAMES = """
SELECT w.number, any_value(r.raw), any_value(r.last_packet), any_value(c.path) FROM wanted w
JOIN raw_frames r ON r.stream_id = w.stream_id AND r.direction = w.direction AND r.stream_offset = w.stream_offset
LEFT JOIN captures c ON c.capture_id = r.last_capture_id WHERE list_contains(?, r.stream_id) GROUP BY w.number"""
PLACE = ("stream_id", "direction", "stream_offset")


def counted(lake: str, subjects: Subjects, protocol: str | None = None, source: str | None = None) -> Counts:
    """Counts of a side in a lake; of sessions of one version of the protocol, or of one capture point, where it is named."""
    with query.opened({name: query.all_files(lake, name) for name in TABLES}) as database:
        _select(database, subjects, protocol, source)
        keys = ", ".join(f"k{number}" for number in range(len(subjects.by)))
        found = Counts()
        for *key, version, number in _rows(database, f"SELECT {keys}, version, count(*) FROM mine WHERE k0 IS NOT NULL GROUP BY ALL"):
            found.versions.setdefault(tuple(key), {})[version] = number
        found.unnamed = _rows(database, "SELECT count(*) FROM mine WHERE k0 IS NULL")[0][0]
        for rule, judged, sessions, *key in _rows(database, (
            f"SELECT t.rule_id, CAST(sum(t.applicable - t.not_evaluable) AS BIGINT), count_if(t.applicable > t.not_evaluable), {keys} "
            "FROM compliance t JOIN mine m ON m.stream_id = t.stream_id WHERE k0 IS NOT NULL GROUP BY ALL"
        )):  # fmt: skip
            if judged > 0 and (rule not in BY_ID or BY_ID[rule].side in (subjects.side, "both")):
                found.judged[rule, tuple(key)] = Judged(judged, sessions, shared=rule in BY_ID and BY_ID[rule].side == "both")
        for rule, level, findings, sessions, first, *key in _rows(database, (
            f"SELECT t.rule_id, t.level, count(*), count(DISTINCT t.stream_id), {FIRST}, {keys} FROM compliance_findings t "
            f"JOIN mine m ON m.stream_id = t.stream_id WHERE k0 IS NOT NULL AND t.side = '{subjects.side}' GROUP BY ALL"
        )):  # fmt: skip
            found.broken[rule, level, tuple(key)] = Broken(findings, sessions, {**first, "rule_id": rule, "level": level})
    return found


def prove(lake: str, found: Counts, keys: set[Key]) -> None:
    """Add the frames that prove the first findings of these products."""
    wanted = [broken.first for (_, _, key), broken in found.broken.items() if key in keys]
    with query.opened({name: query.all_files(lake, name) for name in ("raw_frames", "captures")}) as database:
        places = {name: [first[name] for first in wanted] for name in PLACE}
        database.register("wanted", pa.table({"number": pa.array(range(len(wanted)), pa.int64()), **places}))
        found_at = database.execute(FRAMES, [sorted({first["stream_id"] for first in wanted})]).fetchall() if wanted else []
        for number, raw, packet, path in found_at:
            wanted[number].update(raw=None if raw is None else bytes(raw[:MOST_OCTETS]), packet=packet, capture=path)


def _select(database: DuckDBPyConnection, subjects: Subjects, protocol: str | None, source: str | None) -> None:
    """Make table `mine`: the sessions that are compared, with what tells products apart."""
    columns = ["a.agent" if name == "client_version" else f"s.{name}" for name in subjects.by]
    agents = f"LEFT JOIN ({AGENT}) a ON a.stream_id = s.stream_id" if "client_version" in subjects.by else ""
    where = " AND ".join([
        *(["s.version = ?"] if protocol else []), *(["s.stream_id IN (SELECT stream_id FROM streams WHERE source = ?)"] if source else []),
    ])  # fmt: skip
    named = ", ".join(f"{column} AS k{number}" for number, column in enumerate(columns))
    chosen = database.execute(
        f"SELECT s.stream_id, s.version, {named} FROM sessions s {agents} {'WHERE ' + where if where else ''}",
        [value for value in (protocol, source) if value],
    ).to_arrow_table()
    database.register("mine", chosen if isinstance(chosen, pa.Table) else chosen.read_all())


def _rows(database: DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return database.execute(sql).fetchall()
