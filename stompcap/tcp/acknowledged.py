"""When octets were acknowledged first: of each segment, the time of the first one of the other side that acknowledges all of it.

Segments wait in a list by where they end, a list for each side of a connection; an acknowledgement takes those up to it from the list's
front. One that fills a hole is sorted in; where so many others wait before its place that it would take long, nobody knows.
"""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int
from stompcap.columns import I32, I64, U8
from stompcap.kernel import allocating
from stompcap.tcp import state as s

NOT_YET, NEVER = -1, -2  # no acknowledgement so far; none that is known
MOST_STEPS = 64  # in the list


@allocating
def note_acknowledged(
    stream_of: I32, forward: U8, position: I64, wire: I64, marks: U8, heard: I64, ts_ns: I64, held: Int, streams: Int, acked_ns: I64
) -> None:
    """Fill in `acked_ns` of rows, in the order in which they crossed the wire; the first `held` were here before.

    `heard` is the position up to which the sender of a row had received the other side's octets, 0 where it does not say.
    """
    first, last = np.full(2 * streams, -1, np.int64), np.full(2 * streams, -1, np.int64)
    following = np.empty(len(stream_of), np.int64)
    for row in range(len(stream_of)):
        side = 2 * np.int64(stream_of[row]) + (0 if forward[row] else 1)
        if row >= held and heard[row] > 0:
            k = first[side ^ 1]
            while k >= 0 and position[k] + wire[k] <= heard[row]:
                acked_ns[k] = ts_ns[row]
                k = following[k]
            first[side ^ 1] = k
        if wire[row] == 0 or acked_ns[row] != NOT_YET or marks[row] & (s.STRAY | s.PROBE | s.COPY):
            continue
        end = position[row] + wire[row]
        if first[side] < 0:
            first[side], last[side], following[row] = row, row, -1
        elif end >= position[last[side]] + wire[last[side]]:
            following[last[side]], following[row], last[side] = row, -1, row
        else:
            before, k, steps = np.int64(-1), first[side], 0
            while position[k] + wire[k] <= end and steps < MOST_STEPS:
                before, k, steps = k, following[k], steps + 1
            if steps == MOST_STEPS:
                acked_ns[row] = NEVER
            elif before < 0:
                following[row], first[side] = k, row
            else:
                following[row], following[before] = k, row
