"""What a body began with, in 63 bits: by that the bodies of two MESSAGEs are compared, one of which an earlier piece had."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.kernel import kernel
from stompcap.session.dialogue import I32, I64, Dialogue
from stompcap.session.lookup import flat
from stompcap.session.wire import remembered

BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@kernel
def _hash(octets: npt.NDArray[np.uint8], ends: I32, result: I64) -> None:
    """FNV-1a of each value, the highest bit left out; `ends` as in Arrow's layout."""
    for i in range(len(result)):
        found = BASIS
        for k in range(ends[i], ends[i + 1]):
            found = (found ^ np.uint64(octets[k])) * PRIME
        result[i] = np.int64(found >> np.uint64(1))


def previews(dialogue: Dialogue, frames: I64) -> I64:
    """Of these frames, a hash of the column body_preview; absent equals empty."""
    text = pc.fill_null(pc.take(flat(dialogue.frames.column("body_preview")), pa.array(dialogue.row[frames])), "")
    _, ends, octets = text.buffers()
    found = np.empty(len(frames), np.int64)
    if len(frames):
        _hash(np.frombuffer(octets or b"\0", np.uint8), np.frombuffer(ends, np.int32)[text.offset :], found)
    known = remembered(dialogue.frames, "preview", np.full(dialogue.frames.num_rows, -1))[dialogue.row[frames]]
    return np.where(known >= 0, known, found)


def carried(dialogue: Dialogue, kept: I64) -> I64:
    """Per frame, for later pieces: that of the frames `kept`, and -1."""
    found = np.full(len(dialogue), -1, np.int64)
    found[kept] = previews(dialogue, kept)
    return found
