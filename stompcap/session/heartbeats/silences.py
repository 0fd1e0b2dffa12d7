"""Silences: times without a new octet that are longer than a limit, and what excuses them; kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stompcap.codes import (
    ENDED_BY_CLOSE,
    ENDED_BY_DATA,
    ENDED_BY_HEARTBEAT,
    EXCUSE_CAPTURE_GAP,
    EXCUSE_CONTROL_FRAME,
    EXCUSE_RETRANSMISSION,
    EXCUSE_ZERO_WINDOW,
    SERVER,
    STALL_CONTROL_FRAME,
    STALL_RETRANSMISSION,
    STALL_ZERO_WINDOW,
)
from stompcap.columns import I64
from stompcap.kernel import kernel
from stompcap.session.heartbeats.arrivals import BEHIND, Lost, Segments


class Watched(NamedTuple):
    """The directions watched, by direction, and what the walk over their arrivals goes by; times in nanoseconds.

    Of `now_ns`, `stop_ns` and `done_ns`, how often the direction's clock had stepped before.
    """

    direction: I64
    steps: I64
    now_ns: I64
    stop_steps: I64
    stop_ns: I64
    done_steps: I64
    done_ns: I64  # from when on silence is nobody's fault
    last_ender: I64
    limit_ns: I64
    gaps: I64
    longest_ns: I64


class Silences(NamedTuple):
    """Times without a new octet that are longer than the limit: index in Watched, begin and end, what ended it."""

    watched: I64
    start_ns: I64
    stop_ns: I64
    ender: I64


class Measured(NamedTuple):
    """The times between arrivals of the directions watched, summed up; rows as in Watched."""

    interval_ns: I64
    times: I64  # how many
    total_ns: I64
    squares: npt.NDArray[np.float64]  # the sum of their squares, in square milliseconds
    buckets: I64  # shape (directions, buckets): how many lie up to each of the edges, and behind the last
    edges: npt.NDArray[np.float64]  # in intervals


class Stalls(NamedTuple):
    """Zero windows (kind 0) and retransmissions (1), by direction and time."""

    direction: I64
    kind: I64
    begin_ns: I64
    end_ns: I64


@kernel
def _silences(segments: Segments, watched: Watched, measured: Measured, found: Silences) -> int:
    """Count the times without a new octet, and note those above the limit; returns how many those are."""
    count, i, n = 0, 0, len(segments.direction)
    for w in range(len(watched.direction)):
        direction, stop = watched.direction[w], watched.stop_ns[w]
        while i < n and (segments.direction[i], segments.steps[i]) < (direction, watched.steps[w]):
            i += 1
        ender = ENDED_BY_DATA
        while ender == ENDED_BY_DATA or ender == ENDED_BY_HEARTBEAT:
            then, steps, ender = stop, watched.stop_steps[w], watched.last_ender[w]
            if i < n and segments.direction[i] == direction and (segments.steps[i] < steps or segments.ts_ns[i] <= stop):
                then, steps, ender = segments.ts_ns[i], segments.steps[i], ENDED_BY_HEARTBEAT
                while i < n and segments.direction[i] == direction and segments.steps[i] == steps and segments.ts_ns[i] == then:
                    if not segments.eol[i]:
                        ender = ENDED_BY_DATA
                    i += 1
            if steps > watched.steps[w]:  # nobody knows how long it was
                watched.now_ns[w], watched.steps[w] = then, steps
            elif then > watched.now_ns[w]:
                end = min(then, watched.done_ns[w]) if steps == watched.done_steps[w] else then
                if steps > watched.done_steps[w]:
                    end = watched.now_ns[w]
                length = end - watched.now_ns[w]
                watched.gaps[w] += 1
                watched.longest_ns[w] = max(watched.longest_ns[w], length)
                if end == then and (ender == ENDED_BY_DATA or ender == ENDED_BY_HEARTBEAT):
                    measured.times[w] += 1
                    measured.total_ns[w] += length
                    measured.squares[w] += (length / 1e6) ** 2
                    measured.buckets[w, np.searchsorted(measured.edges, length / measured.interval_ns[w])] += 1
                if length > watched.limit_ns[w]:
                    found.watched[count], found.start_ns[count], found.stop_ns[count] = w, watched.now_ns[w], end
                    found.ender[count] = ender if end == then else ENDED_BY_CLOSE
                    count += 1
                watched.now_ns[w] = then
    return count


@kernel
def _open(found: Silences, watched: Watched, stalls: Stalls, left: Silences, excuse: I64) -> int:
    """What is left of silences for which the window was open and no layer gave a sign of life, as far as it is longer than the limit.

    Returns how many those are.

    A silence of which nothing is left stays as it is, and is excused.
    """
    count = 0
    for i in range(len(found.watched)):
        w, end = found.watched[i], found.stop_ns[i]
        cursor, first, closed, signs = found.start_ns[i], count, False, True
        j = np.searchsorted(stalls.direction, watched.direction[w])
        while cursor < end:
            while j < len(stalls.direction) and stalls.direction[j] == watched.direction[w] and (
                (stalls.kind[j] != STALL_ZERO_WINDOW and stalls.kind[j] != STALL_CONTROL_FRAME) or stalls.end_ns[j] <= cursor
            ):
                j += 1
            shut = j < len(stalls.direction) and stalls.direction[j] == watched.direction[w] and stalls.begin_ns[j] < end
            until = max(stalls.begin_ns[j], cursor) if shut else end
            if until - cursor > watched.limit_ns[w]:
                left.watched[count], left.start_ns[count], left.stop_ns[count], left.ender[count] = w, cursor, until, found.ender[i]
                excuse[count] = -1
                count += 1
            closed |= shut
            signs &= not shut or stalls.kind[j] == STALL_CONTROL_FRAME
            cursor = stalls.end_ns[j] if shut else end
        if closed and count == first:
            left.watched[count], left.start_ns[count], left.stop_ns[count], left.ender[count] = w, found.start_ns[i], end, found.ender[i]
            excuse[count] = EXCUSE_CONTROL_FRAME if signs else EXCUSE_ZERO_WINDOW
            count += 1
        watched.gaps[w] += count - first - 1
    return count


@kernel
def _excuses(found: Silences, watched: Watched, gaps: Lost, stalls: Stalls, excuse: I64) -> None:
    """Why each silence found is not the sender's fault, but for closed windows.

    What the capture lacks of the client, with nothing of it behind, may hide its DISCONNECT, from which on the server may be silent.
    """
    for i in range(len(found.watched)):
        w, begin, end = found.watched[i], found.start_ns[i], found.stop_ns[i]
        direction, repeat = watched.direction[w], -1
        j = np.searchsorted(stalls.direction, direction)
        while j < len(stalls.direction) and stalls.direction[j] == direction:
            if stalls.kind[j] == STALL_RETRANSMISSION and stalls.begin_ns[j] > begin and stalls.end_ns[j] <= end:
                repeat = max(repeat, stalls.end_ns[j])
            j += 1
        if excuse[i] < 0 and repeat >= 0 and end - repeat <= watched.limit_ns[w]:
            excuse[i] = EXCUSE_RETRANSMISSION
        j = np.searchsorted(gaps.direction, direction - (direction % 2 == SERVER))
        while j < len(gaps.direction) and gaps.direction[j] <= direction:
            own = gaps.direction[j] == direction
            if gaps.since_ns[j] < end and (gaps.until_ns[j] > begin if own else gaps.until_ns[j] == BEHIND):
                excuse[i] = EXCUSE_CAPTURE_GAP
                break
            j += 1


def silences(segments: Segments, watched: Watched, measured: Measured, gaps: Lost, stalls: Stalls) -> tuple[Silences, I64]:
    """The silences among these arrivals, and what excuses each: an index in words.EXCUSES, -1 for nothing.

    Counts them in `watched`, all times between arrivals in `measured`.
    """
    every = _room(len(segments.direction) + len(watched.direction))
    every = _cut(every, _silences(segments, watched, measured, every))
    left = _room(len(every.watched) + len(stalls.kind))
    excuse = np.full(len(left.watched), -1, np.int64)
    left = _cut(left, _open(every, watched, stalls, left, excuse))
    excuse = excuse[: len(left.watched)]
    _excuses(left, watched, gaps, stalls, excuse)
    return left, excuse


def _room(count: int) -> Silences:
    return Silences(*(np.zeros(count, np.int64) for _ in Silences._fields))


def _cut(room: Silences, count: int) -> Silences:
    return Silences(*(values[:count] for values in room))
