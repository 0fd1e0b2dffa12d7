"""Rows of table stream_state: segments that later runs reassemble again, and the states of machines, which are octets in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.assembly.resume.octets import KeptOctets
from stompcap.assembly.resume.raw_places import octets_of
from stompcap.assembly.rows import as_table, constant
from stompcap.capture.segment_columns import KEPT, NEW, NOT_KEPT, SEGMENTS, STATE
from stompcap.capture.still_there import header_begins, still_there
from stompcap.columns import I8, I64, Bools, coded, column, worded
from stompcap.tables import TABLES, words
from stompcap.tcp.block import fixed_rows

HEADERS = (
    "packet", "ts_ns", "flow", "endpoints", "forward", "seq", "ack", "flags", "ip_id", "ttl", "wire_octets", "captured_octets",
    "bad_checksum",
)  # fmt: skip
RENAMED = {"window": "window_size", "outer": "layers", "file_offset": "place"}  # names in the table
RawFrames = Callable[[pa.Array], Iterable[pa.Table]]
PIECE_OCTETS = 1 << 16
NO_PIECE = -1
LIFE = ("last_ns", "some_open")
PLACE = ("stream_offset", "direction")


def of_segments(
    kept: KeptOctets, rows: I64, stream_ids: pa.Array, role: I8, capture_ids: pa.Array, source: str,
    more: Mapping[str, pa.Array] | None = None,
) -> pa.Table:
    """Rows of table stream_state for these rows of `kept.segments`, ascending: of each its stream's id, and the role of its sender.

    `more` has the columns that tell when their flows are over, and where their octets stand in raw_frames.
    """
    chosen = kept.segments if len(rows) == kept.segments.num_rows else kept.segments.take(pa.array(rows))
    file_offset = column(chosen, "file_offset")
    columns = {name: chosen.column(name) for name in HEADERS} | {other: chosen.column(name) for name, other in RENAMED.items()}
    columns |= {
        "stream_id": stream_ids,
        "source": constant(source, len(rows)),
        "capture_id": capture_ids.take(chosen.column("capture").combine_chunks()),
        "place": pa.array(np.where(file_offset >= 0, file_offset, NO_PIECE)),
        "role": worded(np.where(kept.held[rows], -1, role), words.ROLES),
        "payload": kept.payload(rows),
        "pieces": pa.nulls(len(rows), pa.int32()),
    }
    columns |= more or {name: pa.nulls(len(rows)) for name in (*LIFE, *PLACE)}
    return as_table("stream_state", columns)


def segments_of(rows: pa.Table, order: Mapping[str, int], paths: Sequence[str], raw: RawFrames = lambda _: ()) -> pa.Table:
    """Rows of table stream_state as segments of a run; pieces of states come as rows that are STATE.

    Segments whose captures are still where they were are read there again. The others carry the octets that were kept, or that rows of
    raw_frames have, which `raw` gives by the ids of their streams; an octet that is nowhere is missing. `order` are the ranks of the
    captures, by id, and `paths` their files by rank. Rows may be of an older version.
    """
    rows = TABLES["stream_state"].now(rows)
    pieces = pc.is_valid(rows.column("pieces"))
    if pc.any(pieces).as_py():
        of_states, rest = rows.filter(pieces), rows.filter(pc.invert(pieces))
        return pa.concat_tables([_pieces(of_states), segments_of(rest, order, paths, raw)])
    named = rows.column("capture_id").combine_chunks().dictionary_encode()
    capture = pa.array([order.get(name) for name in named.dictionary.to_pylist()], pa.int32()).take(named.indices)
    file_offset, captured = (column(rows, name) for name in ("place", "captured_octets"))
    endpoints = fixed_rows(rows.column("endpoints"), 36)
    headers = header_begins(endpoints, *(column(rows, name) for name in ("forward", "seq", "ack")))
    there = np.zeros(rows.num_rows, np.bool_)
    for rank in pc.unique(capture).to_pylist():
        mine = np.flatnonzero(capture.to_numpy() == rank)
        there[mine] = still_there(paths[rank], file_offset[mine], captured[mine], headers[mine])
    role = coded(rows.column("role"), words.ROLES)
    payload = _with_raw_frames(rows, ~there, raw)
    missing = ~there & (role < 0) & payload.is_null().to_numpy(zero_copy_only=False)
    columns = {
        "capture": capture,
        "captured_octets": pa.array(np.where(missing, 0, captured)),
        "file_offset": pa.array(np.where(there, file_offset, -1)),
        "earlier": pa.array(np.where(there, NEW, np.where(role < 0, KEPT, NOT_KEPT + role)).astype(np.int8)),
        "payload": pc.if_else(pa.array(there), pa.scalar(None, pa.binary()), payload),
    }
    columns |= {name: rows.column(RENAMED.get(name, name)) for name in SEGMENTS.names if name not in columns}
    return pa.table([columns[name] for name in SEGMENTS.names], names=SEGMENTS.names).cast(SEGMENTS)


def _with_raw_frames(rows: pa.Table, wanted: Bools, raw: RawFrames) -> pa.Array:
    """The payload of rows; of those `wanted` whose octets are in raw_frames it is what that table has."""
    payload = rows.column("payload").combine_chunks()
    lacking = pc.and_(pa.array(wanted), rows.column("stream_offset").is_valid()).combine_chunks()
    if not pc.any(lacking).as_py():
        return payload
    some = rows.filter(lacking)
    return pc.replace_with_mask(payload, lacking, octets_of(some, raw(pc.unique(some.column("stream_id")))))


def of_state(octets: bytes, stream_ids: Sequence[str], capture_id: str, source: str, last: Mapping[str, object]) -> pa.Table:
    """The state of a flow's machines as rows of table stream_state, in pieces.

    Each of its connections has a piece at least, for what is deleted of one makes the state useless. `last` has the columns of the
    flow's last segment, and those that tell when it is over.
    """
    count = max(-(-len(octets) // PIECE_OCTETS), len(stream_ids))
    numbers = np.arange(count)
    payload = [octets[number * PIECE_OCTETS : (number + 1) * PIECE_OCTETS] for number in range(count)]
    zero = {field.name: pa.array(np.zeros(count)).cast(field.type) for field in TABLES["stream_state"].arrow if _is_number(field.type)}
    columns = zero | {name: pa.array([last[name]] * count) for name in ("ts_ns", "flow", "endpoints", "forward", *LIFE)}
    columns |= {
        "stream_id": pa.array([stream_ids[number % len(stream_ids)] for number in range(count)], pa.string()),
        "source": constant(source, count),
        "capture_id": constant(capture_id, count),
        "packet": pa.array(numbers),
        "captured_octets": pa.array([len(piece) for piece in payload]),
        "place": pa.array(np.full(count, NO_PIECE)),
        "role": pa.nulls(count, pa.string()),
        **{name: pa.nulls(count) for name in PLACE},
        "payload": pa.array(payload, pa.binary()),
        "pieces": pa.array(np.full(count, count)),
    }
    return as_table("stream_state", columns)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _pieces(rows: pa.Table) -> pa.Table:
    """Rows of pieces as rows of SEGMENTS, which come before all segments of their flow; `seq` is how many there are."""
    columns = {name: rows.column(RENAMED.get(name, name)) for name in SEGMENTS.names if name not in ("capture", "earlier")}
    columns["capture"] = pa.array(np.full(rows.num_rows, -1))
    columns["earlier"] = pa.array(np.full(rows.num_rows, STATE))
    columns["seq"] = rows.column("pieces")
    return pa.table([columns[name] for name in SEGMENTS.names], names=SEGMENTS.names).cast(SEGMENTS)
