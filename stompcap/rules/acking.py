"""Acknowledging: what ACK and NACK must name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.columns import truth
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import I64
from stompcap.session.notes import TARGET_NONE, TARGET_UNKNOWN

ACKING = Chapter("Acknowledging")


@ACKING.rule(
    "AK-01", versions="1.0", side="client", level="M", observed="F",
    clause="1.0 ACK",
    breaks="""
        in 1.0
        C: ACK⏎id:1⏎⏎␀
    """,
    keeps="""
        in 1.0
        C: ACK⏎message-id:1⏎⏎␀
    """,
)
def ak_01(case: Case) -> Judged:
    """A 1.0 ACK has message-id.

    It names the MESSAGE by its message-id; an empty value counts as missing. 1.0 has no NACK.
    """
    return Judged(case.of("ACK"), case.lacks("message-id"), "ACK without message-id")


@ACKING.rule(
    "AK-02", versions="1.1", side="client", level="M", observed="F",
    clause="1.1 ACK, NACK",
    breaks="""
        in 1.1
        C: ACK⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.1
        C: ACK⏎subscription:0⏎message-id:1⏎⏎␀
    """,
)
def ak_02(case: Case) -> Judged:
    """A 1.1 ACK or NACK has message-id and subscription.

    RabbitMQ makes do with the message-id.
    """
    nameless, homeless = case.lacks("message-id"), case.lacks("subscription")

    def say(index: I64) -> pa.Array:
        return pc.if_else(pa.array(nameless[index]), case.say("{command} without message-id", index),
                          case.say("{command} of {message-id} without subscription", index))

    return Judged(case.of("ACK", "NACK"), nameless | homeless, say)


@ACKING.rule(
    "AK-03", versions="1.2", side="client", level="M", observed="F",
    clause="1.2 ACK, NACK",
    breaks="""
        in 1.2
        C: ACK⏎subscription:0⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: ACK⏎id:1⏎⏎␀
    """,
)
def ak_03(case: Case) -> Judged:
    """A 1.2 ACK or NACK has id.

    The id is the value of the MESSAGE's ack header. More headers do no harm: stompjs and webstomp add subscription.
    CoilMQ wants message-id as well.
    """
    return Judged(case.of("ACK", "NACK"), case.lacks("id"), "{command} without id")


@ACKING.rule(
    "AK-04", versions=ALL_VERSIONS, side="client", level="M", observed="S",
    settles="when clear",
    clause="1.2 ACK; 1.1 ACK; 1.0 ACK",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:7⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
)
def ak_04(case: Case) -> Judged:
    """ACK and NACK name a MESSAGE delivered on this connection.

    In 1.2 by its ack header, before by its message-id. The most common client bug is to send the message-id as id
    in 1.2; on RabbitMQ and Artemis, where both are equal, it does not show. What was settled before is AK-07's,
    another subscription's is AK-05's. Not evaluable where the MESSAGE may have been lost.
    """
    unknown = case.n.target == TARGET_UNKNOWN
    answers = case.of("ACK") | (case.of("NACK") & (case.d.version != 0))  # 1.0 has no NACK: FR-05
    return Judged(answers & (case.n.target != TARGET_NONE), unknown, lambda index: _unknown(case, index),
                  unevaluable=unknown & case.n.missed_s2c)


def _unknown(case: Case, index: I64) -> pa.Array:
    """Evidence that says so where the value is the message-id of a MESSAGE of that session."""
    d = case.d
    version = d.version[index]
    message_id = case.at(index, "message-id")
    by_id = pa.array((version == 2) | (version < 0))
    key = pc.if_else(by_id, pc.coalesce(case.at(index, "id"), message_id), message_id)
    messages = np.flatnonzero(case.of("MESSAGE"))
    known = pc.drop_null(case.keyed(d.session[messages], case.at(messages, "message-id")))
    mistaken = truth(pc.is_in(case.keyed(d.session[index], key), known)) & (version == 2)
    shown = pc.utf8_slice_codeunits(pc.fill_null(key, ""), 0, 80)
    kind = pc.if_else(pa.array(mistaken), "is the message-id of a MESSAGE, not its ack", "names no MESSAGE delivered")
    return pc.binary_join_element_wise(case.say("{command}", index), shown, kind, " ")
