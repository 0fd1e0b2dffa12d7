"""Rows of bronze and the frames among them, as Arrow tables, from what the delimiter cut and when it arrived."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from stompcap import stomp
from stompcap.assembly.row_arrivals import RowArrivals
from stompcap.codes import FRAME
from stompcap.columns import I8, I64, Bools, Octets, integers, or_null, timestamps, worded
from stompcap.options import Options
from stompcap.stomp.delimiter_io import Rows
from stompcap.stomp.redact import LOGIN, MASKED, mask_secrets
from stompcap.tables import TABLES, words


@dataclass(frozen=True)
class Lineage:
    """What segment rows are looked up in: times, packets, which capture each came from, and when it was acknowledged."""

    ts_ns: I64
    packet: I64
    capture: I64
    capture_ids: pa.Array
    acked_ns: I64


@dataclass(frozen=True)
class Directions:
    """Per direction of a window: its stream's id, and whether it is the client's (0) or the server's (1)."""

    stream_ids: pa.Array
    side: I8

    def columns(self, direction: I64) -> dict[str, pa.Array]:
        """The key columns of rows of these directions."""
        return {
            "stream_id": self.stream_ids.take(pa.array(direction)),
            "direction": worded(self.side[direction], words.DIRECTIONS),
        }


def constant(value: str, count: int) -> pa.Array:
    """One word, many times."""
    return pa.repeat(pa.scalar(value, pa.string()), count)


def when(segment: I64, lineage: Lineage, which: str) -> dict[str, pa.Array]:
    """Time, capture and packet of segment rows; all null where the row is -1."""
    absent = segment < 0
    at = np.where(absent, 0, segment)
    if lineage.ts_ns.size == 0:
        at = at[:0]
    return {
        f"{which}_ns": pa.array(lineage.ts_ns[at], mask=absent),
        f"{which}_capture_id": lineage.capture_ids.take(pa.array(lineage.capture[at].astype(np.int64), mask=absent)),
        f"{which}_packet": pa.array(lineage.packet[at], mask=absent),
    }


def _acknowledged(segment: I64, lineage: Lineage) -> pa.Array:
    """When segment rows were acknowledged; null where they were not, and where the row is -1."""
    found = np.append(lineage.acked_ns, -1)[segment]
    return pa.array(found, mask=found <= 0)


def raw_column(octets: Octets, position: I64, length: I64) -> pa.ChunkedArray:
    """The octets of rows as BINARY without copying them; null where the position is -1 (a gap).

    Rows that lie end to start in the buffer become one chunk whose values point into it.
    """
    known = position >= 0
    start = np.where(known, position, -1)
    end = np.where(known, position + length, -1)
    if position.size == 0:
        return pa.chunked_array([pa.array([], pa.binary())])
    # a gap points at where the row before it ended
    filled = np.maximum.accumulate(np.where(known, end, 0))
    start = np.where(known, start, np.concatenate(([0], filled[:-1])))
    end = np.where(known, end, start)
    breaks = np.flatnonzero(start[1:] != end[:-1]) + 1
    chunks = []
    for begin, stop in zip([0, *breaks.tolist()], [*breaks.tolist(), position.size], strict=True):
        base = int(start[begin])
        offsets = np.empty(stop - begin + 1, np.int32)
        offsets[:-1] = start[begin:stop] - base
        offsets[-1] = end[stop - 1] - base
        validity = pa.array(known[begin:stop])
        mask = validity.buffers()[1] if not known[begin:stop].all() else None
        data = pa.py_buffer(octets[base : int(end[stop - 1])])
        chunks.append(pa.Array.from_buffers(pa.binary(), stop - begin, [mask, pa.py_buffer(offsets), data]))
    return pa.chunked_array(chunks)


@dataclass(frozen=True)
class RedactedOctets:
    """The octets that tables may hold (secrets are masked unless they are to be kept), whether a row was masked, and its syntax."""

    octets: Octets
    redacted: Bools
    syntax: I64


