"""Transactions: BEGIN, COMMIT, ABORT."""

from __future__ import annotations

from stompcap.rules.case import Case
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.notes import ENDED, UNKNOWN

TRANSACTIONS = Chapter("Transactions")


@TRANSACTIONS.rule(
    "TX-01", versions=ALL_VERSIONS, side="client", level="M", observed="F",
    clause="1.2 and 1.1 BEGIN; 1.0 BEGIN",
    breaks="""
        in 1.2
        C: BEGIN⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
    """,
)
def tx_01(case: Case) -> Judged:
    """BEGIN has transaction.

    An empty value counts as missing.
    """
    return Judged(case.of("BEGIN"), case.lacks("transaction"), "BEGIN without transaction")


@TRANSACTIONS.rule(
    "TX-02", versions=ALL_VERSIONS, side="client", level="M", observed="F",
    clause="1.2 and 1.1 COMMIT, ABORT; 1.0 COMMIT, ABORT",
    breaks="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: COMMIT⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: COMMIT⏎transaction:t1⏎⏎␀
    """,
)
def tx_02(case: Case) -> Judged:
    """COMMIT and ABORT have transaction.

    An empty value counts as missing.
    """
    return Judged(case.of("COMMIT", "ABORT"), case.lacks("transaction"), "{command} without transaction")


@TRANSACTIONS.rule(
    "TX-04", versions=ALL_VERSIONS, side="client", level="M", observed="S",
    clause="1.2 and 1.1 COMMIT, ABORT; 1.0 COMMIT, ABORT",
    breaks="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: COMMIT⏎transaction:t2⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: ABORT⏎transaction:t1⏎⏎␀
    """,
)
def tx_04(case: Case) -> Judged:
    """COMMIT and ABORT name an open transaction.

    Open by the client's word: begun on this connection, neither committed nor aborted. An ERROR in between does not
    end it, as some brokers keep it open. Not evaluable where the BEGIN may have been lost.
    """
    state = case.n.transaction_state
    closed = (state == UNKNOWN) | (state == ENDED)
    return Judged(case.of("COMMIT", "ABORT") & ~case.lacks("transaction"), closed,
                  "{command} of transaction {transaction}, which is not open", unevaluable=closed & case.n.missed_c2s)
