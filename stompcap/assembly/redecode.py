"""Frames from raw frames: the same delimiter and decoder over octets read back from the lake.

The rows of a stream are put end to start again, gaps left out, and delimited anew: what comes out is what went in.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap import stomp
from stompcap.assembly.rows import frames, shown
from stompcap.codes import FRAME
from stompcap.columns import I64, U8, Bools, coded
from stompcap.options import Options
from stompcap.stomp.rows import Runs
from stompcap.tables import words
from stompcap.transport.octets import runs

TOLD = int(stomp.Syntax.TOKEN_LOGIN)


def redecode(streams: pa.Table, raw: pa.Table, options: Options) -> pa.Table:
    """Rows of table frames of whole streams from rows of `streams` and `raw_frames` (in any order)."""
    names = pa.compute.unique(raw.column("stream_id").combine_chunks())
    stream = pa.compute.index_in(raw.column("stream_id").combine_chunks(), names).to_numpy().astype(np.int64)
    side = coded(raw.column("direction"), words.DIRECTIONS)
    direction = 2 * stream + side
    order = np.lexsort((raw.column("stream_offset").to_numpy(), direction))
    raw, direction = raw.take(order), direction[order]
    offset, length = raw.column("stream_offset").to_numpy(), raw.column("length_octets").to_numpy()
    held = raw.column("raw").is_valid().to_numpy()
    octets = _octets(raw.column("raw"))
    secret = stomp.secret_header_names(options.settings.secrets)
    rows = stomp.delimit(octets, _runs(direction, offset, length, held, _synced(streams, names), 2 * len(names)), names=secret)
    # what only octets that are masked by now told
    framed = np.asarray(pa.compute.equal(raw.column("kind"), words.RAW_KINDS[FRAME]))
    told = raw.column("syntax").to_numpy()[framed] & TOLD
    rows.syntax[rows.kind == FRAME] |= told
    sides = np.tile(np.array([0, 1], np.int8), len(names))
    of = np.repeat(np.arange(len(names)), 2)
    versions = stomp.negotiate(octets, rows, of, sides, len(names))
    return frames(shown(octets, rows, options, stomp.passcodes_of(octets, rows, names=secret)), rows, raw, versions.take(of), options)


def _octets(raw: pa.ChunkedArray) -> U8:
    """The values of a binary column back to back."""
    parts = []
    for chunk in raw.chunks:
        _, offsets, data = chunk.buffers()
        if data is None:
            continue
        bounds = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        parts.append(np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]])
    return np.concatenate(parts) if parts else np.empty(0, np.uint8)


def _synced(streams: pa.Table, names: pa.Array) -> Bools:
    """Per direction, whether its true beginning was captured."""
    at = pa.compute.index_in(names, streams.column("stream_id").combine_chunks())
    seen = [streams.column(name).take(at).to_numpy() for name in ("syn_seen", "synack_seen")]
    return np.stack(seen, axis=1).reshape(-1).astype(bool)


def _runs(
    direction: I64, offset: I64, length: I64, held: Bools, synced: Bools, directions: int
) -> Runs:
    """The octets that are held; every direction ends where its rows do."""
    total = np.zeros(directions, np.int64)
    np.maximum.at(total, direction, offset + length)
    return runs(direction[held], offset[held], length[held], synced, np.ones(directions, bool), total)
