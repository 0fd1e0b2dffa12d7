"""Unprocessed: SEND and SUBSCRIBE frames that the server refuses."""

from __future__ import annotations

from stompcap.rules.case import Case
from stompcap.rules.errors import must_end, refusing
from stompcap.rules.record import Chapter, Judged

UNPROCESSED = Chapter("Refusing SEND and SUBSCRIBE")


@UNPROCESSED.rule(
    "SN-05", versions="1.1 1.2", side="server", level="M", observed="S",
    settles="when clear",
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
def sn_05(case: Case) -> Judged:
    """A SEND that cannot be processed is answered by ERROR, then a close.

    Judged at the ERROR that refuses a SEND: it carries the receipt-id the SEND asked for, or follows a SEND without
    destination within `error_cause_s`. Passes where the server closes within `error_close_s` (1 s), fails where it was
    heard after that; as ER-02.

    RabbitMQ keeps most connections open; Artemis passes over a SEND of an unknown transaction in silence.
    """
    sends = case.of("SEND")
    errors = refusing(case, sends, sends & case.lacks("destination", sends))
    return must_end(case, errors, "a SEND is refused by ERROR {message}, but the connection stays open")


@UNPROCESSED.rule(
    "SB-05", versions="1.1 1.2", side="server", level="M", observed="S",
    settles="when clear",
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
def sb_05(case: Case) -> Judged:
    """A SUBSCRIBE that fails is answered by ERROR, then a close.

    Judged at the ERROR that refuses a SUBSCRIBE: it carries the receipt-id the SUBSCRIBE asked for, or follows one
    without destination or id within `error_cause_s`. Then as SN-05.

    Artemis refuses neither a missing id, in whose place it puts one of its own, nor an ack mode it does not know.
    """
    subscribes = case.of("SUBSCRIBE")
    faulty = subscribes & (case.lacks("destination", subscribes) | case.lacks("id", subscribes))
    errors = refusing(case, subscribes, faulty)
    return must_end(case, errors, "a SUBSCRIBE is refused by ERROR {message}, but the connection stays open")
