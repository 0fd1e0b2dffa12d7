"""Heart-beats: in each direction with a negotiated interval, the times without a new octet.

Watching begins when CONNECTED is complete and ends with the first FIN or RST of either side or the stream's last captured packet: once
one side has said that it is done, silence is nobody's fault.
A gap is excused where the capture lacks octets at that point of the stream, where the receiver's window was closed, or where the
sender was busy retransmitting: then silence does not show that nothing was sent.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.kernel import kernel
from stompcap.session.analysis import Options
from stompcap.session.arrivals import gather
from stompcap.session.columns import listed, timestamps
from stompcap.session.dialogue import CLIENT, I8, I64, SERVER, Bools, Dialogue
from stompcap.session.lookup import flat
from stompcap.session.notes import SessionNotes
from stompcap.session.progress import SEEN, Progress
from stompcap.session.sums import Sums
from stompcap.session.wire import integers, repeated_codes, sides
from stompcap.tables import words
from stompcap.tables.gold import HEARTBEAT_VIOLATIONS, HEARTBEATS

MILLISECOND = 1_000_000
OK, LATE, VIOLATION, DEAD, NOT_EVALUABLE = range(5)  # index in words.HEARTBEAT_VERDICTS
DATA, HEARTBEAT, CLOSE, CAPTURE_END = range(4)  # index in words.GAP_ENDERS
CAPTURE_GAP, ZERO_WINDOW, RETRANSMISSION = range(3)  # index in words.EXCUSES
STALLS = ("zero_window", "retransmission")


@kernel
def _gaps(
    watch: I64, ts: I64, eol: Bools, begin: I64, end: I64, last_ender: I8, limit: I64,
    gaps: I64, longest: I64, found: I64, start: I64, stop: I64, ender: I8,
) -> int:
    """Times without a new octet, per watch: how many, the longest, and those above `limit` nanoseconds. Returns how many those are."""
    count, i, n = 0, 0, len(watch)
    for w in range(len(begin)):
        now = begin[w]
        while i < n and watch[i] < w:
            i += 1
        while True:
            kind = last_ender[w]
            then = end[w]
            if i < n and watch[i] == w and ts[i] <= end[w]:
                then = ts[i]
                kind = HEARTBEAT
                while i < n and watch[i] == w and ts[i] == then:
                    if not eol[i]:
                        kind = DATA
                    i += 1
            length = then - now
            if length > 0:
                gaps[w] += 1
                longest[w] = max(longest[w], length)
                if length > limit[w]:
                    found[count], start[count], stop[count], ender[count] = w, now, then, kind
                    count += 1
                now = then
            if kind != DATA and kind != HEARTBEAT:
                break
    return count


@kernel
def _excuses(
    found: I64, start: I64, stop: I64, limit: I64, lost: I64, since: I64, until: I64,
    stalled: I64, kind: I8, begin: I64, end: I64, excuse: I8,
) -> None:
    """Why each gap found is not the sender's fault; `lost` and `stalled` are watches, ascending, stalls in order of time."""
    for i in range(len(found)):
        w, a, b = found[i], start[i], stop[i]
        j = np.searchsorted(stalled, w)
        cursor, silent, closed, repeat = a, 0, False, -1
        while j < len(stalled) and stalled[j] == w:
            if kind[j] == 0 and end[j] > a and begin[j] < b:
                closed = True
                silent = max(silent, begin[j] - cursor)
                cursor = max(cursor, end[j])
            elif kind[j] == 1 and begin[j] > a and end[j] <= b:
                repeat = max(repeat, end[j])
            j += 1
        silent = max(silent, b - cursor)
        if repeat >= 0 and b - repeat <= limit[w]:
            excuse[i] = RETRANSMISSION
        if closed and silent <= limit[w]:  # nothing but the closed window explains so long a silence
            excuse[i] = ZERO_WINDOW
        j = np.searchsorted(lost, w)
        while j < len(lost) and lost[j] == w:
            if since[j] < b and until[j] > a:
                excuse[i] = CAPTURE_GAP
                break
            j += 1


