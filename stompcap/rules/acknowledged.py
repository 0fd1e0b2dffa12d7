"""Acknowledged: whether what an ACK or NACK names was delivered, and may still be acknowledged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.columns import truth
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import I64, Bools
from stompcap.session.notes import (
    ACTIVE,
    ENDED,
    TARGET_AUTO,
    TARGET_CUMULATED,
    TARGET_NONE,
    TARGET_OTHER_SUBSCRIPTION,
    TARGET_SETTLED,
    TARGET_UNKNOWN,
)
from stompcap.session.wire import codes

ACKNOWLEDGED = Chapter("Acknowledged messages")


def _missed(case: Case) -> Bools:
    """Frames before which octets of either side may be missing."""
    missed: Bools = case.n.missed_c2s | case.n.missed_s2c
    return missed


def _named(case: Case) -> Bools:
    """ACK and NACK frames that name a MESSAGE delivered on this connection."""
    target = case.n.target
    named: Bools = (target != TARGET_NONE) & (target != TARGET_UNKNOWN)
    return case.of("ACK", "NACK") & named


def _message(case: Case) -> I64:
    """Per frame the MESSAGE that it names, -1 where none is known."""
    messages, row = case.d.messages, case.n.delivery_row
    return np.where(row >= 0, messages[np.maximum(row, 0)], -1) if len(messages) else np.full(len(row), -1, np.int64)


@ACKNOWLEDGED.rule(
    "AK-04", versions=ALL_VERSIONS, side="client", level="M", observed="S", settles="when clear",
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
    in 1.2. What was settled before is AK-07's, another subscription's is AK-05's. Not evaluable where the MESSAGE may
    have been lost.

    On RabbitMQ and Artemis ack and message-id are equal, so the wrong key does not show there.
    """
    unknown = case.n.target == TARGET_UNKNOWN
    answers = case.of("ACK") | (case.of("NACK") & (case.d.version != 0))  # 1.0 has no NACK: FR-05
    return Judged(answers & (case.n.target != TARGET_NONE), unknown, lambda index: _unknown(case, index),
                  unevaluable=unknown & case.n.missed_s2c)


