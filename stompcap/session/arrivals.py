"""When new octets arrived in the directions that heart-beats are judged in, and what they were.

A heart-beat is an EOL run that stands alone: its first octet did not come at the time of the octet before it, as the line end behind
a frame's NUL does. Octets of one capture time are one arrival, however many packets carried them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap.kernel import kernel
from stompcap.session.dialogue import EOL, GAP, I8, I64, Bools, RawRows
from stompcap.session.lookup import flat
from stompcap.session.wire import integers, remembered, repeated_codes, sides

BEFORE, BEHIND = np.int64(-(2**62)), np.int64(2**62)  # times of what is missing at the beginning and the end of a direction


@dataclass(frozen=True)
class Arrivals:
    """What arrived; `watch` numbers the directions judged.

    Segments in order of watch and time: `watch`, `ts`, `eol` (nothing but EOLs), `segment` (index in the table given). Beats in
    order of watch and offset: `beat_watch`, `beat_ts`, `beat_row` (index in the raw rows). Gaps of the capture: `gap_watch`,
    `gap_row` and the times between which their octets crossed the wire, `gap_since` and `gap_until`.
    """

    watch: I64
    ts: I64
    eol: Bools
    segment: I64
    beat_watch: I64
    beat_ts: I64
    beat_row: I64
    gap_watch: I64
    gap_row: I64
    gap_since: I64
    gap_until: I64


@kernel
def _meet(
    seg_watch: I64, seg_offset: I64, seg_octets: I64, seg_ts: I64, watch: I64, offset: I64, length: I64, kind: I8,
    eol: Bools, before: I64, arrival: I64, behind: I64,
) -> None:
    """Bring segments and raw rows together, both sorted by watch and offset.

    `eol` per segment; per row the arrival of the octet before it, of its first octet and of the octet behind it, BEFORE or BEHIND
    where that is not captured.
    """
    j, n = 0, len(seg_watch)
    for i in range(len(watch)):
        w, begin, end = watch[i], offset[i], offset[i] + length[i]
        while j < n and (seg_watch[j] < w or (seg_watch[j] == w and seg_offset[j] + seg_octets[j] < begin)):
            j += 1
        before[i], arrival[i], behind[i] = BEFORE, BEHIND, BEHIND
        k = j
        while k < n and seg_watch[k] == w and seg_offset[k] <= end:
            first, last = seg_offset[k], seg_offset[k] + seg_octets[k]
            if first < begin <= last:
                before[i] = seg_ts[k]
            if first <= begin < last:
                arrival[i] = seg_ts[k]
            if first <= end < last:
                behind[i] = seg_ts[k]
            if kind[i] == EOL and begin <= first and last <= end:
                eol[k] = True
            if last > end:
                break
            k += 1


def gather(raw: RawRows, segments: pa.Table, streams: pa.Table, number: I64) -> Arrivals:
    """The arrivals of the directions judged; `number` gives the watch of session * 2 + side, -1 where none is."""
    session = repeated_codes(segments.column("stream_id"), flat(streams.column("stream_id")))
    seg_watch = np.where(session >= 0, number[session * 2 + sides(segments.column("direction"))], -1)
    kept = np.flatnonzero(seg_watch >= 0)
    seg_watch = seg_watch[kept]
    seg_offset, seg_octets, seg_ts = (
        integers(segments.column(name))[kept] for name in ("stream_offset", "new_octets", "ts_ns")
    )
    order = np.lexsort((seg_offset, seg_watch))
    seg_watch, seg_offset, seg_octets, seg_ts = seg_watch[order], seg_offset[order], seg_octets[order], seg_ts[order]

    watch = number[raw.session.astype(np.int64) * 2 + raw.side]
    rows = np.flatnonzero(watch >= 0)
    watch, kind = watch[rows], raw.kind[rows]
    eol = remembered(segments, "eol", np.zeros(segments.num_rows, np.int64))[kept][order] > 0
    before, arrival, behind = (np.empty(len(rows), np.int64) for _ in range(3))
    _meet(seg_watch, seg_offset, seg_octets, seg_ts, watch, raw.offset[rows], raw.length[rows], kind, eol, before, arrival, behind)

    beats, gaps = (kind == EOL) & (before != arrival), kind == GAP
    by_time = np.lexsort((seg_ts, seg_watch))
    return Arrivals(
        seg_watch[by_time], seg_ts[by_time], eol[by_time], kept[order][by_time],
        watch[beats], arrival[beats], rows[beats], watch[gaps], rows[gaps], before[gaps], behind[gaps],
    )
