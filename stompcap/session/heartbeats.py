"""Heart-beats: in each direction with a negotiated interval, the times without a new octet.

Watching begins when CONNECTED is complete and ends with the first FIN or RST of either side or the stream's last captured packet: once
one side has said that it is done, silence is nobody's fault.
A gap is excused where the capture lacks octets at that point of the stream, where the receiver's window was closed, or where the
sender was busy retransmitting: then silence does not show that nothing was sent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.kernel import kernel
from stompcap.session.arrivals import Lost, Segments, beats, lost
from stompcap.session.clocks import Clocks
from stompcap.session.columns import I64, Bools, integers, listed, repeated_codes, timestamps
from stompcap.session.dialogue import CLIENT, SERVER, Dialogue
from stompcap.session.facts import SessionFacts
from stompcap.session.firsts import OfSessions
from stompcap.session.records import Layout, Records, opened
from stompcap.session.wire import directions
from stompcap.settings import Thresholds
from stompcap.tables import words
from stompcap.tables.gold import HEARTBEAT_VIOLATIONS, HEARTBEATS

MILLISECOND = 1_000_000
OK, LATE, VIOLATION, DEAD, NOT_EVALUABLE = range(5)  # index in words.HEARTBEAT_VERDICTS
DATA, HEARTBEAT, CLOSE, CAPTURE_END = range(4)  # index in words.GAP_ENDERS
CAPTURE_GAP, ZERO_WINDOW, RETRANSMISSION = range(3)  # index in words.EXCUSES
SUMS = ("beats", "gaps", "late", "violations", "dead", "excused")
LAYOUT = Layout({"side": 0, "now_ns": -1, "longest_ns": 0, "worst": 0, "cut_ns": 0, **dict.fromkeys(SUMS, 0)})
"""One row per direction that is watched: the arrival it was judged up to; SUMS, the longest silence, the worst severity, and how long it
had been silent when the other side cut it off.
"""


class Watched(NamedTuple):
    """The directions watched, by direction, and what the walk over their arrivals goes by; times in nanoseconds."""

    direction: I64
    now_ns: I64
    stop_ns: I64
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


class Stalls(NamedTuple):
    """Zero windows (kind 0) and retransmissions (1), by direction and time."""

    direction: I64
    kind: I64
    begin_ns: I64
    end_ns: I64


@kernel
def _silences(segments: Segments, watched: Watched, found: Silences) -> int:
    """Count the times without a new octet, and note those above the limit; returns how many those are."""
    count, i, n = 0, 0, len(segments.direction)
    for w in range(len(watched.direction)):
        direction, stop = watched.direction[w], watched.stop_ns[w]
        while i < n and segments.direction[i] < direction:
            i += 1
        ender = DATA
        while ender == DATA or ender == HEARTBEAT:
            then, ender = stop, watched.last_ender[w]
            if i < n and segments.direction[i] == direction and segments.ts_ns[i] <= stop:
                then, ender = segments.ts_ns[i], HEARTBEAT
                while i < n and segments.direction[i] == direction and segments.ts_ns[i] == then:
                    if not segments.eol[i]:
                        ender = DATA
                    i += 1
            length = then - watched.now_ns[w]
            if length > 0:
                watched.gaps[w] += 1
                watched.longest_ns[w] = max(watched.longest_ns[w], length)
                if length > watched.limit_ns[w]:
                    found.watched[count], found.start_ns[count], found.stop_ns[count] = w, watched.now_ns[w], then
                    found.ender[count] = ender
                    count += 1
                watched.now_ns[w] = then
    return count


@kernel
def _stalled(direction: int, begin: int, end: int, limit: int, stalls: Stalls) -> int:
    """The stall that explains a silence: its kind as an index in words.EXCUSES, -1 for none."""
    cursor, silent, closed, repeat = begin, 0, False, -1
    j = np.searchsorted(stalls.direction, direction)
    while j < len(stalls.direction) and stalls.direction[j] == direction:
        if stalls.kind[j] == 0 and stalls.end_ns[j] > begin and stalls.begin_ns[j] < end:
            closed = True
            silent = max(silent, stalls.begin_ns[j] - cursor)
            cursor = max(cursor, stalls.end_ns[j])
        elif stalls.kind[j] == 1 and stalls.begin_ns[j] > begin and stalls.end_ns[j] <= end:
            repeat = max(repeat, stalls.end_ns[j])
        j += 1
    if closed and max(silent, end - cursor) <= limit:  # nothing but the closed window explains so long a silence
        return ZERO_WINDOW
    return RETRANSMISSION if repeat >= 0 and end - repeat <= limit else -1


@kernel
def _excuses(found: Silences, watched: Watched, gaps: Lost, stalls: Stalls, excuse: I64) -> None:
    """Why each silence found is not the sender's fault."""
    for i in range(len(excuse)):
        w, begin, end = found.watched[i], found.start_ns[i], found.stop_ns[i]
        direction = watched.direction[w]
        excuse[i] = _stalled(direction, begin, end, watched.limit_ns[w], stalls)
        j = np.searchsorted(gaps.direction, direction)
        while j < len(gaps.direction) and gaps.direction[j] == direction:
            if gaps.since_ns[j] < end and gaps.until_ns[j] > begin:
                excuse[i] = CAPTURE_GAP
                break
            j += 1