def _stalls(stalls: pa.Table | None, streams: pa.Table, number: I64) -> tuple[I64, I8, I64, I64]:
    """Stalls of the directions judged, in order of watch and time: watch, kind, begin, end."""
    if stalls is None or stalls.num_rows == 0:
        none = np.zeros(0, np.int64)
        return none, none.astype(np.int8), none, none
    session = repeated_codes(stalls.column("stream_id"), flat(streams.column("stream_id")))
    watch = np.where(session >= 0, number[session * 2 + sides(stalls.column("direction"))], -1)
    begin, end = integers(stalls.column("begin_ns")), integers(stalls.column("end_ns"))
    kind = repeated_codes(stalls.column("kind"), pa.array(STALLS)).astype(np.int8)
    order = np.lexsort((begin, watch))
    order = order[watch[order] >= 0]
    return watch[order], kind[order], begin[order], end[order]


def tables(
    dialogue: Dialogue, notes: SessionNotes, intervals: I64, segments: pa.Table, ready: Bools, stalls: pa.Table | None,
    before: Sums, progress: Progress, options: Options,
) -> tuple[pa.Table, pa.Table, Sums]:
    """Tables heartbeats (of sessions that are over) and heartbeat_violations (of the gaps that end here), and the sums so far.

    `intervals` (milliseconds) has the shape (sessions, 2). `ready` tells which segments may be judged: all before them are there.
    """
    streams = dialogue.streams
    watched = np.flatnonzero((intervals.reshape(-1) > 0) & np.repeat(notes.connected >= 0, 2))
    number = np.full(2 * dialogue.sessions, -1, np.int64)
    number[watched] = np.arange(len(watched))
    session, side = watched // 2, watched % 2
    interval = intervals.reshape(-1)[watched]
    bounds = options.thresholds
    limit = np.floor(bounds.heartbeat_late * interval * MILLISECOND).astype(np.int64)
    arrivals = gather(dialogue.rows, segments, streams, number)
    usable = ready[arrivals.segment]
    watch, ts, eol = arrivals.watch[usable], arrivals.ts[usable], arrivals.eol[usable]

    opened = dialogue.last_ns[notes.connected[session]]
    judged = before.now.reshape(-1)[watched]
    begin = np.where(judged >= 0, judged, opened)
    shut = notes.closed_ns[session] >= 0
    end = np.where(shut, notes.closed_ns[session], notes.last_ns[session])
    closing = progress.closing[session]
    latest = begin.copy()
    np.maximum.at(latest, watch, ts)
    ends = np.where(closing, end, np.where(shut, np.minimum(latest, end), latest))
    last_ender = np.where(shut, CLOSE, CAPTURE_END).astype(np.int8)

    most = len(ts) + len(watched)
    gaps, longest = np.zeros(len(watched), np.int64), np.zeros(len(watched), np.int64)
    found, start, stop = (np.zeros(most, np.int64) for _ in range(3))
    ender = np.zeros(most, np.int8)
    count = _gaps(watch, ts, eol, begin, ends, last_ender, limit, gaps, longest, found, start, stop, ender)
    found, start, stop, ender = found[:count], start[:count], stop[:count], ender[:count]

    lost = _packets_lost(streams)[watched[arrivals.gap_watch]] & ~_passed(dialogue, progress, arrivals.gap_row)
    excuse = np.full(count, -1, np.int8)
    _excuses(
        found, start, stop, limit, arrivals.gap_watch[lost], arrivals.gap_since[lost], arrivals.gap_until[lost],
        *_stalls(stalls, streams, number), excuse,
    )
    ratio = (stop - start) / (interval[found] * MILLISECOND)
    worse = [ratio > bounds.heartbeat_dead, ratio > bounds.heartbeat_violation]
    severity = np.select(worse, [DEAD, VIOLATION], LATE).astype(np.int8)
    ids, ways = flat(streams.column("stream_id")), pa.array(words.DIRECTIONS)
    violations = pa.table(
        {
            "stream_id": ids.take(pa.array(session[found])),
            "direction": ways.take(pa.array(side[found])),
            "gap_start_ns": pa.array(start),
            "gap_end_ns": pa.array(stop),
            "gap_start_ts": timestamps(start),
            "gap_ms": pa.array((stop - start) // MILLISECOND),
            "interval_ms": pa.array(interval[found]),
            "ratio": pa.array(ratio),
            "severity": listed((severity - LATE).astype(np.int8), words.HEARTBEAT_SEVERITIES),
            "ended_by": listed(ender, words.GAP_ENDERS),
            "excused": listed(excuse, words.EXCUSES),
        },
        schema=HEARTBEAT_VIOLATIONS.arrow,
    )
    given_up = (ender == CLOSE) & (excuse < 0) & _given_up(dialogue, notes, session[found], side[found], start + limit[found], stop)
    cut = np.zeros(len(watched), np.int64)
    cut[found[given_up]] = (stop - start)[given_up]
    fresh = (progress.row_told[arrivals.beat_row] & SEEN) == 0
    stands = fresh & (arrivals.beat_ts > opened[arrivals.beat_watch])
    stands &= (arrivals.beat_ts <= end[arrivals.beat_watch]) | ~(closing | shut)[arrivals.beat_watch]
    fault = np.flatnonzero(excuse < 0)
    worst = np.zeros(len(watched), np.int64)
    np.maximum.at(worst, found[fault], severity[fault])

    def counted(which: I64) -> I64:
        return np.bincount(which, minlength=len(watched)).astype(np.int64)

    new = {"beats": counted(arrivals.beat_watch[stands]), "gaps": gaps, "excused": counted(found[excuse >= 0])}
    new |= {name: counted(found[severity == s]) for name, s in (("late", LATE), ("violations", VIOLATION), ("dead", DEAD))}
    sums = before.added(watched, new, {"longest": longest, "worst": worst, "cut": cut, "now": ends})
    total = {name: getattr(sums, name).reshape(-1)[watched] for name in (*new, "longest", "worst", "cut")}
    verdict = np.where(total["gaps"] == total["excused"], NOT_EVALUABLE, OK)
    return pa.table(
        {
            "stream_id": ids.take(pa.array(session)),
            "direction": ways.take(pa.array(side)),
            "interval_ms": pa.array(interval),
            "beats": pa.array(total["beats"]),
            "max_gap_ms": pa.array(total["longest"] // MILLISECOND, mask=total["gaps"] == 0),
            "gaps": pa.array(total["gaps"]),
            "late": pa.array(total["late"]),
            "violations": pa.array(total["violations"]),
            "dead": pa.array(total["dead"]),
            "cut_off_after_intervals": pa.array(total["cut"] / (interval * MILLISECOND), mask=total["cut"] == 0),
            "observed_ms": pa.array(np.maximum(end - opened, 0) // MILLISECOND),
            "verdict": listed(np.where(total["worst"] > 0, total["worst"], verdict).astype(np.int8), words.HEARTBEAT_VERDICTS),
        },
        schema=HEARTBEATS.arrow,
    ).filter(pa.array(closing, pa.bool_())), violations, sums


def _given_up(dialogue: Dialogue, notes: SessionNotes, session: I64, side: I64, late_ns: I64, closed_ns: I64) -> Bools:
    """Silences of a side, late from `late_ns` on, that the other side may have ended for their length: it closed first.

    Not where it had another reason: a DISCONNECT, or an ERROR from before the silence was late.
    """
    closer, left, error = notes.closed_by[session], notes.disconnect[session], notes.error[session]
    agreed = (left >= 0) & (dialogue.first_ns[left] < closed_ns)
    refused = (error >= 0) & (dialogue.last_ns[error] <= late_ns)
    given_up: Bools = (closer >= 0) & (closer != side) & ~agreed & ~refused
    return given_up


def _passed(dialogue: Dialogue, progress: Progress, row: I64) -> Bools:
    """Gaps of the capture that lie between octets judged in an earlier piece."""
    raw, behind = dialogue.rows, np.minimum(row + 1, max(len(dialogue.rows) - 1, 0))
    seen = (progress.row_told & SEEN) != 0
    same = (behind != row) & (raw.session[behind] == raw.session[row]) & (raw.side[behind] == raw.side[row])
    passed: Bools = same & seen[row] & seen[behind]
    return passed


def _packets_lost(streams: pa.Table) -> Bools:
    """Per session * 2 + side: more is missing than what the snapshot length cut off packets whose arrival is known."""
    lost = np.zeros((streams.num_rows, 2), np.bool_)
    for side in (CLIENT, SERVER):
        way = words.DIRECTIONS[side]
        missing = integers(streams.column(f"gap_octets_{way}"), 0)
        lost[:, side] = missing > integers(streams.column(f"truncated_octets_{way}"), 0)
    return lost.reshape(-1)
