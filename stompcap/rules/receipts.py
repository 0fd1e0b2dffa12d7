"""Receipts: what a client asks for and RECEIPT answers."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.columns import truth
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged, until_close
from stompcap.session.dialogue import CLIENT, SERVER
from stompcap.session.notes import ACTIVE, ENDED, REFUSED, UNKNOWN
from stompcap.tables import words

RECEIPTS = Chapter("Receipts")
COMMITTED = words.TRANSACTION_OUTCOMES.index("committed")


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

    Only a missing header fails.

    A client may ask for a receipt of an empty name, so an empty value passes.
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

    Compared after unescaping both. Not evaluable where the frame that asked may have been lost, as in a capture that
    starts mid-stream. A second answer is RC-04's.

    A receipt that CONNECT asked for, against the rules (CN-08), may be answered.
    """
    stray = case.of("RECEIPT") & (case.n.receipt_state == UNKNOWN)
    return Judged(case.has("receipt-id", case.of("RECEIPT")), stray, "receipt-id:{receipt-id} was never asked for",
                  unevaluable=stray & case.n.missed_c2s)


@RECEIPTS.rule(
    "RC-03", versions=ALL_VERSIONS, side="server", level="M", observed="T",
    settles="at close",
    clause="1.2 and 1.1 Header receipt, RECEIPT; 1.0 Receipt",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        wait 15s
        S: ⏎
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def rc_03(case: Case) -> Judged:
    """Each frame that asks for a receipt gets one.

    A RECEIPT, or an ERROR with its receipt-id. Fails where the server was still there `receipt_wait_s` (10 s) later and
    had not answered. Not evaluable where it was not heard after that time, where octets of its side are missing, or
    where an ERROR came after the frame and may have meant it. A DISCONNECT's receipt is DS-05's.

    On RabbitMQ a SEND's receipt confirms that the message is safe: inside a transaction it comes after COMMIT only, and
    never where the transaction was aborted or the message rejected. So a SEND in a transaction that was not committed is
    not evaluable, nor is an unanswered SEND on RabbitMQ at all.
    """
    d, n = case.d, case.n
    asks = (n.receipt_row >= 0) & (d.side == CLIENT) & ~case.of("DISCONNECT")
    unanswered = asks & (n.answered_by < 0)
    sends = case.of("SEND")
    inside = sends & ~case.lacks("transaction", sends)
    committed = n.transaction_outcome == COMMITTED
    since = np.where(inside & committed, d.last_ns[n.transaction_ended], d.last_ns)
    heard = case.ends.open_ns[d.session, SERVER] > since + case.limits.ns("receipt_wait_s")
    rabbitmq = truth(pc.equal(case.of_session("server_product"), "RabbitMQ"))[d.session]
    refused = case.ends.next_of(np.flatnonzero(case.of("ERROR"))) >= 0
    excused = (inside & ~committed) | (rabbitmq & sends) | refused | case.s.gaps_s2c[d.session] | ~heard
    return Judged(asks, unanswered, "{command} with receipt:{receipt} is not answered",
                  unevaluable=unanswered & excused, told=until_close(unanswered))


@RECEIPTS.rule(
    "RC-04", versions=ALL_VERSIONS, side="server", level="I", observed="S",
    settles="when clear",
    clause="1.2 and 1.1 RECEIPT; 1.0 RECEIPT (by silence)",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
        S: RECEIPT⏎receipt-id:0⏎⏎␀
        S: RECEIPT⏎receipt-id:0⏎⏎␀
    """,
)
def rc_04(case: Case) -> Judged:
    """A receipt is answered once.

    Fails for a RECEIPT whose request was answered before and not made again. Not evaluable where another request of
    the value may have been lost.

    A client may use a value again (syslog-ng always says 0): requests of one value are answered in the order of asking.
    """
    again = case.n.receipt_state == ENDED
    known = case.of("RECEIPT") & np.isin(case.n.receipt_state, (ACTIVE, ENDED))
    return Judged(known, again, "receipt-id:{receipt-id} again", unevaluable=again & case.n.missed_c2s)


@RECEIPTS.rule(
    "RC-05", versions="1.1 1.2", side="server", level="I", observed="S",
    clause="1.2 RECEIPT; 1.1 RECEIPT",
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        C: SEND⏎destination:/queue/b⏎receipt:2⏎⏎␀
        S: RECEIPT⏎receipt-id:2⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
)
def rc_05(case: Case) -> Judged:
    """Receipts may come in any order.

    A RECEIPT says that all frames up to the one named were received, not that they were processed. So an order other
    than that of asking breaks nothing: each RECEIPT passes.

    RabbitMQ answers out of order, for a SEND's receipt waits until the message is safe.
    """
    return Judged(case.of("RECEIPT") & (case.n.receipt_state != UNKNOWN), case.none())


@RECEIPTS.rule(
    "RC-06", versions=ALL_VERSIONS, side="server", level="I", observed="S",
    settles="when clear",
    clause="1.2 and 1.1 RECEIPT, ERROR; 1.0 RECEIPT, ERROR",
    breaks="""
        in 1.2
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎message:no destination⏎receipt-id:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎message:no destination⏎receipt-id:1⏎⏎␀
        S closes
    """,
)
def rc_06(case: Case) -> Judged:
    """A frame refused by ERROR gets no RECEIPT.

    ERROR says that it was not processed, RECEIPT the contrary. Judged at each ERROR whose receipt-id answers a request,
    and at a RECEIPT behind it. Not evaluable where another request of the value may have been lost.
    """
    state = case.n.receipt_state
    refusals = case.of("ERROR") & (state == ACTIVE)
    after = case.of("RECEIPT") & (state == REFUSED)
    return Judged(refusals | after, after, "receipt-id:{receipt-id} after an ERROR for the same frame",
                  unevaluable=after & case.n.missed_c2s)


@RECEIPTS.rule(
    "RC-07", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    settles="when clear",
    clause="1.2 and 1.1 Header receipt; 1.0 Receipt (by silence)",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
        S: RECEIPT⏎receipt-id:0⏎⏎␀
        C: SEND⏎destination:/queue/a⏎receipt:0⏎⏎␀
    """,
)
def rc_07(case: Case) -> Judged:
    """A receipt's value is not in use when it is asked for.

    Fails where an earlier request of the same value waits for its answer: the client cannot tell which one a RECEIPT
    answers. Not evaluable where the answer may have been lost.
    """
    asks = (case.n.receipt_row >= 0) & (case.d.side != SERVER)
    twice = case.n.receipt_state == ACTIVE
    return Judged(asks, twice, "{command} asks for receipt:{receipt}, which an earlier frame waits for",
                  unevaluable=twice & (case.n.missed_s2c | case.n.missed_c2s))
