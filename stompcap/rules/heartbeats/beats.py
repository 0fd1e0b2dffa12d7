"""Beating: the EOLs that are heart-beats, and the intervals announced."""

from __future__ import annotations

import numpy as np

from stompcap.codes import EOL, FRAME, GAP, SERVER
from stompcap.columns import I64, Bools, integers
from stompcap.rules.context import RuleContext
from stompcap.rules.record import Chapter, Judged
from stompcap.session.heartbeats.header import parse
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words

BEATING = Chapter("Beats")
TRAILER_NS = 100_000_000  # line ends this soon behind a frame's NUL may still be its trailer, in a segment of its own


def standing_alone(ctx: RuleContext) -> Bools:
    """Raw rows that are EOLs and no trailer of the frame before them."""
    raw = ctx.raw
    alone = (raw.kind == EOL) & ~ctx.view.bits(Syntax.BEFORE_FIRST | Syntax.AFTER_GAP) & raw.follows
    before = np.maximum(np.arange(len(raw)) - 1, 0)
    trailing = (raw.kind[before] == FRAME) & (raw.first_ns - raw.last_ns[before] < TRAILER_NS)
    same = (raw.kind[before] == EOL) & (raw.first_ns == raw.last_ns[before])
    beats: Bools = alone & ~trailing & ~same & np.isin(raw.kind[before], (FRAME, EOL))
    return beats


def agreed(ctx: RuleContext) -> I64:
    """Intervals per session and side in milliseconds, 0 for none agreed, -1 where not known; shape (sessions, 2)."""
    table = ctx.tables["sessions"]
    return np.stack([integers(table.column(f"heartbeat_{name}_ms")) for name in words.DIRECTIONS], axis=1)


@BEATING.rule(
    "HB-04", versions="1.1", side="both", level="M", observed="F",
    clause="1.1 Heart-beating",
    breaks="""
        C: CONNECT⏎accept-version:1.1⏎host:h⏎heart-beat:1000,0⏎⏎␀
        S: CONNECTED⏎version:1.1⏎heart-beat:0,1000⏎⏎␀
        wait 1s
        C: ␍⏎
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.1⏎host:h⏎heart-beat:1000,0⏎⏎␀
        S: CONNECTED⏎version:1.1⏎heart-beat:0,1000⏎⏎␀
        wait 1s
        C: ⏎
    """,
)
def hb_04(ctx: RuleContext) -> Judged:
    """A beat of 1.1 is a single LF.

    1.2 allows CRLF too. Judged at EOLs that stand alone in a direction with an interval agreed.

    An LF right behind a frame's NUL is its trailer, no beat. Several LFs of one capture time may be several beats in one
    segment: not evaluable.
    """
    raw, crlf = ctx.raw, ctx.view.bits(Syntax.EOL_CR)
    beats = standing_alone(ctx) & (agreed(ctx)[raw.session, raw.side] > 0)
    return Judged(beats, crlf, "a beat that is CRLF", units=ctx.rows, unevaluable=(raw.length > 1) & ~crlf)


@BEATING.rule(
    "HB-07", versions="1.1 1.2", side="both", level="I", observed="T",
    clause="1.2 and 1.1 Heart-beating",
    breaks="""
        in 1.2
        wait 5s
        C: ⏎
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:1000,0⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:0,1000⏎⏎␀
        wait 1s
        C: ⏎
    """,
)
def hb_07(ctx: RuleContext) -> Judged:
    """Beats are sent only where they were agreed on.

    EOLs standing alone in a direction without an interval, or before CONNECTED, are harmless and say that a side did not
    read the other's header. Not evaluable where the agreement was not captured, or a CONNECTED may have been lost before.

    A frame's trailer is no beat. EOLs before the first frame are FR-13's.
    """
    raw, connected = ctx.raw, ctx.first["connected"]
    interval = agreed(ctx)[raw.session, raw.side]
    begun_ns = ctx.clocks.read_by(raw.side, raw.session, server_ns=connected.last_ns[raw.session])
    steps = ctx.clocks.steps_before(raw.direction, raw.first_wire_order)
    begun = ctx.clocks.steps_until(raw.direction, connected.ordinal[raw.session])
    early = ~connected.there[raw.session] | (steps < begun) | ((steps == begun) & (raw.first_ns < begun_ns))
    return Judged(standing_alone(ctx), (interval == 0) | early, "EOLs between frames, though no heart-beats were agreed on yet",
                  units=ctx.rows, unevaluable=np.where(early, _missed_s2c(ctx), interval < 0))


def _missed_s2c(ctx: RuleContext) -> Bools:
    """Raw rows before which octets of the server may be missing."""
    raw, sessions = ctx.raw, ctx.dialogue.sessions
    gap = np.flatnonzero((raw.kind == GAP) & (raw.side == SERVER))
    before = ctx.sessions.gaps[:, SERVER] - np.bincount(raw.session[gap[~raw.context[gap]]], minlength=sessions)
    since = np.full(sessions, np.iinfo(np.int64).max)  # where the first gap at hand begins
    np.minimum.at(since, raw.session[gap], raw.rising_order[gap])
    missed: Bools = raw.rising_order > since[raw.session]
    missed |= raw.peer_unseen | ~ctx.sessions.start[raw.session, SERVER] | (before[raw.session] > 0)
    return missed


@BEATING.rule(
    "HB-09", versions="1.1 1.2", side="both", level="I", observed="H",
    clause="1.2 and 1.1 Heart-beating",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:1,1⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:10000,0⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def hb_09(ctx: RuleContext) -> Judged:
    """The intervals announced are sane.

    Below `heartbeat_sane_min_ms` ({heartbeat_sane_min_ms}) beats are a load and every delay a violation; above `heartbeat_sane_max_ms`
    ({heartbeat_sane_max_ms}) load balancers cut the connection off before a beat comes. Judged where a well-formed heart-beat header
    announces anything but 0,0.
    """
    has = np.flatnonzero(ctx.has("heart-beat", ctx.handshake))
    can, wants = parse(ctx.at(has, "heart-beat"))
    announced, outside = ctx.none(), ctx.none()
    announced[has] = (can > 0) | (wants > 0)
    low, high = ctx.limits.heartbeat_sane_min_ms, ctx.limits.heartbeat_sane_max_ms
    outside[has] = _outside(can, low, high) | _outside(wants, low, high)
    return Judged(announced, outside, "heart-beat:{heart-beat}")


def _outside(values: I64, low: float, high: float) -> Bools:
    """Which values are neither 0 nor within the bounds."""
    outside: Bools = (values > 0) & ((values < low) | (values > high))
    return outside


