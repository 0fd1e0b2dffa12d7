"""Heart-beats: in each direction with a negotiated interval, the times without a new octet.

Watching begins when CONNECTED is complete and ends with the first FIN or RST of either side or the stream's last captured packet; behind a
DISCONNECT there is no silence any more: once one side is done by its own word, silence is nobody's fault.
A gap is excused where the capture lacks octets at that point of the stream, where the receiver's window was closed, or where the sender
was busy retransmitting: then silence does not show that nothing was sent. A window that was closed excuses the time for which it was;
what is left of a gap before and behind is judged by itself. A gap in which the direction's clock stepped is not known, nor is then which
was the worst, unless one is dead elsewhere in the direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, ENDED_BY_CAPTURE_END, ENDED_BY_CLOSE, HEARTBEAT_DEAD, HEARTBEAT_LATE, HEARTBEAT_VIOLATION, SERVER
from stompcap.columns import I64, Bools, coded, integers
from stompcap.session.clocks import LAST, Clocks
from stompcap.session.dialogue import Dialogue
from stompcap.session.facts import SessionFacts
from stompcap.session.firsts import OfSessions
from stompcap.session.heartbeats.arrivals import BEHIND, Lost, Segments, beats, lost
from stompcap.session.heartbeats.records import BUCKETS, EDGES, LAYOUT
from stompcap.session.heartbeats.silences import Measured, Silences, Stalls, Watched, silences
from stompcap.session.layout import Records, opened
from stompcap.session.wire import directions
from stompcap.settings import Thresholds
from stompcap.tables import words

MILLISECOND = 1_000_000
LONGEST = 2.0**62  # no silence lasts so many nanoseconds, though intervals may


def stalls_of(stalls: pa.Table, ids: pa.Array, clocks: Clocks) -> Stalls:
    """A table of stalls by direction and time; a window is shut and opened by the other side."""
    direction = directions(stalls, ids)
    begin, end = integers(stalls.column("begin_ns")), integers(stalls.column("end_ns"))
    kind = coded(stalls.column("kind"), words.STALLS)
    order = np.lexsort((begin, direction))
    order = order[direction[order] >= 0]
    direction, kind, begin, end = direction[order], kind[order], begin[order], end[order]
    ahead = np.where(kind == 0, np.where(direction % 2 == CLIENT, 1, -1), 0) * clocks.ahead_ns[direction // 2]
    return Stalls(direction, kind, begin - ahead, end - ahead)


class WatchedSessions(NamedTuple):
    """What heart-beats are judged by, of all sessions."""

    agreed: I64  # per session and side the interval, in milliseconds; 0 for none
    facts: SessionFacts
    connected: OfSessions
    disconnect: OfSessions
    error: OfSessions
    closing: Bools
    clocks: Clocks

    def connected_ns(self, session: I64, side: I64) -> I64:
        """When CONNECTED was complete, by the side's clock."""
        return self.clocks.read_by(side, session, server_ns=self.connected.last_ns[session])

    def steps(self, session: I64, side: I64, frame: OfSessions | None) -> I64:
        """How often the side's clock had stepped before a frame was complete; in all, if None is given."""
        ordinal = np.full(len(session), LAST) if frame is None else frame.ordinal[session]
        return self.clocks.steps_until(session * 2 + side, ordinal)

    def closed_ns(self, session: I64, side: I64) -> I64:
        """When the connection was closed, by the side's clock."""
        closed_ns, by_server = self.facts.closed_ns[session], self.facts.closed_by[session] == SERVER
        by_clients = self.clocks.read_by(side, session, client_ns=closed_ns)
        return np.where(by_server, self.clocks.read_by(side, session, server_ns=closed_ns), by_clients)


class FollowedHeartbeats(NamedTuple):
    """The directions that are watched; and the silences of this step that are too long, with their severity and what excuses them."""

    rows: Records
    silences: Silences
    severity: I64  # HEARTBEAT_LATE, HEARTBEAT_VIOLATION or HEARTBEAT_DEAD
    excuse: I64  # index in words.EXCUSES, -1 for nothing


