"""Closing: how connections end, and by whom."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.rules.silence import end_of_stream, idleness
from stompcap.session.dialogue import CLIENT, I64, SERVER
from stompcap.tables import words

CLOSING = Chapter("Closing")
RST = words.CLOSE_KINDS.index("rst")


@CLOSING.rule(
    "DS-04", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    settles="at close",
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
def ds_04(case: Case) -> Judged:
    """The client says DISCONNECT before it closes.

    1.0 calls it polite. Judged at sessions that were connected and that the client closed first. Not evaluable where
    octets are missing, or an ERROR came before, after which there is nobody left to be polite to.

    What was sent just before an abrupt close, without a receipt, may be lost.
    """
    s = case.s
    session = np.flatnonzero((s.connected >= 0) & case.ends.closed_by_client)
    rude = (s.disconnect < 0)[session]
    unsure = (~case.ends.whole.all(axis=1) | (s.error >= 0))[session]
    return Judged(np.ones(len(session), bool), rude, "the client closed without DISCONNECT", unevaluable=rude & unsure,
                  units=end_of_stream(case, session, np.full(len(session), CLIENT, np.int8)))


@CLOSING.rule(
    "DS-07", versions=ALL_VERSIONS, side="both", level="I", observed="T",
    settles="at close",
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
def ds_07(case: Case) -> Judged:
    """A connection is ended by FIN, not reset.

    A RST may throw away what the other side has not read yet. The evidence names the side and how long nothing had been
    heard before: the basis of idle cut-offs and heart-beat verdicts. Judged at every connection that was closed, for the side
    that reset it or closed it first; not evaluable where a FIN before the RST may have been lost.

    A load balancer's RST looks as if it were the server's.
    """
    s, ends = case.s, case.ends
    session = np.flatnonzero(s.closed_ns >= 0)
    reset = (s.close_kind == RST)[session]
    by_client, by_server = (ends.reset[session, side] for side in (CLIENT, SERVER))
    serving = np.where(by_client == by_server, (s.closed_by == SERVER)[session], by_server)
    side = np.where(serving, SERVER, CLIENT).astype(np.int8)
    idle = s.closed_ns[session] - ends.spoke_ns[session].max(axis=1)
    lost = (s.gaps_c2s | s.gaps_s2c | (s.closed_by < 0))[session]

    def say(index: I64) -> pa.Array:
        who = pa.array([words.SIDES[i] for i in side[index]], pa.string())
        return pc.binary_join_element_wise(who, ":", idleness(case, session[index], idle[index]), " ")

    return Judged(np.ones(len(session), bool), reset, say, unevaluable=reset & lost, units=end_of_stream(case, session, side))
