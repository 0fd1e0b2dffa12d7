"""Frames from raw frames: the same delimiter and decoder over octets read back from the lake.

The rows of a stream are put end to start again, gaps left out, and delimited once more: what comes out is what went in.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap import stomp
from stompcap.assembly.rows import frames, redacted_octets
from stompcap.codes import FRAME
from stompcap.columns import I64, U8, coded
from stompcap.options import Options
from stompcap.stomp import Syntax
from stompcap.stomp.delimiter_io import Runs
from stompcap.tables import words
from stompcap.transport.octets import runs

AFTER_GAP, LENGTH_UNKNOWN, TOKEN_LOGIN = (int(one) for one in (Syntax.AFTER_GAP, Syntax.LENGTH_UNKNOWN, Syntax.TOKEN_LOGIN))


def redecode(raw: pa.Table, options: Options) -> pa.Table:
    """Rows of table frames from rows of `raw_frames` (in any order), which are all of their streams."""
    names = pa.compute.unique(raw.column("stream_id").combine_chunks())
    direction = 2 * coded(raw.column("stream_id"), names) + coded(raw.column("direction"), words.DIRECTIONS)
    order = np.lexsort((raw.column("stream_offset").to_numpy(), direction))
    raw, direction = raw.take(order), direction[order]
    octets, secret = _octets(raw.column("raw")), stomp.secret_header_names(options.settings.secrets)
    rows = stomp.delimit(octets, _runs(raw, direction, 2 * len(names)), names=secret)
    # what only octets showed that are masked by now
    framed = np.asarray(pa.compute.equal(raw.column("kind"), words.RAW_KINDS[FRAME]))
    rows.syntax[rows.kind == FRAME] |= raw.column("syntax").to_numpy()[framed] & TOKEN_LOGIN
    sides = np.tile(np.array([0, 1], np.int8), len(names))
    of = np.repeat(np.arange(len(names)), 2)
    versions = stomp.negotiate(octets, rows, of, sides, len(names))
    view = redacted_octets(octets, rows, options, stomp.passcodes_of(octets, rows, names=secret))
    return frames(view, rows, raw, versions.take(of), options)


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


def _runs(raw: pa.Table, direction: I64, directions: int) -> Runs:
    """The octets of rows in order; every direction ends where its rows do, and begins as its first row says."""
    offset, length, syntax = (raw.column(name).to_numpy() for name in ("stream_offset", "length_octets", "syntax"))
    total, synced = np.zeros(directions, np.int64), np.ones(directions, np.bool_)
    np.maximum.at(total, direction, offset + length)
    synced[direction[(offset == 0) & (syntax & AFTER_GAP != 0)]] = False
    unsure = np.roll(syntax & LENGTH_UNKNOWN != 0, 1)  # a gap says it of what is behind it
    held = raw.column("raw").is_valid().to_numpy()
    return runs(direction[held], offset[held], length[held], unsure[held], synced, np.ones(directions, bool), total)