def follow_heartbeats(
    dialogue: Dialogue, sessions: WatchedSessions, segments: Segments, stalls: pa.Table, before: pa.Table, thresholds: Thresholds
) -> FollowedHeartbeats:
    """Judge the arrivals of a step; `before` is the state table."""
    rows = _watched(dialogue, sessions, before)
    session, side = rows["session"], rows["side"]
    facts, closing = sessions.facts, sessions.closing[session]
    direction, interval = session * 2 + side, sessions.agreed[session, side]
    left_ns = sessions.clocks.read_by(side, session, client_ns=sessions.disconnect.last_ns[session])
    done = np.where(sessions.disconnect.there[session], left_ns, BEHIND)
    shut = facts.closed_ns[session] >= 0
    latest, steps = _latest(rows, direction, segments)
    every = sessions.steps(session, side, None)
    last = np.where(sessions.clocks.differ[session] | (every > 0), latest, facts.last_ns[session])
    end = np.where(shut, sessions.closed_ns(session, side), last)
    stop = np.where(closing, end, np.where(shut & (every == 0), np.minimum(latest, end), latest))
    limit = _in_time(interval, thresholds.heartbeat_late)
    watched = Watched(
        direction, rows["steps"], rows["now_ns"], np.where(closing & shut, every, steps), stop,
        sessions.steps(session, side, sessions.disconnect), done, np.where(shut, ENDED_BY_CLOSE, ENDED_BY_CAPTURE_END), limit, rows["gaps"],
        rows["longest_ns"],
    )  # fmt: skip
    stalled, gaps = stalls_of(stalls, dialogue.ids, sessions.clocks), lost(dialogue.rows)
    counted = _packets_lost(dialogue.streams)[gaps.direction]
    measured = _measured(rows, interval)
    found, excuse = silences(segments, watched, measured, Lost(*(values[counted] for values in gaps)), stalled)
    _keep(rows, measured)
    ratio = (found.stop_ns - found.start_ns) // MILLISECOND / interval[found.watched]
    severity = np.where(ratio > thresholds.heartbeat_violation, HEARTBEAT_VIOLATION, HEARTBEAT_LATE)
    severity = np.where(ratio > thresholds.heartbeat_dead, HEARTBEAT_DEAD, severity)
    _sum(rows, dialogue, sessions, found, severity, excuse, end, limit)
    return FollowedHeartbeats(rows, found, severity, excuse)


def _measured(rows: Records, interval: I64) -> Measured:
    """What the records have of the times between arrivals; `interval` in milliseconds."""
    buckets = np.stack([rows[name] for name in BUCKETS], axis=1)
    count, total, squares = (rows[name].copy() for name in ("measured", "total_ns", "squares"))
    return Measured(interval * MILLISECOND, count, total, squares.view(np.float64), buckets, EDGES)


def _keep(rows: Records, measured: Measured) -> None:
    rows["measured"], rows["total_ns"], rows["squares"] = measured.times, measured.total_ns, measured.squares.view(np.int64)
    for number, name in enumerate(BUCKETS):
        rows[name] = measured.buckets[:, number].copy()


def _latest(rows: Records, direction: I64, segments: Segments) -> tuple[I64, I64]:
    """When the latest octets of each direction watched arrived, and how often its clock had stepped before."""
    end = np.searchsorted(segments.direction, direction, side="right") - 1
    last = np.maximum(end, 0)
    if not len(segments.direction):
        return rows["now_ns"].copy(), rows["steps"].copy()
    arrived = (end >= 0) & (segments.direction[last] == direction)
    at, steps = segments.ts_ns[last], segments.steps[last]
    later = arrived & ((steps > rows["steps"]) | ((steps == rows["steps"]) & (at > rows["now_ns"])))
    return np.where(later, at, rows["now_ns"]), np.where(later, steps, rows["steps"])


