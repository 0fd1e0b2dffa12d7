"""Tables heartbeats and heartbeat_violations of the lake."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stompcap.codes import HEARTBEAT_LATE, HEARTBEAT_NOT_EVALUABLE, HEARTBEAT_OK, HEARTBEAT_VIOLATION
from stompcap.columns import I64, timestamps, worded
from stompcap.session.heartbeats.follow import MILLISECOND, FollowedHeartbeats, WatchedSessions
from stompcap.session.heartbeats.records import BUCKETS, EDGES
from stompcap.session.layout import Records
from stompcap.tables import words
from stompcap.tables.gold import HEARTBEAT_VIOLATIONS, HEARTBEATS


def heartbeat_violations_table(
    ids: pa.Array, sessions: WatchedSessions, followed: FollowedHeartbeats
) -> pa.Table:
    """Table heartbeat_violations; `ids` of the sessions."""
    rows, found = followed.rows, followed.silences
    of = found.watched
    session, side = rows["session"][of], rows["side"][of]
    interval, gap_ms = sessions.agreed[session, side], (found.stop_ns - found.start_ns) // MILLISECOND
    return pa.table(
        {
            "stream_id": ids.take(pa.array(session)),
            "direction": worded(side, words.DIRECTIONS),
            "gap_start_ns": pa.array(found.start_ns),
            "gap_end_ns": pa.array(found.stop_ns),
            "gap_start_ts": timestamps(found.start_ns),
            "gap_ms": pa.array(gap_ms),
            "interval_ms": pa.array(interval),
            "ratio": pa.array(gap_ms / interval),
            "severity": worded(followed.severity - HEARTBEAT_LATE, words.HEARTBEAT_SEVERITIES),
            "ended_by": worded(found.ender, words.GAP_ENDERS),
            "excused": worded(followed.excuse, words.EXCUSES),
        },
        schema=HEARTBEAT_VIOLATIONS.arrow,
    )


def heartbeats_table(rows: Records, ids: pa.Array, sessions: WatchedSessions) -> pa.Table:
    """Table heartbeats, of the sessions that close."""
    rows = rows.take(np.flatnonzero(sessions.closing[rows["session"]]))
    session, side = rows["session"], rows["side"]
    interval, facts = sessions.agreed[session, side], sessions.facts
    end = np.where(facts.closed_ns[session] >= 0, sessions.closed_ns(session, side), facts.last_ns[session])
    opened_ns = sessions.connected_ns(session, side)
    stepped = sessions.steps(session, side, sessions.connected) < sessions.steps(session, side, None)
    unclear = np.where(rows["gaps"] == rows["excused"], HEARTBEAT_OK, np.where(stepped, HEARTBEAT_VIOLATION, -1))  # up to which verdict
    verdict = np.where(rows["worst"] <= unclear, HEARTBEAT_NOT_EVALUABLE, rows["worst"])
    columns = rows.columns(HEARTBEATS, ids) | {
        "direction": worded(side, words.DIRECTIONS),
        "interval_ms": pa.array(interval),
        "max_gap_ms": pa.array(rows["longest_ns"] // MILLISECOND, mask=rows["gaps"] == 0),
        **_spread(rows, interval),
        "cut_off_after_intervals": pa.array(rows["cut_ns"] / (interval.astype(np.float64) * MILLISECOND), mask=rows["cut_ns"] == 0),
        "observed_ms": pa.array(np.maximum(end - opened_ns, 0) // MILLISECOND, mask=(opened_ns == 0) | stepped),
        "verdict": worded(verdict, words.HEARTBEAT_VERDICTS),
    }
    return pa.table(columns).select(HEARTBEATS.arrow.names).cast(HEARTBEATS.arrow)


def _spread(rows: Records, interval: I64) -> dict[str, pa.Array]:
    """Mean, deviation and 99th percentile of the times between arrivals, in milliseconds; `interval` too."""
    count = np.maximum(rows["measured"], 1)
    mean = rows["total_ns"] / count / MILLISECOND
    variance = np.maximum(rows["squares"].view(np.float64) / count - mean**2, 0)
    found = {"mean_gap_ms": mean, "sd_gap_ms": np.sqrt(variance), "p99_gap_ms": _percentile(rows, interval, 0.99)}
    return {name: pa.array(np.round(values, 3), mask=rows["measured"] == 0) for name, values in found.items()}


def _percentile(rows: Records, interval: I64, share: float) -> npt.NDArray[np.float64]:
    """A percentile by the histogram, in milliseconds: within its bucket as if the times were spread evenly, never above the longest."""
    buckets = np.stack([rows[name] for name in BUCKETS], axis=1)
    every, wanted = np.arange(len(rows)), np.maximum(rows["measured"], 1) * share
    so_far = np.cumsum(buckets, axis=1)
    bucket = np.argmax(so_far >= wanted[:, None], axis=1)
    longest = rows["longest_ns"] / MILLISECOND
    lower = np.minimum(np.append(0, EDGES)[bucket] * interval, longest)
    upper = np.minimum(np.append(EDGES, np.inf)[bucket] * interval, longest)
    inside = buckets[every, bucket]
    part = (wanted - (so_far[every, bucket] - inside)) / np.maximum(inside, 1)
    found: npt.NDArray[np.float64] = lower + part * (upper - lower)
    return found
