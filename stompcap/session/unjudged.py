"""What is kept for heart-beats between two pieces of a session."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.session.dialogue import EOL
from stompcap.session.lookup import flat
from stompcap.session.placing import WAY, ways, with_values
from stompcap.session.resume import Advance
from stompcap.session.wire import integers


def unjudged(done: Advance) -> tuple[pa.Table, pa.Table]:
    """Segments that heart-beats were not judged by yet, and the last before them in each direction; stalls that may excuse later gaps."""
    dialogue, raw = done.analysis.dialogue, done.analysis.dialogue.rows
    known = flat(dialogue.streams.column("stream_id"))
    segments = done.segments
    way, offset, end = ways(segments, known), integers(segments.column("stream_offset")), integers(segments.column("new_octets"))
    end = end + offset
    kept = ~done.ready
    by_end = np.lexsort((end, way))[::-1]
    judged = by_end[done.ready[by_end] & (way[by_end] >= 0)]
    kept[judged[np.unique(way[judged], return_index=True)[1]]] = True

    key = (raw.session.astype(np.int64) * 2 + raw.side) * WAY + raw.offset
    row = np.maximum(np.searchsorted(key, way * WAY + offset, side="right") - 1, 0)
    eol = integers(segments.column("eol"), 0)
    if len(raw):
        inside = (raw.kind[row] == EOL) & (key[row] <= way * WAY + offset) & (way * WAY + end <= key[row] + raw.length[row])
        eol = np.maximum(eol, inside.astype(np.int64))
    segments = with_values(segments, "eol", eol).filter(pa.array(kept))

    latest = np.full(dialogue.sessions, -1, np.int64)
    np.maximum.at(latest, way[judged] // 2, integers(done.segments.column("ts_ns"))[judged])
    now = done.analysis.sums.now
    since = np.where(now >= 0, now, latest[:, None]).reshape(-1)
    stalled = ways(done.stalls, known)
    wanted = (stalled >= 0) & (integers(done.stalls.column("end_ns")) >= since[stalled])
    return segments, done.stalls.filter(pa.array(wanted))
