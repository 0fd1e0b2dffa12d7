"""Beating: the EOLs that are heart-beats, and the intervals announced."""

from __future__ import annotations

import numpy as np

from stompcap.rules.case import Case
from stompcap.rules.record import Chapter, Judged
from stompcap.session.dialogue import EOL, FRAME, I64, Bools
from stompcap.session.heartbeat_header import parse
from stompcap.session.wire import integers
from stompcap.stomp.syntax import Syntax

BEATING = Chapter("Beats")
TRAILER_NS = 100_000_000  # line ends this soon behind a frame's NUL may still be its trailer, in a segment of its own


def standing_alone(case: Case) -> Bools:
    """Raw rows that are EOLs and no trailer of the frame before them."""
    raw = case.d.rows
    alone = (raw.kind == EOL) & ((raw.syntax & int(Syntax.BEFORE_FIRST | Syntax.AFTER_GAP)) == 0) & case.row_follows
    before = np.maximum(np.arange(len(raw)) - 1, 0)
    trailing = (raw.kind[before] == FRAME) & (raw.first_ns - raw.last_ns[before] < TRAILER_NS)
    same = (raw.kind[before] == EOL) & (raw.first_ns == raw.last_ns[before])
    beats: Bools = alone & ~trailing & ~same & np.isin(raw.kind[before], (FRAME, EOL))
    return beats


def agreed(case: Case) -> I64:
    """Intervals per session and side in milliseconds, 0 for none agreed, -1 where not known; shape (sessions, 2)."""
    table = case.tables["sessions"]
    return np.stack([integers(table.column(f"heartbeat_{way}_ms")) for way in ("c2s", "s2c")], axis=1)


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
def hb_04(case: Case) -> Judged:
    """A beat of 1.1 is a single LF.

    1.2 allows CRLF too. Judged at EOLs that stand alone in a direction with an interval agreed.

    An LF right behind a frame's NUL is its trailer, no beat. Several LFs of one capture time may be several beats in one
    segment: not evaluable.
    """
    raw = case.d.rows
    beats = standing_alone(case) & (agreed(case)[raw.session, raw.side] > 0)
    return Judged(beats, (raw.syntax & int(Syntax.EOL_CR)) != 0, "a beat that is CRLF", units=case.rows,
                  unevaluable=(raw.length > 1) & ((raw.syntax & int(Syntax.EOL_CR)) == 0))


@BEATING.rule(
    "HB-07", versions="1.1 1.2", side="both", level="I", observed="T",
    settles="when clear",
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
def hb_07(case: Case) -> Judged:
    """Beats are sent only where they were agreed on.

    EOLs standing alone in a direction without an interval, or before CONNECTED, are harmless and say that a side did not
    read the other's header. Not evaluable where no agreement was captured.

    A frame's trailer is no beat. EOLs before the first frame are FR-13's.
    """
    raw, s, d = case.d.rows, case.s, case.d
    interval = agreed(case)[raw.session, raw.side]
    connected = s.connected[raw.session]
    since = d.last_ns[np.maximum(connected, 0)] if len(d) else np.zeros(len(raw), np.int64)
    told = case.place(connected)
    early = (connected >= 0) & (raw.first_ns < since)
    return Judged(standing_alone(case), (interval == 0) | early, "EOLs between frames, though no heart-beats were agreed on yet",
                  units=case.rows, unevaluable=(interval < 0) | (connected < 0), told=told)


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
def hb_09(case: Case) -> Judged:
    """The intervals announced are sane.

    Below `heartbeat_sane_min_ms` (1 s) beats are a load and every delay a violation; above `heartbeat_sane_max_ms`
    (60 s) load balancers cut the connection off before a beat comes. Judged where a well-formed heart-beat header
    announces anything but 0,0.
    """
    has = np.flatnonzero(case.has("heart-beat", case.handshake))
    can, wants = parse(case.at(has, "heart-beat"))
    announced, odd = case.none(), case.none()
    announced[has] = (can > 0) | (wants > 0)
    low, high = case.limits.heartbeat_sane_min_ms, case.limits.heartbeat_sane_max_ms
    odd[has] = _outside(can, low, high) | _outside(wants, low, high)
    return Judged(announced, odd, "heart-beat:{heart-beat}")


def _outside(values: I64, low: float, high: float) -> Bools:
    """Which values are neither 0 nor within the bounds."""
    outside: Bools = (values > 0) & ((values < low) | (values > high))
    return outside