def _in_time(interval: I64, late: float) -> I64:
    """The longest silences that are not late, in nanoseconds; whole milliseconds are compared, as intervals are agreed on in these."""
    most = np.floor(late * interval)
    most += (most + 1) / interval <= late  # the product may be rounded down
    longest: I64 = np.minimum((most + 1) * MILLISECOND - 1, LONGEST).astype(np.int64)
    return longest


def _watched(dialogue: Dialogue, sessions: WatchedSessions, before: pa.Table) -> Records:
    """The directions that are watched: those of earlier steps, and those that were agreed on in this one."""
    known = coded(before.column("stream_id"), dialogue.ids)
    direction = np.flatnonzero((sessions.agreed.reshape(-1) > 0) & np.repeat(sessions.connected.there, 2))
    old = known * 2 + integers(before.column("side"))
    new = direction[~np.isin(direction, old[known >= 0])]
    session, side = new // 2, new % 2
    since = {"now_ns": sessions.connected_ns(session, side), "steps": sessions.steps(session, side, sessions.connected)}
    numbers = {"session": session, "side": side, **since}
    rows = opened(LAYOUT, before, dialogue.ids, numbers, {})
    return rows.take(np.lexsort((rows["side"], rows["session"])))


def _sum(
    rows: Records, dialogue: Dialogue, sessions: WatchedSessions, found: Silences, severity: I64, excuse: I64, end: I64, limit: I64
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
    steps = sessions.clocks.steps_before(raw.direction[beat], raw.first_wire_order[beat])
    since, until = (sessions.steps(session, side, one)[watched] for one in (sessions.connected, None))
    counts = (steps > since) | ((steps == since) & (at_ns > opened_ns[watched]))
    counts &= (steps < until) | (at_ns <= end[watched]) | ~ended[session[watched]]
    fault = excuse < 0
    for name, which in (
        ("beats", watched[counts]), ("excused", found.watched[~fault]),
        ("late", found.watched[severity == HEARTBEAT_LATE]), ("violations", found.watched[severity == HEARTBEAT_VIOLATION]),
        ("dead", found.watched[severity == HEARTBEAT_DEAD]),
    ):
        rows[name] = rows[name] + np.bincount(which, minlength=count)
    np.maximum.at(rows["worst"], found.watched[fault], severity[fault])
    of = found.watched
    cut_off = (found.ender == ENDED_BY_CLOSE) & fault & _cut_off(sessions, session[of], side[of], found.start_ns + limit[of], found.stop_ns)
    np.maximum.at(rows["cut_ns"], of[cut_off], (found.stop_ns - found.start_ns)[cut_off])


def _cut_off(sessions: WatchedSessions, session: I64, side: I64, late_ns: I64, closed_ns: I64) -> Bools:
    """Silences of a side, late from `late_ns` on, that the other side may have ended for their length: it closed first.

    Not where it had another reason: a DISCONNECT, or an ERROR from before the silence was late.
    """
    closer = sessions.facts.ended_by[session]
    clocks = sessions.clocks
    left_ns = clocks.read_by(side, session, client_ns=sessions.disconnect.first_ns[session])
    refused_ns = clocks.read_by(side, session, server_ns=sessions.error.last_ns[session])
    agreed = sessions.disconnect.there[session] & (left_ns <= closed_ns)
    before = sessions.steps(session, side, sessions.error) < sessions.steps(session, side, None)
    refused = sessions.error.there[session] & (before | (refused_ns <= late_ns))
    cut_off: Bools = (closer >= 0) & (closer != side) & ~agreed & ~refused
    return cut_off


def _packets_lost(streams: pa.Table) -> Bools:
    """Per direction: more is missing than what the snapshot length cut off packets whose arrival is known."""
    lost_octets = np.zeros((streams.num_rows, 2), np.bool_)
    for side in (CLIENT, SERVER):
        suffix = words.DIRECTIONS[side]
        missing = np.maximum(integers(streams.column(f"inner_gap_octets_{suffix}"), 0), integers(streams.column(f"gap_octets_{suffix}"), 0))
        lost_octets[:, side] = missing > integers(streams.column(f"truncated_octets_{suffix}"), 0)
    return lost_octets.reshape(-1)
