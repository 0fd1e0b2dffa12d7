"""Transactions: BEGIN, COMMIT, ABORT."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT
from stompcap.columns import I64
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import OTHER
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN

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
def tx_01(ctx: RuleContext) -> Judged:
    """BEGIN has transaction.

    An empty value counts as missing.
    """
    return Judged(ctx.of("BEGIN"), ctx.lacks("transaction"), "BEGIN without transaction")


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
def tx_02(ctx: RuleContext) -> Judged:
    """COMMIT and ABORT have transaction.

    An empty value counts as missing.
    """
    return Judged(ctx.of("COMMIT", "ABORT"), ctx.lacks("transaction"), "{command} without transaction")


@TRANSACTIONS.rule(
    "TX-03", versions="1.2", side="client", level="M/I", observed="S",
    clause="1.2 BEGIN",
    breaks="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: BEGIN⏎transaction:t1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: BEGIN⏎transaction:t2⏎⏎␀
    """,
)
def tx_03(ctx: RuleContext) -> Judged:
    """Transactions of a connection have different ids.

    Two codes: "duplicate" where a transaction of that id is open, and "reuse" where one of that id was ended before. Not
    evaluable where octets of the client may be missing before.

    Brokers accept reuse, so it is informational. A duplicate gets an ERROR from ActiveMQ and Artemis, while RabbitMQ
    silently forgets what the open transaction held.
    """
    state = ctx.facts.transaction_state
    twice, again = state == ACTIVE, state == ENDED
    begins = ctx.of("BEGIN")

    def say(index: I64) -> pa.Array:
        kind = pc.if_else(pa.array(twice[index]), "duplicate: an open transaction has", "reuse: an earlier transaction had")
        return pc.binary_join_element_wise(kind, ctx.say("the id {transaction}", index), " ")

    return Judged(begins & ~ctx.lacks("transaction", begins), twice | again, say, lenient=again,
                  unevaluable=(twice | again) & ctx.facts.missed_c2s)


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
def tx_04(ctx: RuleContext) -> Judged:
    """COMMIT and ABORT name an open transaction.

    Open by the client's word: begun on this connection, neither committed nor aborted. Not evaluable where the BEGIN may
    have been lost.

    An ERROR in between does not end a transaction, as some brokers keep it open.
    """
    state = ctx.facts.transaction_state
    closed = (state == UNKNOWN) | (state == ENDED)
    return Judged(ctx.of("COMMIT", "ABORT") & ~ctx.lacks("transaction"), closed,
                  "{command} of transaction {transaction}, which is not open", unevaluable=closed & ctx.facts.missed_c2s)


@TRANSACTIONS.rule(
    "TX-05", versions=ALL_VERSIONS, side="client", level="M", observed="S",
    clause="1.2 and 1.1 ACK, BEGIN; 1.0 ACK, BEGIN",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:1⏎⏎␀
        C: ACK⏎id:1⏎transaction:t1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:1⏎⏎␀
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: ACK⏎id:1⏎transaction:t1⏎⏎␀
    """,
)
def tx_05(ctx: RuleContext) -> Judged:
    """The transaction of an ACK or NACK is open.

    Begun on this connection, neither committed nor aborted, as SN-02 has it for SEND. Not evaluable where the BEGIN may
    have been lost.

    Artemis ignores the header and acknowledges at once, so the fault does not show there.
    """
    state = ctx.facts.transaction_state
    closed = (state == UNKNOWN) | (state == ENDED)
    answers = ctx.of("ACK", "NACK")
    return Judged(answers & ~ctx.lacks("transaction", answers), closed, "{command} in transaction {transaction}, which is not open",
                  unevaluable=closed & ctx.facts.missed_c2s)


@TRANSACTIONS.rule(
    "TX-06", versions=ALL_VERSIONS, side="client", level="I", observed="H",
    clause="1.2 and 1.1 BEGIN, SEND, ACK; 1.0 BEGIN",
    breaks="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎transaction:t1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: BEGIN⏎transaction:t1⏎⏎␀
        C: SEND⏎destination:/queue/a⏎transaction:t1⏎⏎␀
    """,
)
def tx_06(ctx: RuleContext) -> Judged:
    """Only frames that can be part of a transaction name one.

    Those are SEND, ACK, NACK, BEGIN, COMMIT and ABORT. On another frame the header means nothing: a SUBSCRIBE is not
    undone by ABORT.
    """
    d = ctx.dialogue
    client = (d.side == CLIENT) & ~ctx.misplaced & (d.command != OTHER)
    return Judged(client & ctx.has("transaction"), ~ctx.of("SEND", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT"),
                  "{command} with transaction:{transaction}")