def redacted_octets(octets: Octets, rows: Rows, options: Options, passcodes: stomp.Passcodes) -> RedactedOctets:
    """Mask these octets; nothing else reaches a table, be it a header, a preview or evidence.

    `passcodes` are what each connection gave as secrets.
    """
    if options.keep_credentials:
        return RedactedOctets(octets, np.zeros(len(rows), bool), rows.syntax)
    secrets = frozenset[bytes]().union(*passcodes.values())
    masked, found = mask_secrets(octets, rows, secrets, stomp.secret_header_names(options.settings.secrets))
    tokens = np.where(found & LOGIN, int(stomp.Syntax.TOKEN_LOGIN), 0)
    return RedactedOctets(masked, (found & MASKED) != 0, rows.syntax | tokens)


def raw_frames(
    view: RedactedOctets, rows: Rows, arrivals: RowArrivals, directions: Directions, lineage: Lineage, batch_id: str
) -> pa.Table:
    """Rows of table raw_frames."""
    at = arrivals.source
    position = np.where(rows.position[at] < 0, -1, rows.position[at] + arrivals.offset - rows.offset[at])
    first, last = when(arrivals.first, lineage, "first"), when(arrivals.last, lineage, "last")
    columns = {
        **directions.columns(rows.direction[at]),
        "stream_offset": pa.array(arrivals.offset),
        "length_octets": pa.array(arrivals.length),
        "kind": worded(rows.kind[at], words.RAW_KINDS),
        "redacted": pa.array(view.redacted[at]),
        "delimited_by": worded(rows.delimited_by[at], words.DELIMITERS),
        **first,
        **last,
        "acked_ns": _acknowledged(arrivals.last, lineage),
        "first_ts": timestamps(integers(first["first_ns"])),
        "first_wire_order": pa.array(arrivals.begin, mask=arrivals.begin == 0),
        "wire_order": pa.array(arrivals.order, mask=arrivals.order == 0),
        "syntax": pa.array(view.syntax[at]),
        "batch_id": constant(batch_id, at.size),
        "raw": raw_column(view.octets, position, arrivals.length),
    }
    return as_table("raw_frames", columns)


def frames(
    view: RedactedOctets,
    rows: Rows,
    raw: pa.Table,
    versions: stomp.Versions,
    options: Options,
) -> pa.Table:
    """Rows of table frames from the raw rows of the same octets; `versions` are per direction."""
    shared = [name for name in TABLES["frames"].arrow.names if name in raw.column_names]
    kept = raw.select([*shared, "redacted"]).filter(pa.compute.equal(raw.column("kind"), words.RAW_KINDS[FRAME]))
    framed = rows.kind == FRAME
    chosen = replace(rows, syntax=view.syntax).take(framed)
    version, source, possible = versions.take(chosen.direction)
    masked = view.redacted[framed] | np.asarray(kept.column("redacted"))
    decoded = stomp.decode(
        view.octets, chosen, version, options.body_preview, options.keep_credentials, masked,
        stomp.secret_header_names(options.settings.secrets),
    )  # fmt: skip
    columns = {name: kept.column(name) for name in shared}
    columns |= _hashes(view.octets, chosen, decoded, masked, options.hash_key)
    columns |= {name: decoded.column(name) for name in decoded.schema.names}
    columns["version"] = worded(version, words.VERSIONS)
    columns["version_source"] = worded(source, words.VERSION_SOURCES)
    columns["possible_versions"] = worded(possible - 1, words.POSSIBLE_VERSIONS)
    return as_table("frames", columns)


def _hashes(octets: Octets, chosen: Rows, decoded: pa.RecordBatch, masked: Bools, key: bytes) -> dict[str, pa.Array]:
    """Hashes of the bodies of frames, and of their contents; null without a key."""
    if not key:
        return {name: pa.nulls(len(chosen), pa.int64()) for name in ("body_hash", "content_hash")}
    begin = chosen.position + chosen.body
    bodies = stomp.body_hashes(octets, begin, chosen.length - chosen.body - 1, masked, key)
    contents = stomp.content_hashes(decoded.column("header"), chosen.command, bodies, masked, key)
    return {"body_hash": or_null(bodies), "content_hash": or_null(contents)}


def as_empty(name: str) -> pa.Table:
    """A table of the lake without rows."""
    return TABLES[name].arrow.empty_table()


def as_table(name: str, columns: dict[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Columns in the order and the types of a table of the lake."""
    schema = TABLES[name].arrow
    return pa.Table.from_arrays([columns[field.name] for field in schema], names=schema.names).cast(schema)
