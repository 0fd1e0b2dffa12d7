"""Bodies of frames: length, character encoding, and a preview as text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, Bools, Octets
from stompcap.kernel import kernel
from stompcap.stomp.delimiter_io import Rows
from stompcap.stomp.octets import find_nul
from stompcap.stomp.strings import offsets_of, slices, string_array
from stompcap.stomp.syntax import Syntax
from stompcap.stomp.utf8 import ESCAPED, escape, is_ascii, is_utf8, sequence

BODY_NUL, BODY_NON_UTF8 = int(Syntax.BODY_NUL), int(Syntax.BODY_NON_UTF8)


@kernel
def _survey(octets: Octets, begin: I64, length: I64, by_nul: Bools, limit: int, syntax: I64, preview: I64, non_ascii: Bools) -> None:
    """Flag each body; find how many octets its preview shows, and whether they may need escaping."""
    for frame in range(begin.size):
        at = begin[frame]
        end = at + length[frame]
        if not by_nul[frame] and find_nul(octets, at, end) >= 0:
            syntax[frame] |= BODY_NUL
        stop = min(end, at + limit)
        if not is_ascii(octets, at, end):
            if not is_utf8(octets, at, end):
                syntax[frame] |= BODY_NON_UTF8
            non_ascii[frame] = True
            # a character cut by the preview's limit is left out, an invalid one is shown
            for back in range(1, 4):
                if stop < end and stop - back >= at and octets[stop - back] >= 0xC0:
                    if sequence(octets, stop - back, stop) < 0 and sequence(octets, stop - back, end) > 0:
                        stop -= back
                    break
        preview[frame] = stop - at


@kernel
def _previews(octets: Octets, begin: I64, preview: I64, out: Octets, lengths: I64) -> None:
    at = 0
    for frame in range(begin.size):
        before = at
        at = escape(octets, begin[frame], begin[frame] + preview[frame], out, at)
        lengths[frame] = at - before


def read_bodies(octets: Octets, frames: Rows, limit: int, syntax: I64) -> tuple[I64, pa.StringArray]:
    """Body length of each frame, and its first `limit` octets as text (null for an empty body); adds bits to `syntax`."""
    begin = frames.position + frames.body
    length = frames.length - frames.body - 1
    preview = np.zeros(len(frames), np.int64)
    non_ascii = np.zeros(len(frames), np.bool_)
    _survey(octets, begin, length, frames.delimited_by == 0, limit, syntax, preview, non_ascii)
    valid = length > 0
    if not non_ascii.any():
        return length, slices(octets, begin, preview, valid)
    out = np.empty(int(preview[~non_ascii].sum()) + ESCAPED * int(preview[non_ascii].sum()), np.uint8)
    lengths = np.zeros(len(frames), np.int64)
    _previews(octets, begin, preview, out, lengths)
    offsets = offsets_of(lengths)
    return length, string_array(offsets, out[: offsets[-1]], valid)
