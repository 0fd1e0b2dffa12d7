"""Connection: how connections end, and by whom."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, CLOSE_RST, SERVER
from stompcap.columns import I64, flat
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.clocks import LAST
from stompcap.units import duration

CLOSING = Chapter("Closing")
SECOND_NS = 1_000_000_000
CUT_OFFS_S = (60, 350)  # idle cut-offs of load balancers as shipped: AWS ELB, NLB
PEERS = ("client", "broker")
ROUND = 0.02  # a cut-off is recognised within this part of it


@CLOSING.rule(
    "DS-04", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    clause="1.2 and 1.1 DISCONNECT; 1.0 DISCONNECT",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎␀
        C closes
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎␀
        C: DISCONNECT⏎⏎␀
        C closes
        S closes
    """,
)
def ds_04(ctx: RuleContext) -> Judged:
    """The client says DISCONNECT before it closes.

    1.0 calls it polite. Judged at sessions that were connected and that the client closed first. Not evaluable where
    octets are missing, or an ERROR came before, after which there is nobody left to be polite to.

    What was sent just before an abrupt close, without a receipt, may be lost.
    """
    session = np.flatnonzero(ctx.closing & ctx.first["connected"].there & ctx.ends.closed_by_client)
    rude = ~ctx.first["disconnect"].there[session]
    unsure = (~ctx.ends.whole.all(axis=1) | ctx.first["error"].there)[session]
    return Judged(np.ones(len(session), bool), rude, "the client closed without DISCONNECT", unevaluable=rude & unsure,
                  units=ctx.end_of_stream(session, np.full(len(session), CLIENT, np.int64)))


@CLOSING.rule(
    "DS-07", versions=ALL_VERSIONS, side="both", level="I", observed="T",
    clause="1.2 and 1.1 DISCONNECT, Connection Lingering",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎␀
        wait 3s
        C resets
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_07(ctx: RuleContext) -> Judged:
    """A connection is ended by FIN, not reset.

    A RST may throw away what the other side has not read yet. The evidence names the side and how long nothing had been
    heard before: the basis of idle cut-offs and heart-beat verdicts; or, where it came behind a FIN, how long the connection had
    been closed by then. Judged at every connection that was closed, for the side that reset it or closed it first; not evaluable
    where a FIN before the RST may have been lost.

    A load balancer's RST looks as if it were the server's.
    """
    s = ctx.sessions
    session = np.flatnonzero(ctx.closing & (s.closed_ns >= 0))
    by = s.reset_by[session]
    reset = by >= 0
    side = np.where(reset, by, np.where(s.closed_by[session] == SERVER, SERVER, CLIENT)).astype(np.int64)
    lost = (ctx.ends.lost.any(axis=1) | (s.closed_by < 0))[session]
    return Judged(np.ones(len(session), bool), reset, lambda index: _resetting(ctx, session[index], side[index]),
                  unevaluable=reset & lost, units=ctx.end_of_stream(session, side))


def _resetting(ctx: RuleContext, session: I64, side: I64) -> pa.Array:
    """Evidence about a RST of these sides: how long nothing had been heard or, behind a FIN, whose that was and how long ago.

    Clocks that differ are read as one; where one stepped since the last frame, or there are no times, nobody knows how long.
    """
    s = ctx.sessions
    last = np.maximum(s.frames.sum(axis=1) - 1, 0)[session]
    timed = ctx.clocks.together(session, last, np.full(len(session), LAST)) & (s.closed_ns[session] > 0)
    closed = np.stack([_closed_ns(ctx, session, one) for one in (CLIENT, SERVER)], axis=1)
    idle = (closed - s.spoke_ns[session]).min(axis=1)
    behind = np.maximum(s.reset_ns[session] - closed[np.arange(len(side)), side], 0) / 1000
    evidence = []
    for one, by, known, second, later in zip(session.tolist(), side.tolist(), timed.tolist(), _seconds(idle), behind.tolist(), strict=True):
        if s.close_kind[one] == CLOSE_RST:
            evidence.append(f"{PEERS[by]} reset the connection" + (f" after {_silence(second)}" if known else ""))
            continue
        closer = s.closed_by[one]
        whose = "it" if closer == by else f"the {PEERS[closer]}" if closer in (CLIENT, SERVER) else "a side"
        evidence.append(f"{PEERS[by]} reset the connection, {f'{duration(later)} ' if known else ''}after {whose} closed it")
    return pa.array(evidence, pa.string())


def _closed_ns(ctx: RuleContext, session: I64, side: int) -> I64:
    """When the connection was closed, as this side's clock would have told it."""
    closed_ns = ctx.sessions.closed_ns[session]
    by_server, by_client = ctx.clocks.read_by(side, session, server_ns=closed_ns), ctx.clocks.read_by(side, session, client_ns=closed_ns)
    return np.where(ctx.sessions.closed_by[session] == SERVER, by_server, by_client)


def _seconds(ns: I64) -> list[float]:
    found: list[float] = (np.maximum(ns, 0) / SECOND_NS).tolist()
    return found


def _silence(seconds: float) -> str:
    """How long a silence was, and which cut-off that fits."""
    fits = [at for at in CUT_OFFS_S if abs(seconds - at) <= ROUND * at]
    return f"{seconds:.3f} s of silence" + (f", like a cut-off at {fits[0]} s" if fits else "")


def idleness(ctx: RuleContext, session: I64, idle_ns: I64) -> pa.Array:
    """Evidence about a close: by what, after how long a silence, and which cut-off that fits."""
    how = flat(ctx.dialogue.streams.column("close_kind")).take(pa.array(session)).to_pylist()
    return pa.array([f"{kind} after {_silence(second)}" for kind, second in zip(how, _seconds(idle_ns), strict=True)], pa.string())
