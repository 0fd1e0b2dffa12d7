"""Committing: how transactions end, how long they last and how much they hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged, until_close
from stompcap.session.dialogue import CLIENT, I64
from stompcap.session.notes import ACTIVE
from stompcap.tables import words

COMMITTING = Chapter("Ends of transactions")
IMPLICITLY_ABORTED = words.TRANSACTION_OUTCOMES.index("implicitly_aborted")


@COMMITTING.rule(
    "TX-07", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    settles="at close",
    clause="1.2 and 1.1 BEGIN; 1.0 DISCONNECT",
    breaks="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: COMMIT⏎transaction:t1⏎⏎␀
        C: DISCONNECT⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
        C closes
    """,
)
def tx_07(case: Case) -> Judged:
    """A transaction is ended by COMMIT or ABORT.

    One that is open at DISCONNECT or at the close is aborted implicitly: legal, but what it held is lost. Judged at each
    BEGIN; not evaluable while the session is open, where octets of the client are missing, as they may be where neither its
    DISCONNECT nor its FIN was captured, or where the id was begun again.
    """
    n, s = case.n, case.s
    begins = case.of("BEGIN") & (n.transaction_row >= 0) & ~case.lacks("transaction", case.of("BEGIN"))
    implicit, ended = n.transaction_outcome == IMPLICITLY_ABORTED, n.transaction_ended >= 0
    cut = s.gaps_c2s | ~((s.disconnect >= 0) | case.ends.fin[:, CLIENT])
    unclear = ~implicit | cut[case.d.session]
    return Judged(begins, implicit, "transaction {transaction} is open at the end of the session",
                  unevaluable=~ended & unclear, told=until_close(n.transaction_alive))


@COMMITTING.rule(
    "TX-08", versions=ALL_VERSIONS, side="client", level="I", observed="S",
    settles="at close",
    clause="1.2 and 1.1 BEGIN; 1.0 BEGIN (by silence)",
    breaks="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: COMMIT⏎transaction:t1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: SEND⏎destination:/queue/a⏎transaction:t1⏎⏎␀
        C: COMMIT⏎transaction:t1⏎⏎␀
    """,
)
def tx_08(case: Case) -> Judged:
    """Transactions are neither empty, nor long, nor large, nor many.

    Judged at each BEGIN: fails where the transaction held nothing, lasted longer than
    `transaction_open_s` (60 s), held more than `transaction_actions` (1024) frames, or began while
    `transactions_open` (16) others were open. Not evaluable where it was not ended, or octets of the client may be missing before its end.

    The latter two are RabbitMQ's limits; other brokers have theirs. Outliers rather than breaches.
    """
    d, n, limits = case.d, case.n, case.limits
    begins = case.of("BEGIN") & (n.transaction_row >= 0) & ~case.lacks("transaction", case.of("BEGIN"))
    ended, held = n.transaction_ended >= 0, n.transaction_frames
    lasted = d.first_ns[n.transaction_ended] - d.first_ns
    empty, long = held == 0, lasted > limits.ns("transaction_open_s")
    large, many = held > limits.transaction_actions, _open_before(case) >= limits.transactions_open

    def say(index: I64) -> pa.Array:
        kind = np.select([empty[index], long[index], large[index]], ["is empty", "is open for long", "holds many frames"],
                         "begins while many are open")
        return pc.binary_join_element_wise(case.say("transaction {transaction}", index), pa.array(kind.tolist(), pa.string()), " ")

    return Judged(begins, empty | long | large | many, say,
                  unevaluable=~ended | n.missed_c2s[n.transaction_ended], told=until_close(n.transaction_alive))


def _open_before(case: Case) -> I64:
    """Per frame, how many transactions of its session are open before it."""
    d, n = case.d, case.n
    opens = case.of("BEGIN") & (n.transaction_row >= 0) & (n.transaction_state != ACTIVE)
    ends = case.of("COMMIT", "ABORT") & (n.transaction_row >= 0) & (n.transaction_state == ACTIVE)
    running = np.concatenate([[0], np.cumsum(opens.astype(np.int64) - ends)])
    before: I64 = running[:-1] - running[d.starts[d.session]]
    return before
