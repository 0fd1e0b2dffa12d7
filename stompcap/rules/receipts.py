"""Receipts, errors and the end: RECEIPT, ERROR, DISCONNECT."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.columns import truth
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import CLIENT, GAP, Bools
from stompcap.session.notes import UNKNOWN

RECEIPTS = Chapter("Receipts, errors, the end")


@RECEIPTS.rule(
    "RC-01", versions=ALL_VERSIONS, side="server", level="M", observed="F",
    clause="1.2 and 1.1 RECEIPT; 1.0 RECEIPT",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def rc_01(case: Case) -> Judged:
    """RECEIPT has receipt-id.

    A client may ask for a receipt of an empty name, so an empty value passes here; only a missing header fails.
    """
    return Judged(case.of("RECEIPT"), ~case.has("receipt-id"), "RECEIPT without receipt-id")


@RECEIPTS.rule(
    "RC-02", versions=ALL_VERSIONS, side="server", level="M", observed="S",
    settles="when clear",
    clause="1.2 and 1.1 RECEIPT; 1.0 RECEIPT",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:2⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def rc_02(case: Case) -> Judged:
    """Receipt-id repeats a receipt asked for on this connection.

    Compared after unescaping both. A receipt that CONNECT asked for, against the rules, may be answered. Not
    evaluable where the frame that asked may have been lost. A second answer is RC-04's.
    """
    stray = case.of("RECEIPT") & (case.n.receipt_state == UNKNOWN)
    index = np.flatnonzero(stray)
    if len(index):
        asking = np.flatnonzero(case.has("receipt", case.of("CONNECT", "STOMP")))
        asked = case.keyed(case.d.session[asking], case.at(asking, "receipt"))
        stray[index] = ~truth(pc.is_in(case.keyed(case.d.session[index], case.at(index, "receipt-id")), asked))
    return Judged(case.has("receipt-id", case.of("RECEIPT")), stray, "receipt-id:{receipt-id} was never asked for",
                  unevaluable=stray & case.n.missed_c2s)


@RECEIPTS.rule(
    "ER-01", versions=ALL_VERSIONS, side="server", level="S", observed="F",
    clause="1.2 and 1.1 ERROR; 1.0 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
)
def er_01(case: Case) -> Judged:
    """ERROR has message.

    A short description of what went wrong; the body may say more.
    """
    error = case.of("ERROR")
    return Judged(error, case.lacks("message", error), "ERROR without message")


@RECEIPTS.rule(
    "DS-01", versions="1.1 1.2", side="client", level="M", observed="S",
    settles="when clear",
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

    Each later frame is a failure, each DISCONNECT that none follows passes. EOLs are no frames. Not evaluable for a
    DISCONNECT behind which octets of the client are missing.
    """
    after = (case.d.side == CLIENT) & (case.n.disconnect_before >= 0)
    first = case.of("DISCONNECT") & ~after
    return Judged(first | after, after, "{command} after DISCONNECT", unevaluable=first & _gap_behind(case), pending=first)


def _gap_behind(case: Case) -> Bools:
    """Frames behind which octets of their own direction are missing."""
    raw, d = case.d.rows, case.d
    latest = np.full((d.sessions, 2), -1, np.int64)
    lost = raw.kind == GAP
    np.maximum.at(latest, (raw.session[lost], raw.side[lost]), raw.offset[lost])
    return latest[d.session, d.side] > d.offset
