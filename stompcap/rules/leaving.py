"""Leaving: DISCONNECT, its receipt, and what comes after."""

from __future__ import annotations

import numpy as np

from stompcap.places import END
from stompcap.rules.case import Case
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged, until_close
from stompcap.session.dialogue import CLIENT, DISCONNECT, GAP, SERVER, Bools

LEAVING = Chapter("Leaving")


@LEAVING.rule(
    "DS-01", versions="1.1 1.2", side="client", level="M", observed="S",
    settles="at close",
    clause="1.2 and 1.1 DISCONNECT",
    breaks="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        C: SEND⏎destination:/queue/a⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀⏎
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_01(case: Case) -> Judged:
    """The client sends no frame after DISCONNECT.

    Each later frame is a failure, each DISCONNECT that none follows passes. Not evaluable for a DISCONNECT behind which
    octets of the client are missing.

    EOLs are no frames: heart-beats may go on.
    """
    after = (case.d.side == CLIENT) & (case.n.disconnect_before >= 0)
    first = case.of("DISCONNECT") & ~after
    return Judged(first | after, after, "{command} after DISCONNECT", unevaluable=first & _gap_behind(case),
                  told=until_close(first))


def _gap_behind(case: Case) -> Bools:
    """Frames behind which octets of their own direction are missing."""
    raw, d = case.d.rows, case.d
    latest = np.full((d.sessions, 2), -1, np.int64)
    lost = raw.kind == GAP
    np.maximum.at(latest, (raw.session[lost], raw.side[lost]), raw.offset[lost])
    return latest[d.session, d.side] > d.offset


@LEAVING.rule(
    "DS-02", versions="1.1 1.2", side="client", level="S", observed="S",
    clause="1.2 and 1.1 DISCONNECT",
    breaks="""
        in 1.2
        C: DISCONNECT⏎⏎␀
        C closes
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_02(case: Case) -> Judged:
    """DISCONNECT asks for a receipt.

    The graceful way to leave: only the RECEIPT tells the client that all it sent arrived.

    webstomp asks for none and closes at once.
    """
    return Judged(case.of("DISCONNECT"), ~case.has("receipt", case.of("DISCONNECT")), "DISCONNECT without receipt")


def _asking(case: Case) -> Bools:
    """DISCONNECT frames that ask for a receipt."""
    return case.of("DISCONNECT") & (case.n.receipt_row >= 0)


@LEAVING.rule(
    "DS-03", versions="1.1 1.2", side="client", level="S", observed="S",
    settles="when clear",
    clause="1.2 and 1.1 DISCONNECT",
    breaks="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        C closes
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_03(case: Case) -> Judged:
    """The client closes only after its DISCONNECT's RECEIPT.

    Passes where the RECEIPT passed the capture point before the client's FIN or RST; fails where the client closed
    first and the RECEIPT came later, or, everything from the server having been captured, never. Not evaluable where
    the server closed first, or the client gave up after `receipt_wait_s` (10 s).
    """
    d, s = case.d, case.s
    answer = case.n.answered_by
    answered = np.where(answer >= 0, d.last_ns[answer], -1)
    closed = np.where(case.ends.closed_by_client, s.closed_ns, -1)[d.session]
    kept = (answered >= 0) & ((closed < 0) | (answered <= closed))
    patient = closed - d.last_ns > case.limits.ns("receipt_wait_s")
    certain = (answered >= 0) | case.ends.whole[d.session, SERVER]
    left = ~kept & (closed >= 0) & ~patient & certain
    return Judged(_asking(case), left, "closed before RECEIPT {receipt}", unevaluable=~kept & ~left, told=np.full(len(d), END))


@LEAVING.rule(
    "DS-05", versions=ALL_VERSIONS, side="server", level="I", observed="S",
    settles="when clear",
    clause="1.2 and 1.1 DISCONNECT, Connection Lingering; 1.0 Receipt",
    breaks="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S closes
    """,
)
def ds_05(case: Case) -> Judged:
    """The server answers DISCONNECT's receipt before it closes.

    Passes where the answer was captured, fails where the server closed first, without one, and all it sent was
    captured. Not evaluable where the client closed first.

    Judged at the capture point: a server that closes with octets unread may reset the connection, and the client never
    gets the RECEIPT that was sent (the texts' section on lingering).
    """
    d = case.d
    answered = case.n.answered_by >= 0
    silent = ~answered & (case.ends.closed_by_server & case.ends.whole[:, SERVER])[d.session]
    return Judged(_asking(case), silent, "the server closed without RECEIPT {receipt}", unevaluable=~answered & ~silent,
                  told=case.place(case.n.answered_by))


@LEAVING.rule(
    "DS-06", versions=ALL_VERSIONS, side="server", level="I", observed="S",
    settles="when clear",
    clause="1.2 and 1.1 DISCONNECT (by silence)",
    breaks="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def ds_06(case: Case) -> Judged:
    """Nothing follows the RECEIPT of DISCONNECT.

    It is the last the client hears. Judged at each such RECEIPT, by the server's next frame. Not evaluable where none
    was captured and octets behind it may be missing.

    ActiveMQ may send the RECEIPT twice, from two of its handlers.
    """
    d = case.d
    asked = case.n.answers
    farewell = case.of("RECEIPT") & (asked >= 0) & (d.command[asked] == DISCONNECT)
    followed = case.ends.following >= 0
    return Judged(farewell, followed, "frames follow the RECEIPT of DISCONNECT",
                  unevaluable=~followed & case.n.missing_later_s2c, told=case.place(case.ends.following))
