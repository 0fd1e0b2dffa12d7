"""Counts of captures that were read in this process: the occasions of each side apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.matrix.counts import MOST_OCTETS, Broken, Counts, Judged, Key
from stompcap.matrix.subjects import USER_AGENT, Subjects

Tables = Mapping[str, pa.Table]


def keys_of(tables: Tables, subjects: Subjects) -> dict[str, Key]:
    """By stream the product, and what else tells it from others; sessions without one are left out."""
    agents = _versions(tables["frames"]) if "client_version" in subjects.by else {}
    names = [name for name in subjects.by if name != "client_version"]
    found = {}
    for row in tables["sessions"].select(["stream_id", *names]).to_pylist():
        row["client_version"] = agents.get(row["stream_id"])
        key = tuple(row[name] for name in subjects.by)
        if key[0] is not None:
            found[row["stream_id"]] = key
    return found


def _versions(frames: pa.Table) -> dict[str, str]:
    """By stream the client's version, where its user-agent has one."""
    found: dict[str, str] = {}
    opening = frames.filter(pc.is_in(frames.column("command"), pa.array(["CONNECT", "STOMP"])))
    for row in opening.select(["stream_id", "headers"]).to_pylist():
        for header in row["headers"] or ():
            version = re.search(USER_AGENT, header["value"] or "") if header["name"].lower() == "user-agent" else None
            if version:
                found.setdefault(row["stream_id"], version[1])
    return found


def counted(tables: Tables, paths: Sequence[str], side: str, keys: Mapping[str, Key], protocol: str | None = None) -> Counts:
    """Counts of a side in the tables of `stompcap.checking`; `paths` are those of captures by their ids, `keys` the products by stream.

    `protocol`: of sessions of this version alone.
    """
    found = Counts()
    sessions = {row["stream_id"]: row["version"] for row in tables["sessions"].select(["stream_id", "version"]).to_pylist()}
    mine = {stream: keys[stream] for stream, version in sessions.items() if stream in keys and protocol in (None, version)}
    found.unnamed = sum(stream not in keys for stream in sessions)
    for stream, key in mine.items():
        versions = found.versions.setdefault(key, {})
        versions[sessions[stream]] = versions.get(sessions[stream], 0) + 1
    for row in tables["coverage"].to_pylist():
        judged = row["applicable"] - row["not_evaluable"]
        if row["stream_id"] in mine and row["side"] == side and judged > 0:
            at = row["rule_id"], mine[row["stream_id"]]
            before = found.judged.get(at, Judged(0, 0))
            found.judged[at] = Judged(before.occasions + judged, before.sessions + 1)
    _find(found, tables, paths, side, mine)
    return found


def _find(found: Counts, tables: Tables, paths: Sequence[str], side: str, mine: Mapping[str, Key]) -> None:
    """Add the findings, with the frames that prove the first ones."""
    rows: dict[tuple[str, str, Key], list[dict[str, Any]]] = defaultdict(list)
    for row in tables["compliance_findings"].to_pylist():
        if row["stream_id"] in mine and row["side"] == side:
            rows[row["rule_id"], row["level"], mine[row["stream_id"]]].append(row)
    firsts = {at: min(some, key=_order) for at, some in rows.items()}
    frames = _frames(tables["raw_frames"], {_place(row) for row in firsts.values()})
    for at, some in rows.items():
        first = firsts[at]
        frame = frames.get(_place(first), {})
        raw, capture = frame.get("raw"), frame.get("last_capture_id")
        shown = {
            "raw": None if raw is None else raw[:MOST_OCTETS], "packet": frame.get("last_packet"),
            "capture": None if capture is None else paths[int(capture)],
        }  # fmt: skip
        found.broken[at] = Broken(len(some), len({row["stream_id"] for row in some}), {**first, **shown})


def _order(row: Mapping[str, Any]) -> tuple[int, str, str, int, str]:
    return row["ts_ns"] or 0, row["stream_id"], row["direction"], row["stream_offset"], row["evidence"] or ""


def _place(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["stream_id"], row["direction"], row["stream_offset"]


def _frames(raw: pa.Table, wanted: set[tuple[str, str, int]]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The rows of raw_frames at these places."""
    streams = pa.array(sorted({stream for stream, _, _ in wanted}), pa.string())
    some = raw.filter(pc.is_in(raw.column("stream_id"), streams))
    places = zip(*(some.column(name).to_pylist() for name in ("stream_id", "direction", "stream_offset")), strict=True)
    at = {place: row for row, place in reversed([*enumerate(places)]) if place in wanted}
    columns = some.select(["raw", "last_packet", "last_capture_id"])
    return {place: columns.slice(row, 1).to_pylist()[0] for place, row in at.items()}