def _unknown(case: Case, index: I64) -> pa.Array:
    """Evidence that says so where the value is the message-id of a MESSAGE delivered not long before (Options.memory)."""
    d = case.d
    version = d.version[index]
    message_id = case.at(index, "message-id")
    by_id = pa.array((version == 2) | (version < 0))
    key = pc.if_else(by_id, pc.coalesce(case.at(index, "id"), message_id), message_id)
    messages = np.flatnonzero(case.of("MESSAGE"))
    delivered, wanted = codes(
        case.keyed(d.session[messages], case.at(messages, "message-id")), case.keyed(d.session[index], key)
    )
    places = np.sort(delivered.astype(np.int64) * len(d) + messages)  # by message-id, then by place
    before = np.searchsorted(places, wanted.astype(np.int64) * len(d) + index) - 1
    latest = np.where(before >= 0, places[np.maximum(before, 0)] if len(places) else -1, -1)
    same = (latest >= 0) & (wanted >= 0) & (latest // len(d) == wanted)
    lately = d.ordinal[index] - d.ordinal[latest % len(d)] <= case.memory
    mistaken = same & lately & (version == 2)
    shown = pc.utf8_slice_codeunits(pc.fill_null(key, ""), 0, 80)
    kind = pc.if_else(pa.array(mistaken), "is the message-id of a MESSAGE, not its ack", "names no MESSAGE delivered")
    return pc.binary_join_element_wise(case.say("{command}", index), shown, kind, " ")


@ACKNOWLEDGED.rule(
    "AK-05", versions="1.1", side="client", level="M", observed="S", settles="when clear",
    clause="1.1 ACK, NACK",
    breaks="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎⏎␀
        C: ACK⏎subscription:1⏎message-id:7⏎⏎␀
    """,
    keeps="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎⏎␀
        C: ACK⏎subscription:0⏎message-id:7⏎⏎␀
    """,
)
def ak_05(case: Case) -> Judged:
    """An ACK's subscription is that of the MESSAGE it names.

    Judged where both have the header. Not evaluable where a MESSAGE of the same message-id to the subscription named
    may have been lost.

    RabbitMQ looks at the message-id alone; Artemis answers with an ERROR.
    """
    answers = _named(case) & ~case.lacks("subscription", case.of("ACK", "NACK"))
    index = np.flatnonzero(answers & (case.d.version != 0) & (case.d.version != 2))
    due, differs = case.none(), case.none()
    message = _message(case)[index]
    theirs = case.at(message, "subscription")
    due[index] = np.asarray(theirs.is_valid())
    differs[index] = truth(pc.not_equal(theirs, case.at(index, "subscription")))
    other = (case.n.target == TARGET_OTHER_SUBSCRIPTION) | differs
    return Judged(answers & due, other, "{command} of {message-id} names subscription {subscription}, not that of the MESSAGE",
                  unevaluable=other & case.n.missed_s2c)


@ACKNOWLEDGED.rule(
    "AK-06", versions=ALL_VERSIONS, side="client", level="I", observed="S", settles="when clear",
    clause="1.2 and 1.1 SUBSCRIBE ack Header; 1.0 SUBSCRIBE",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:auto⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
)
def ak_06(case: Case) -> Judged:
    """What a subscription in mode auto delivers is not acknowledged.

    The server takes it as settled when it is sent, so an ACK has nothing to say. Not evaluable where a SUBSCRIBE with
    another mode may have been lost.

    Apollo ends the connection over it, RabbitMQ answers with an ERROR, others ignore it.
    """
    auto = case.n.target == TARGET_AUTO
    return Judged(_named(case), auto, "{command} of a MESSAGE of a subscription in mode auto", unevaluable=auto & _missed(case))


@ACKNOWLEDGED.rule(
    "AK-07", versions=ALL_VERSIONS, side="client", level="I", observed="S", settles="when clear",
    clause="1.2 and 1.1 ACK, SUBSCRIBE ack Header; 1.0 ACK",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:8⏎ack:a2⏎⏎␀
        C: ACK⏎id:a2⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client-individual⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:8⏎ack:a2⏎⏎␀
        C: ACK⏎id:a2⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
)
def ak_07(case: Case) -> Judged:
    """A MESSAGE is acknowledged once.

    Fails for a second ACK or NACK of the same MESSAGE, and for one of a MESSAGE that a cumulative ACK in mode client
    settled along. Brokers answer it with an ERROR ("Message not found", "Unexpected ACK"). Not evaluable where the
    message may have been delivered again, or its transaction aborted, in octets that are missing.

    How far a cumulative ACK reaches differs: over the subscription by the specification, over the connection on
    RabbitMQ; judged by `--ack-scope`, by the broker's product unless told otherwise.
    """
    target = case.n.target
    along = target == TARGET_CUMULATED
    again = (target == TARGET_SETTLED) | along

    def say(index: I64) -> pa.Array:
        how = pc.if_else(pa.array(along[index]), "that a later ACK settled along", "that was acknowledged before")
        return pc.binary_join_element_wise(case.say("{command} of a MESSAGE", index), how, " ")

    return Judged(_named(case), again, say, unevaluable=again & _missed(case))


@ACKNOWLEDGED.rule(
    "AK-10", versions=ALL_VERSIONS, side="client", level="I", observed="S", settles="when clear",
    clause="1.2 and 1.1 UNSUBSCRIBE, ACK (by silence)",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: UNSUBSCRIBE⏎id:0⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:7⏎ack:a1⏎⏎␀
        C: ACK⏎id:a1⏎⏎␀
        C: UNSUBSCRIBE⏎id:0⏎⏎␀
    """,
)
def ak_10(case: Case) -> Judged:
    """Messages are acknowledged before UNSUBSCRIBE.

    The texts say nothing of an ACK or NACK for a subscription that has ended. Not evaluable where a SUBSCRIBE of the
    same id may have been lost.

    RabbitMQ accepts it by now, others answer with an ERROR.
    """
    state = case.n.subscription_state
    late = state == ENDED
    return Judged(_named(case) & ((state == ACTIVE) | late), late, "{command} after UNSUBSCRIBE", unevaluable=late & _missed(case))
