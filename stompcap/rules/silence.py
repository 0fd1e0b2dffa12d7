"""Silence: what heart-beats were worth to the side that waited for them, and who ends silent connections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.beating import agreed
from stompcap.rules.case import Case
from stompcap.rules.columns import matched, truth
from stompcap.rules.errors import of_heartbeats
from stompcap.rules.heartbeating import places, session_of
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged, Units
from stompcap.session.dialogue import CLIENT, GAP, I8, I64, SERVER, Bools
from stompcap.session.wire import integers, sides

SILENCE = Chapter("Silence")
SECOND_NS = 1_000_000_000
CUT_OFFS_S = (60, 350)  # idle cut-offs of load balancers as shipped: AWS ELB, NLB
IDLE = r"(?i)connection ttl|heart-?\s?beat|timed? ?out|inactiv|idle"  # of an ERROR's message: the server heard nothing
FOREVER = np.iinfo(np.int64).max
ROUND = 0.02  # a cut-off is recognised within this part of it


class Waits(NamedTuple):
    """One entry per direction with an interval agreed: session, the side that sends, its longest gap, what is known."""

    session: I64
    side: I8
    interval_ms: I64
    longest_ms: I64
    evaluable: Bools


def _waits(case: Case) -> Waits:
    beats = case.tables["heartbeats"]
    return Waits(
        session_of(case, beats), sides(beats.column("direction")), integers(beats.column("interval_ms")),
        integers(beats.column("max_gap_ms")),
        truth(pc.not_equal(beats.column("verdict"), "not_evaluable").combine_chunks()),
    )


def end_of_stream(case: Case, session: I64, side: I8) -> Units:
    """Units at the end of a direction of sessions, at the time of the close."""
    s, streams = case.s, case.d.streams
    octets = np.stack([integers(streams.column(f"octets_{way}")) for way in ("c2s", "s2c")], axis=1)
    at = np.where(s.closed_ns >= 0, s.closed_ns, s.last_ns)[session]
    return Units(session.astype(np.int32), side, octets[session, side], at, s.version[session])


@SILENCE.rule(
    "HB-05", versions="1.1 1.2", side="both", level="S", observed="T",
    settles="at close",
    clause="1.2 and 1.1 Heart-beating",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:5000,0⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:0,5000⏎⏎␀
        wait 2s
        S: ERROR⏎message:heart-beat timeout⏎⏎␀
        S closes
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:5000,0⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:0,5000⏎⏎␀
        wait 15s
        S: ERROR⏎message:heart-beat timeout⏎⏎␀
        S closes
    """,
)
def hb_05(case: Case) -> Judged:
    """The side that waits for beats is tolerant of delays.

    Judged where that side closed the connection and no DISCONNECT was sent. Passes where the other had been silent for
    longer than the interval and its margin (`heartbeat_late`, 1.1 times); fails where it had not, and an ERROR of the
    server gives heart-beats as the reason. A close without a reason is not evaluable: most have another.

    RabbitMQ gives no reason at all. The closing side is the one whose FIN or RST came first.
    """
    w, s = _waits(case), case.s
    waiting = (1 - w.side).astype(np.int8)
    closed = np.stack([case.ends.closed_first(side) for side in (CLIENT, SERVER)], axis=1)[w.session, waiting]
    complains = np.zeros(case.d.sessions, bool)
    errors = np.flatnonzero(case.of("ERROR"))
    complains[case.d.session[errors]] = of_heartbeats(case)[errors]  # the last one is the reason
    silent = w.longest_ms > w.interval_ms * case.limits.heartbeat_late
    gone = closed & (s.disconnect < 0)[w.session]
    wrong = gone & ~silent & (waiting == SERVER) & complains[w.session]

    def say(index: I64) -> pa.Array:
        gap, interval = (pa.array(values[index]).cast(pa.string()) for values in (w.longest_ms, w.interval_ms))
        return pc.binary_join_element_wise("closed for want of heart-beats after ", gap, " ms, ", interval, " ms agreed", "")

    return Judged(gone, wrong, say, unevaluable=~wrong & ~(silent & w.evaluable),
                  units=end_of_stream(case, w.session, w.side), blamed=waiting)


