"""Unprocessed: SEND and SUBSCRIBE frames that the server refuses."""

from __future__ import annotations

from stompcap.rules.case import Case
from stompcap.rules.errors import must_end, refused_by
from stompcap.rules.record import Chapter, Judged

UNPROCESSED = Chapter("Refusing SEND and SUBSCRIBE")


@UNPROCESSED.rule(
    "SN-05", versions="1.1 1.2", side="server", level="M", observed="S",
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

    Judged where a SEND was refused: an ERROR carries the receipt-id it asked for, or follows a SEND without
    destination within `error_cause_s`. Passes where the server closes within `error_close_s` (1 s), fails where it was
    heard after that; as ER-02.

    RabbitMQ keeps most connections open; Artemis answers nothing to a SEND in an unknown transaction.
    """
    sends = case.of("SEND")
    error = refused_by(case, sends, case.lacks("destination", sends))
    return must_end(case, error, sends, "SEND to {destination} refused, but the connection stays open")


@UNPROCESSED.rule(
    "SB-05", versions="1.1 1.2", side="server", level="M", observed="S",
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

    Judged where a SUBSCRIBE was refused: an ERROR carries the receipt-id it asked for, or follows a SUBSCRIBE without
    destination or id within `error_cause_s`. Then as SN-05.

    Artemis says nothing about a missing id or an ack mode it does not know.
    """
    subscribes = case.of("SUBSCRIBE")
    faulty = case.lacks("destination", subscribes) | case.lacks("id", subscribes)
    error = refused_by(case, subscribes, faulty)
    return must_end(case, error, subscribes, "SUBSCRIBE to {destination} refused, but the connection stays open")
