"""Connection: how connections end, and by whom."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.columns import I64, flat
from stompcap.session.dialogue import CLIENT, SERVER
from stompcap.tables import words

CLOSING = Chapter("Closing")
RST = words.CLOSE_KINDS.index("rst")
SECOND_NS = 1_000_000_000
CUT_OFFS_S = (60, 350)  # idle cut-offs of load balancers as shipped: AWS ELB, NLB
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
    heard before: the basis of idle cut-offs and heart-beat verdicts. Judged at every connection that was closed, for the side
    that reset it or closed it first; not evaluable where a FIN before the RST may have been lost.

    A load balancer's RST looks as if it were the server's.
    """
    s = ctx.sessions
    session = np.flatnonzero(ctx.closing & (s.closed_ns >= 0))
    reset = (s.close_kind == RST)[session]
    by_client, by_server = (s.reset[session, side] for side in (CLIENT, SERVER))
    serving = np.where(by_client == by_server, (s.closed_by == SERVER)[session], by_server)
    side = np.where(serving, SERVER, CLIENT).astype(np.int64)
    idle = s.closed_ns[session] - s.spoke_ns[session].max(axis=1)
    lost = (ctx.ends.lost.any(axis=1) | (s.closed_by < 0))[session]

    def say(index: I64) -> pa.Array:
        who = pa.array([words.SIDES[i] for i in side[index]], pa.string())
        return pc.binary_join_element_wise(who, ":", idleness(ctx, session[index], idle[index]), " ")

    return Judged(np.ones(len(session), bool), reset, say, unevaluable=reset & lost, units=ctx.end_of_stream(session, side))


def idleness(ctx: RuleContext, session: I64, idle_ns: I64) -> pa.Array:
    """Evidence about a close: by what, after how long a silence, and which cut-off that fits."""
    how = flat(ctx.dialogue.streams.column("close_kind")).take(pa.array(session))
    seconds = np.maximum(idle_ns, 0) / SECOND_NS
    said = []
    for kind, second in zip(how.to_pylist(), seconds.tolist(), strict=True):
        fits = [at for at in CUT_OFFS_S if abs(second - at) <= ROUND * at]
        said.append(f"{kind} after {second:.3f} s of silence" + (f", like a cut-off at {fits[0]} s" if fits else ""))
    return pa.array(said, pa.string())