@SILENCE.rule(
    "HB-06", versions="1.1 1.2", side="both", level="I", observed="T",
    clause="1.2 and 1.1 Heart-beating",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:1000,0⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:0,1000⏎⏎␀
        wait 9s
        C: ⏎
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:1000,0⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:0,1000⏎⏎␀
        wait 3s
        S closes
    """,
)
def hb_06(case: Case) -> Judged:
    """The side that waits for beats gives up a dead peer.

    A peer silent for more than `heartbeat_dead` (3) intervals is as good as gone; who keeps such a connection does not
    notice half-open ones. Judged at each gap that is a violation or worse: passes where the waiting side closed by one interval
    behind that limit, for a side that looks once an interval notices no sooner; fails where the gap went on. Gaps excused
    by loss or a closed window, and shorter ones that something else ended, are not evaluable. After how many intervals a
    peer was given up is in `heartbeats.cut_off_after_intervals`.
    """
    gaps = case.tables["heartbeat_violations"]
    session, side = session_of(case, gaps), sides(gaps.column("direction"))
    waiting = (1 - side).astype(np.int8)
    start, stop = integers(gaps.column("gap_start_ns")), integers(gaps.column("gap_end_ns"))
    limit = (integers(gaps.column("interval_ms")) * (case.limits.heartbeat_dead + 1) * 1e6).astype(np.int64)
    closed = np.stack([case.ends.closed_first(side) for side in (CLIENT, SERVER)], axis=1)[session, waiting]
    kept_on = stop - start > limit
    gave_up = closed & truth(pc.equal(gaps.column("ended_by"), "close").combine_chunks()) & ~kept_on
    excused = truth(gaps.column("excused").combine_chunks().is_valid())
    serious = truth(pc.not_equal(gaps.column("severity"), "late").combine_chunks())

    def say(index: I64) -> pa.Array:
        few = gaps.select(["gap_ms", "interval_ms"]).take(pa.array(index))
        lasted, interval = (column.combine_chunks().cast(pa.string()) for column in few.columns)
        return pc.binary_join_element_wise("kept the connection through a silence of ", lasted, " ms, ", interval, " ms agreed", "")

    return Judged(serious, kept_on, say, unevaluable=excused | (~kept_on & ~gave_up),
                  units=places(case, side, session, start), blamed=waiting)


@SILENCE.rule(
    "HB-08", versions=ALL_VERSIONS, side="server", level="I", observed="T",
    settles="at close",
    clause="1.2 and 1.1 Heart-beating; 1.0 (by silence)",
    breaks="""
        in 1.2
        wait 60s
        S closes
    """,
    keeps="""
        in 1.2
        wait 60s
        C: DISCONNECT⏎⏎␀
        C closes
    """,
)
def hb_08(case: Case) -> Judged:
    """A silent connection is not cut off where no heart-beats were agreed on.

    Judged at the close of a session in which the client owed no beats: fails where the server's side closed it, without
    DISCONNECT or an ERROR about anything else, after both were silent for `idle_close_s` (10 s) or longer; other closes
    pass. Not evaluable where octets are missing.

    Artemis cuts off clients of 0,0 and of 1.0 after 60 s (connection-ttl), and says so in an ERROR first. A load balancer
    between does so too, mostly by a RST at a round time, 60 s (ELB) or 350 s (NLB): the evidence says where the silence
    fits one.
    """
    s, ends, raw = case.s, case.ends, case.d.rows
    complains = (s.error >= 0) & matched(case.at(s.error, "message"), IDLE)
    ended = np.where(complains, case.d.first_ns[s.error] if len(case.d) else s.error, s.closed_ns)
    heard = np.full(case.d.sessions, -1, np.int64)
    seen = (raw.kind != GAP) & (raw.last_ns < np.where(complains, ended, FOREVER)[raw.session])
    np.maximum.at(heard, raw.session[seen], raw.last_ns[seen])
    closed = (s.connected >= 0) & (s.closed_ns >= 0) & (agreed(case)[:, CLIENT] <= 0)
    session = np.flatnonzero(closed)
    idle = (ended - heard)[session]
    cut = ends.closed_by_server[session] & (s.disconnect < 0)[session] & ((s.error < 0) | complains)[session]
    cut &= idle >= case.limits.ns("idle_close_s")
    lost = (s.gaps_c2s | s.gaps_s2c | ~s.start_c2s | ~s.start_s2c)[session]
    return Judged(np.ones(len(session), bool), cut, lambda index: idleness(case, session[index], idle[index]), unevaluable=lost,
                  units=end_of_stream(case, session, np.full(len(session), SERVER, np.int8)))


def idleness(case: Case, session: I64, idle_ns: I64) -> pa.Array:
    """Evidence about a close: by what, after how long a silence, and which cut-off that fits."""
    how = case.d.streams.column("close_kind").combine_chunks().take(pa.array(session))
    seconds = np.maximum(idle_ns, 0) / SECOND_NS
    said = []
    for kind, second in zip(how.to_pylist(), seconds.tolist(), strict=True):
        fits = [at for at in CUT_OFFS_S if abs(second - at) <= ROUND * at]
        said.append(f"{kind} after {second:.3f} s of silence" + (f", like a cut-off at {fits[0]} s" if fits else ""))
    return pa.array(said, pa.string())
