"""Heart-beating: whether each side sends something often enough."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, SERVER
from stompcap.columns import I64, coded, first_above, flat, truth
from stompcap.rules.context import RuleContext
from stompcap.rules.errors.consequences import of_heartbeats
from stompcap.rules.record import Chapter, Judged, Units
from stompcap.tables import words

HEARTBEATING = Chapter("Heart-beating")


def _gaps(ctx: RuleContext, side: int) -> tuple[Judged, Judged]:
    """The gaps of the table heartbeats: those that are violations or worse one by one, the others by their number."""
    violations, beats = ctx.tables["heartbeat_violations"], ctx.tables["heartbeats"]
    violations = violations.filter(pc.and_(pc.not_equal(violations["severity"], "late"),
                                           pc.equal(violations["direction"], words.DIRECTIONS[side])))
    beats = beats.filter(pc.equal(beats["direction"], words.DIRECTIONS[side]))
    each, rest = session_of(ctx, violations), session_of(ctx, beats)
    excused = truth(violations["excused"].combine_chunks().is_valid())
    broken = np.asarray(pc.add(beats["violations"], beats["dead"]))
    evidence = pc.binary_join_element_wise(
        "nothing for ", violations["gap_ms"].cast(pa.string()), " ms, ", violations["interval_ms"].cast(pa.string()),
        " ms agreed; ended by ", violations["ended_by"], "",
    )
    unclear = truth(pc.equal(beats["verdict"], "not_evaluable").combine_chunks())
    gaps = np.asarray(beats["gaps"])
    return (
        Judged(
            np.ones(len(each), bool), np.ones(len(each), bool),
            lambda index: flat(evidence).take(pa.array(index)),
            unevaluable=excused,
            units=gap_units(ctx, np.full(len(each), side, np.int64), each, np.asarray(violations["gap_start_ns"])),
        ),
        Judged(
            gaps > broken, np.zeros(len(rest), bool),
            unevaluable=unclear,
            units=gap_units(ctx, np.full(len(rest), side, np.int64), rest, np.zeros(len(rest), np.int64)),
            weight=gaps - broken,
        ),
    )


def session_of(ctx: RuleContext, table: pa.Table) -> I64:
    """The session of each row of a table of the analysis."""
    return coded(table.column("stream_id"), flat(ctx.dialogue.streams.column("stream_id")))


def gap_units(ctx: RuleContext, side: I64, session: I64, since_ns: I64) -> Units:
    """Gaps as units: each lies behind the octet that came last before it, looked up in the direction's rows."""
    raw, rows = ctx.raw, ctx.by_time
    offset = np.zeros(len(session), np.int64)
    if len(session) and len(rows):
        direction, wanted = raw.direction[rows], session * np.int64(2) + side
        begin, end = (np.searchsorted(direction, wanted, which) for which in ("left", "right"))
        behind = first_above(wanted, since_ns, direction, raw.last_ns[rows])
        before = np.where(behind < 0, end, behind) - 1
        last = rows[np.maximum(before, 0)]
        offset = np.where(before >= begin, raw.offset[last] + raw.length[last], 0)
    return Units(session.astype(np.int64), side, offset, since_ns, ctx.sessions.version[session])


@HEARTBEATING.rule(
    "HB-01", versions="1.1 1.2", side="client", level="M", observed="T",
    clause="1.2 and 1.1 Heart-beating",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:1000,0⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:0,1000⏎⏎␀
        wait 5s
        C: ⏎
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:1000,0⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:0,1000⏎⏎␀
        wait 1s
        C: ⏎
        wait 1s
        C: ⏎
    """,
)
def hb_01(ctx: RuleContext) -> tuple[Judged, Judged]:
    """The client sends something within the interval agreed.

    The interval is the larger of what the client can do and what the server wants, none if either is 0. Any new
    octet counts, so do fragments of a large frame; retransmissions and keep-alives do not. Judged from CONNECTED
    on, gap by gap, from the table heartbeats: fails from severity violation ({heartbeat_violation} times the interval) on, since most
    libraries beat exactly at the interval and so always a little late. Where the capture lost octets, or the peer's
    window was shut, a gap is excused: not evaluable.
    """
    return _gaps(ctx, CLIENT)


@HEARTBEATING.rule(
    "HB-02", versions="1.1 1.2", side="server", level="M", observed="T",
    clause="1.2 and 1.1 Heart-beating",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:0,1000⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:1000,0⏎⏎␀
        wait 5s
        S: ⏎
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:0,1000⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:1000,0⏎⏎␀
        wait 1s
        S: ⏎
        wait 1s
        S: ⏎
    """,
)
def hb_02(ctx: RuleContext) -> tuple[Judged, Judged]:
    """The server sends something within the interval agreed.

    As HB-01, the other way: the larger of what the server can do and what the client wants. ActiveMQ leaves gaps of
    up to twice the interval by design; RabbitMQ and Apollo beat twice as often as they must.
    """
    return _gaps(ctx, SERVER)


@HEARTBEATING.rule(
    "HB-03", versions="1.1 1.2", side="both", level="M", observed="S",
    clause="1.2 and 1.1 Heart-beating",
    breaks="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:100,100⏎⏎␀
        wait 2s
        S: ERROR⏎message:no heartbeat received⏎⏎␀
        S closes
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎heart-beat:100,100⏎⏎␀
    """,
)
def hb_03(ctx: RuleContext) -> Judged:
    """Without a heart-beat header no beats are expected.

    Who leaves the header out has said 0,0, so nothing is agreed. Fails where the server complains of missing heart-beats to
    a client that never offered any.

    To announce beats to such a client, as CoilMQ does, is harmless.
    """
    d, connect, connected = ctx.dialogue, ctx.first["connect"], ctx.first["connected"]
    client_silent, server_silent = (~truth(first.header("heart-beat").is_valid())[d.session] for first in (connect, connected))
    asked = ctx.facts.connects_before > 0
    complaint = of_heartbeats(ctx) & asked & (ctx.facts.connected_ns >= 0) & client_silent
    return Judged((ctx.greeting & asked & (client_silent | server_silent)) | complaint, complaint,
                  "the client offered no heart-beats: {message}")
