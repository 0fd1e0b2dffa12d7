"""Silence: what heart-beats were worth to the side that waited for them, and who ends silent connections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, SERVER
from stompcap.columns import I64, Bools, integers, truth
from stompcap.rules.closing.connection import idleness
from stompcap.rules.context import RuleContext
from stompcap.rules.errors.consequences import HEART_BEAT
from stompcap.rules.heartbeats.beats import agreed
from stompcap.rules.heartbeats.intervals import gap_units, session_of
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.rules.text_masks import matched
from stompcap.session.clocks import LAST
from stompcap.session.wire import sides

SILENCE = Chapter("Silence")
IDLE = r"(?i)connection ttl|heart-?\s?beat|timed? ?out|inactiv|idle"  # of an ERROR's message: the server heard nothing


class Waits(NamedTuple):
    """One entry per direction with an interval agreed: session, the side that sends, its longest gap, what is known."""

    session: I64
    side: I64
    interval_ms: I64
    longest_ms: I64
    evaluable: Bools


def _waits(ctx: RuleContext) -> Waits:
    beats = ctx.tables["heartbeats"]
    return Waits(
        session_of(ctx, beats), sides(beats.column("direction")), integers(beats.column("interval_ms")),
        integers(beats.column("max_gap_ms")),
        truth(pc.not_equal(beats.column("verdict"), "not_evaluable").combine_chunks()),
    )


@SILENCE.rule(
    "HB-05", versions="1.1 1.2", side="both", level="S", observed="T",
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
def hb_05(ctx: RuleContext) -> Judged:
    """The side that waits for beats is tolerant of delays.

    Judged where that side closed the connection and no DISCONNECT was sent. Passes where the other had been silent for
    longer than the interval and its margin (`heartbeat_late`, {heartbeat_late} times); fails where it had not, and an ERROR of the
    server gives heart-beats as the reason. A close without a reason is not evaluable: most have another.

    RabbitMQ gives no reason at all. The closing side is the one whose Close of WebSocket, close_notify of TLS, FIN or RST came first.
    """
    w = _waits(ctx)
    waiting = (1 - w.side).astype(np.int64)
    closed = np.stack([ctx.ends.closed_first(side) for side in (CLIENT, SERVER)], axis=1)[w.session, waiting]
    reason = ctx.first["last_error"]
    complains = matched(reason.header("message"), HEART_BEAT) | matched(reason.column("body_preview"), HEART_BEAT)
    silent = w.longest_ms > w.interval_ms * ctx.limits.heartbeat_late
    left = closed & ~ctx.first["disconnect"].there[w.session]
    wrong = left & ~silent & (waiting == SERVER) & complains[w.session]

    def say(index: I64) -> pa.Array:
        gap, interval = (pa.array(values[index]).cast(pa.string()) for values in (w.longest_ms, w.interval_ms))
        return pc.binary_join_element_wise("closed for want of heart-beats after ", gap, " ms, ", interval, " ms agreed", "")

    return Judged(left, wrong, say, unevaluable=~wrong & ~(silent & w.evaluable),
                  units=ctx.end_of_stream(w.session, w.side), blamed=waiting)


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
def hb_06(ctx: RuleContext) -> Judged:
    """The side that waits for beats gives up a dead peer.

    A peer silent for more than `heartbeat_dead` ({heartbeat_dead}) intervals is as good as gone; who keeps such a connection does not
    notice half-open ones. Judged at each gap that is a violation or worse: passes where the waiting side closed by one interval
    behind that limit, for a side that looks once an interval notices no sooner; fails where the gap went on. Gaps excused
    by loss or a closed window, and shorter ones that something else ended, are not evaluable. After how many intervals a
    peer was given up is in `heartbeats.cut_off_after_intervals`.
    """
    gaps = ctx.tables["heartbeat_violations"]
    session, side = session_of(ctx, gaps), sides(gaps.column("direction"))
    waiting = (1 - side).astype(np.int64)
    start, stop = integers(gaps.column("gap_start_ns")), integers(gaps.column("gap_end_ns"))
    limit = integers(gaps.column("interval_ms")) * (ctx.limits.heartbeat_dead + 1) * 1e6
    closed = np.stack([ctx.ends.closed_first(side) for side in (CLIENT, SERVER)], axis=1)[session, waiting]
    kept_on = stop - start > limit
    gave_up = closed & truth(pc.equal(gaps.column("ended_by"), "close").combine_chunks()) & ~kept_on
    excused = truth(gaps.column("excused").combine_chunks().is_valid())
    serious = truth(pc.not_equal(gaps.column("severity"), "late").combine_chunks())

    def say(index: I64) -> pa.Array:
        few = gaps.select(["gap_ms", "interval_ms"]).take(pa.array(index))
        lasted, interval = (column.combine_chunks().cast(pa.string()) for column in few.columns)
        return pc.binary_join_element_wise("kept the connection through a silence of ", lasted, " ms, ", interval, " ms agreed", "")

    return Judged(serious, kept_on, say, unevaluable=excused | (~kept_on & ~gave_up),
                  units=gap_units(ctx, side, session, start), blamed=waiting)


@SILENCE.rule(
    "HB-08", versions=ALL_VERSIONS, side="server", level="I", observed="T",
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
def hb_08(ctx: RuleContext) -> Judged:
    """A silent connection is not cut off where no heart-beats were agreed on.

    Judged at the close of a session in which the client owed no beats: fails where the server's side closed it, without
    DISCONNECT or an ERROR about anything else, after both were silent for `idle_close_s` ({idle_close_s}) or longer; other closes
    pass. Not evaluable where octets are missing, or the clocks of both directions cannot be compared.

    Artemis cuts off clients of 0,0 and of 1.0 after 60 s (connection-ttl), and says so in an ERROR first. A load balancer
    between does so too, mostly by a RST at a round time, 60 s (ELB) or 350 s (NLB): the evidence says where the silence
    fits one.
    """
    s, error = ctx.sessions, ctx.first["error"]
    complains = matched(error.header("message"), IDLE)
    ended = np.where(complains, error.first_ns, s.closed_ns)
    session = np.flatnonzero(ctx.closing & ctx.first["connected"].there & (s.closed_ns >= 0) & (agreed(ctx)[:, CLIENT] <= 0))
    idle = (ended - s.heard_ns)[session]
    cut = (ctx.ends.closed_by_server & ~ctx.first["disconnect"].there & (~error.there | complains))[session]
    cut &= idle >= ctx.limits.ns("idle_close_s")
    lost: Bools = (ctx.ends.lost | ~s.start).max(axis=1)[session]
    lost |= ~ctx.clocks.comparable(session, np.maximum(s.frames.sum(axis=1) - 1, 0)[session], np.full(len(session), LAST))
    return Judged(np.ones(len(session), bool), cut, lambda index: idleness(ctx, session[index], idle[index]), unevaluable=lost,
                  units=ctx.end_of_stream(session, np.full(len(session), SERVER, np.int64)))