def stalls_of(stalls: pa.Table, ids: pa.Array, clocks: Clocks) -> Stalls:
    """A table of stalls by direction and time; a window is shut and opened by the other side."""
    direction = directions(stalls, ids)
    begin, end = integers(stalls.column("begin_ns")), integers(stalls.column("end_ns"))
    kind = repeated_codes(stalls.column("kind"), pa.array(words.STALLS))
    order = np.lexsort((begin, direction))
    order = order[direction[order] >= 0]
    direction, kind, begin, end = direction[order], kind[order], begin[order], end[order]
    ahead = np.where(kind == 0, np.where(direction % 2 == CLIENT, 1, -1), 0) * clocks.ahead_ns[direction // 2]
    return Stalls(direction, kind, begin - ahead, end - ahead)


class Session(NamedTuple):
    """What heart-beats are judged by, of all sessions: intervals agreed on (milliseconds), facts, first frames, closing."""

    agreed: I64
    facts: SessionFacts
    connected: OfSessions
    disconnect: OfSessions
    error: OfSessions
    closing: Bools
    clocks: Clocks

    def connected_ns(self, session: I64, side: I64) -> I64:
        """When CONNECTED was complete, as the side's clock would have told it."""
        return self.clocks.read_by(side, session, server_ns=self.connected.last_ns[session])

    def closed_ns(self, session: I64, side: I64) -> I64:
        """The close, as the side's clock would have told it."""
        told, by_server = self.facts.closed_ns[session], self.facts.closed_by[session] == SERVER
        by_clients = self.clocks.read_by(side, session, client_ns=told)
        return np.where(by_server, self.clocks.read_by(side, session, server_ns=told), by_clients)


def follow(
    dialogue: Dialogue, sessions: Session, segments: Segments, stalls: pa.Table, before: pa.Table, thresholds: Thresholds
) -> tuple[Records, pa.Table]:
    """Judge the arrivals of a step; gives the directions watched and table heartbeat_violations. `before` is the state table."""
    rows = _watched(dialogue, sessions, before)
    session, side = rows["session"], rows["side"]
    facts, closing = sessions.facts, sessions.closing[session]
    direction, interval = session * 2 + side, sessions.agreed[session, side]
    shut = facts.closed_ns[session] >= 0
    latest = rows["now_ns"].copy()
    number = np.full(2 * dialogue.sessions, -1, np.int64)
    number[direction] = np.arange(len(direction))
    own = np.flatnonzero(number[segments.direction] >= 0)
    np.maximum.at(latest, number[segments.direction[own]], segments.ts_ns[own])
    last = np.where(sessions.clocks.differ[session], latest, facts.last_ns[session])
    end = np.where(shut, sessions.closed_ns(session, side), last)
    stop = np.where(closing, end, np.where(shut, np.minimum(latest, end), latest))
    limit = _in_time(interval, thresholds.heartbeat_late)
    watched = Watched(
        direction, rows["now_ns"], stop, np.where(shut, CLOSE, CAPTURE_END), limit, rows["gaps"], rows["longest_ns"]
    )
    room = len(segments.direction) + len(rows)
    found = Silences(*(np.zeros(room, np.int64) for _ in Silences._fields))
    count = _silences(segments, watched, found)
    found = Silences(*(values[:count] for values in found))

    gaps = lost(dialogue.rows)
    counted = _packets_lost(dialogue.streams)[gaps.direction]
    excuse = np.full(count, -1, np.int64)
    _excuses(found, watched, Lost(*(values[counted] for values in gaps)), stalls_of(stalls, dialogue.ids, sessions.clocks), excuse)
    ratio = (found.stop_ns - found.start_ns) // MILLISECOND / interval[found.watched]
    severity = np.select([ratio > thresholds.heartbeat_dead, ratio > thresholds.heartbeat_violation], [DEAD, VIOLATION], LATE)
    _sum(rows, dialogue, sessions, found, severity, excuse, end, limit)
    return rows, _violations(dialogue.ids, rows, interval, found, ratio, severity, excuse)


def _in_time(interval: I64, late: float) -> I64:
    """The longest silences that are not late, in nanoseconds; whole milliseconds are compared, as intervals are agreed on in these."""
    most = np.floor(late * interval)
    most += (most + 1) / interval <= late  # the product may be rounded down
    longest: I64 = ((most + 1) * MILLISECOND - 1).astype(np.int64)
    return longest


def _watched(dialogue: Dialogue, sessions: Session, before: pa.Table) -> Records:
    """The directions that are watched: those of earlier steps, and those that were agreed on in this one."""
    known = repeated_codes(before.column("stream_id"), dialogue.ids)
    direction = np.flatnonzero((sessions.agreed.reshape(-1) > 0) & np.repeat(sessions.connected.there, 2))
    old = known * 2 + integers(before.column("side"))
    new = direction[~np.isin(direction, old[known >= 0])]
    numbers = {"session": new // 2, "side": new % 2, "now_ns": sessions.connected_ns(new // 2, new % 2)}
    rows = opened(LAYOUT, before, dialogue.ids, numbers, {})
    return rows.take(np.lexsort((rows["side"], rows["session"])))


def _sum(
    rows: Records, dialogue: Dialogue, sessions: Session, found: Silences, severity: I64, excuse: I64, end: I64, limit: I64
) -> None:
    """Count what was found with the directions."""
    raw, count = dialogue.rows, len(rows)
    session, side = rows["session"], rows["side"]
    number = np.full(2 * dialogue.sessions, -1, np.int64)
    number[session * 2 + side] = np.arange(count)
    beat = np.flatnonzero(beats(raw) & (number[raw.direction] >= 0))
    watched, at_ns = number[raw.direction[beat]], raw.first_ns[beat]
    opened_ns, facts = sessions.connected_ns(session, side), sessions.facts
    ended = sessions.closing | (facts.closed_ns >= 0)
    counts = (at_ns > opened_ns[watched]) & ((at_ns <= end[watched]) | ~ended[session[watched]])
    fault = excuse < 0
    for name, which in (
        ("beats", watched[counts]), ("excused", found.watched[~fault]),
        *((name, found.watched[severity == level]) for name, level in (("late", LATE), ("violations", VIOLATION), ("dead", DEAD))),
    ):
        rows[name] = rows[name] + np.bincount(which, minlength=count)
    np.maximum.at(rows["worst"], found.watched[fault], severity[fault])
    of = found.watched
    given_up = (found.ender == CLOSE) & fault & _given_up(sessions, session[of], side[of], found.start_ns + limit[of], found.stop_ns)
    np.maximum.at(rows["cut_ns"], of[given_up], (found.stop_ns - found.start_ns)[given_up])


def _given_up(sessions: Session, session: I64, side: I64, late_ns: I64, closed_ns: I64) -> Bools:
    """Silences of a side, late from `late_ns` on, that the other side may have ended for their length: it closed first.

    Not where it had another reason: a DISCONNECT, or an ERROR from before the silence was late.
    """
    closer = sessions.facts.closed_by[session]
    clocks = sessions.clocks
    left_ns = clocks.read_by(side, session, client_ns=sessions.disconnect.first_ns[session])
    refused_ns = clocks.read_by(side, session, server_ns=sessions.error.last_ns[session])
    agreed = sessions.disconnect.there[session] & (left_ns < closed_ns)
    refused = sessions.error.there[session] & (refused_ns <= late_ns)
    given_up: Bools = (closer >= 0) & (closer != side) & ~agreed & ~refused
    return given_up


def _violations(
    ids: pa.Array, rows: Records, interval: I64, found: Silences, ratio: np.ndarray, severity: I64, excuse: I64
) -> pa.Table:
    """Table heartbeat_violations."""
    of = found.watched
    return pa.table(
        {
            "stream_id": ids.take(pa.array(rows["session"][of])),
            "direction": pa.array(words.DIRECTIONS).take(pa.array(rows["side"][of])),
            "gap_start_ns": pa.array(found.start_ns),
            "gap_end_ns": pa.array(found.stop_ns),
            "gap_start_ts": timestamps(found.start_ns),
            "gap_ms": pa.array((found.stop_ns - found.start_ns) // MILLISECOND),
            "interval_ms": pa.array(interval[of]),
            "ratio": pa.array(ratio),
            "severity": listed(severity - LATE, words.HEARTBEAT_SEVERITIES),
            "ended_by": listed(found.ender, words.GAP_ENDERS),
            "excused": listed(excuse, words.EXCUSES),
        },
        schema=HEARTBEAT_VIOLATIONS.arrow,
    )


def table(rows: Records, ids: pa.Array, sessions: Session) -> pa.Table:
    """Table heartbeats, of the sessions that close."""
    rows = rows.take(np.flatnonzero(sessions.closing[rows["session"]]))
    session, side = rows["session"], rows["side"]
    interval, facts = sessions.agreed[session, side], sessions.facts
    end = np.where(facts.closed_ns[session] >= 0, sessions.closed_ns(session, side), facts.last_ns[session])
    opened_ns = sessions.connected_ns(session, side)
    verdict = np.where(rows["gaps"] == rows["excused"], NOT_EVALUABLE, OK)
    return pa.table(
        {
            "stream_id": ids.take(pa.array(session)),
            "direction": pa.array(words.DIRECTIONS).take(pa.array(side)),
            "interval_ms": pa.array(interval),
            "max_gap_ms": pa.array(rows["longest_ns"] // MILLISECOND, mask=rows["gaps"] == 0),
            **{name: pa.array(rows[name]) for name in ("beats", "gaps", "late", "violations", "dead")},
            "cut_off_after_intervals": pa.array(rows["cut_ns"] / (interval * MILLISECOND), mask=rows["cut_ns"] == 0),
            "observed_ms": pa.array(np.maximum(end - opened_ns, 0) // MILLISECOND),
            "verdict": listed(np.where(rows["worst"] > 0, rows["worst"], verdict), words.HEARTBEAT_VERDICTS),
        }
    ).select(HEARTBEATS.arrow.names).cast(HEARTBEATS.arrow)


def _packets_lost(streams: pa.Table) -> Bools:
    """Per direction: more is missing than what the snapshot length cut off packets whose arrival is known."""
    lost_octets = np.zeros((streams.num_rows, 2), np.bool_)
    for side in (CLIENT, SERVER):
        suffix = words.DIRECTIONS[side]
        missing = integers(streams.column(f"gap_octets_{suffix}"), 0)
        lost_octets[:, side] = missing > integers(streams.column(f"truncated_octets_{suffix}"), 0)
    return lost_octets.reshape(-1)
