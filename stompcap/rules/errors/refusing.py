"""Unprocessed: SEND and SUBSCRIBE frames that the server refuses."""

from __future__ import annotations

from stompcap.rules.context import RuleContext
from stompcap.rules.errors.consequences import has_ended, must_end, refusing
from stompcap.rules.record import Chapter, Judged
from stompcap.session.dialogue import SEND, SUBSCRIBE

UNPROCESSED = Chapter("Refusing SEND and SUBSCRIBE")


@UNPROCESSED.rule(
    "SN-05", versions="1.1 1.2", side="server", level="M", observed="S", decide=has_ended,
    clause="1.2 and 1.1 SEND",
    breaks="""
        in 1.1
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎receipt-id:1⏎message:no destination⏎⏎␀
        wait 5s
        S: ⏎
    """,
    keeps="""
        in 1.1
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎receipt-id:1⏎message:no destination⏎⏎␀
        S closes
    """,
)
def sn_05(ctx: RuleContext) -> Judged:
    """A SEND that cannot be processed is answered by ERROR, then a close.

    Judged at the ERROR that refuses a SEND: it carries the receipt-id the SEND asked for, or follows a SEND without
    destination within `error_cause_s`. Passes where the server closes within `error_close_s` ({error_close_s}), fails where it was
    heard after that; as ER-02.

    RabbitMQ keeps most connections open; Artemis passes over a SEND of an unknown transaction in silence.
    """
    sends = ctx.of("SEND")
    errors = refusing(ctx, (SEND,), sends & ctx.lacks("destination", sends))
    return must_end(ctx, errors, "a SEND is refused by ERROR {message}, but the connection stays open")


@UNPROCESSED.rule(
    "SB-05", versions="1.1 1.2", side="server", level="M", observed="S", decide=has_ended,
    clause="1.2 and 1.1 SUBSCRIBE",
    breaks="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎receipt:1⏎destination:/queue/secret⏎⏎␀
        S: ERROR⏎receipt-id:1⏎message:access refused⏎⏎␀
        wait 5s
        S: ⏎
    """,
    keeps="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎receipt:1⏎destination:/queue/secret⏎⏎␀
        S: ERROR⏎receipt-id:1⏎message:access refused⏎⏎␀
        S closes
    """,
)
def sb_05(ctx: RuleContext) -> Judged:
    """A SUBSCRIBE that fails is answered by ERROR, then a close.

    Judged at the ERROR that refuses a SUBSCRIBE: it carries the receipt-id the SUBSCRIBE asked for, or follows one
    without destination or id within `error_cause_s`. Then as SN-05.

    Artemis refuses neither a missing id, in whose place it puts one of its own, nor an ack mode it does not know.
    """
    subscribes = ctx.of("SUBSCRIBE")
    faulty = subscribes & (ctx.lacks("destination", subscribes) | ctx.lacks("id", subscribes))
    errors = refusing(ctx, (SUBSCRIBE,), faulty)
    return must_end(ctx, errors, "a SUBSCRIBE is refused by ERROR {message}, but the connection stays open")
