"""What became of subscriptions, deliveries, transactions and receipts: the machine's numbers as the lake's tables.

Where octets are missing that could have settled, ended or answered something, nothing is claimed: `unknown`, or `open` where
the table has no such word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session.columns import chosen, elapsed, listed, pick, times, timestamps
from stompcap.session.dialogue import ERROR, I8, I64, NACK, Bools, Dialogue
from stompcap.session.lookup import flat
from stompcap.session.losses import Losses
from stompcap.session.notes import MODE_AUTO, MODE_CLIENT, MODE_INDIVIDUAL, MODE_OTHER, SessionNotes
from stompcap.session.receipts import Receipts
from stompcap.session.sessions import OPEN as STREAM_OPEN
from stompcap.session.settling import Settling
from stompcap.session.settling_walk import AUTOMATIC, ENCLOSED, REPLACED, SETTLED, VOIDED
from stompcap.session.subscriptions import Subscriptions
from stompcap.session.transactions import COMMITTED, IMPLICITLY_ABORTED, OPEN, Transactions
from stompcap.session.wire import remembered
from stompcap.tables import words
from stompcap.tables.silver import DELIVERIES, RECEIPTS, SUBSCRIPTIONS, TRANSACTIONS

AUTO_STATUS, SETTLED_STATUS, VOIDED_STATUS, UNSETTLED, OPEN_STATUS, UNKNOWN_STATUS = range(6)  # words.DELIVERY_STATUSES
SUBSCRIPTION_OPEN, UNSUBSCRIBED, SUBSCRIPTION_ENDED = range(3)  # words.SUBSCRIPTION_STATUSES
ANSWERED, REFUSED, UNANSWERED, RECEIPT_OPEN = range(4)  # words.RECEIPT_STATUSES
TALLIES = ("delivered", "acked", "nacked", "voided", "most")
PREFETCH_HEADERS = ("prefetch-count", "activemq.prefetchSize", "consumer-window-size")


@dataclass(frozen=True)
class Tallies:
    """Per subscription: deliveries no longer at hand, those of them settled by ACK, by NACK and voided, and the most in flight so far."""

    delivered: I64
    acked: I64
    nacked: I64
    voided: I64
    most: I64


def tallies(dialogue: Dialogue, opened: I64) -> Tallies:
    """The tallies that the frames table carries for SUBSCRIBEs of earlier pieces; none where it carries none."""
    none = np.zeros(dialogue.frames.num_rows, np.int64)
    return Tallies(*(remembered(dialogue.frames, name, none)[dialogue.row[opened]] for name in TALLIES))


@dataclass(frozen=True)
class Machine:
    """Everything the state machines found out, and per frame whether octets of a side may be missing behind it.

    `earlier`: tallies of the deliveries that earlier pieces of the sessions have done with.
    """

    dialogue: Dialogue
    notes: SessionNotes
    subscriptions: Subscriptions
    transactions: Transactions
    settling: Settling
    receipts: Receipts
    later_c2s: Bools
    later_s2c: Bools
    losses: Losses
    earlier: Tallies

    @property
    def ids(self) -> pa.Array:
        """Per session its stream_id."""
        return flat(self.dialogue.streams.column("stream_id"))

    @property
    def of_subscription(self) -> I64:
        """Per delivery the row of its subscription, -1 where the capture does not tell."""
        return np.where(self.losses.guessed, -1, self.subscriptions.row[self.settling.frame])

    @property
    def over(self) -> Bools:
        """Per session: it has ended, by DISCONNECT or with its connection."""
        return over(self.notes)


def over(notes: SessionNotes) -> Bools:
    """Per session: it has ended, by DISCONNECT or with its connection."""
    ended: Bools = (notes.disconnect >= 0) | (notes.close_kind != STREAM_OPEN)
    return ended


def delivery_status(machine: Machine) -> I8:
    """Per delivery, index in words.DELIVERY_STATUSES."""
    found, frame = machine.settling, machine.settling.frame
    asks = (found.mode == MODE_CLIENT) | (found.mode == MODE_INDIVIDUAL)
    ended = machine.over[machine.dialogue.session[frame]]
    enclosed = found.state == ENCLOSED
    outcome = chosen(machine.transactions.outcome.astype(np.int64), found.transaction)
    return np.select(
        [
            (found.state == AUTOMATIC) & ~machine.losses.guessed,
            machine.losses.untold,
            found.state == SETTLED,
            np.isin(found.state, (VOIDED, REPLACED)) | (enclosed & (outcome == IMPLICITLY_ABORTED)),
            enclosed & (outcome == OPEN),
            enclosed | ~asks,
            ended,
        ],
        [AUTO_STATUS, UNKNOWN_STATUS, SETTLED_STATUS, VOIDED_STATUS, OPEN_STATUS, UNKNOWN_STATUS, UNSETTLED],
        OPEN_STATUS,
    ).astype(np.int8)


def subscription_names(machine: Machine) -> pa.Array:
    """Per subscription its id, or its destination where it has none."""
    opened = machine.subscriptions.opened
    return pc.coalesce(machine.dialogue.some("id", opened), machine.dialogue.some("destination", opened))


def _modes(machine: Machine) -> pa.Array:
    """Per subscription its ack mode as text; a value no version knows as it was sent."""
    mode = machine.subscriptions.mode
    known = listed(np.where(mode == MODE_OTHER, MODE_AUTO, mode).astype(np.int8), words.ACK_MODES)
    return pc.if_else(pa.array(mode == MODE_OTHER), machine.dialogue.some("ack", machine.subscriptions.opened), known)


def _prefetch(dialogue: Dialogue, opened: I64) -> pa.Array:
    """The first of the brokers' prefetch headers that is a number; null where none is."""
    found: list[pa.Array] = []
    for name in PREFETCH_HEADERS:
        text = dialogue.some_header(name, opened)
        number = pc.fill_null(pc.match_substring_regex(text, "^-?[0-9]{1,18}$"), False)
        found.append(pc.if_else(number, text, pa.scalar(None, pa.string())).cast(pa.int64()))
    return pc.coalesce(*found)


def subscriptions(machine: Machine, status: I8) -> pa.Table:
    """Table subscriptions; `status` is that of the deliveries."""
    dialogue, held = machine.dialogue, machine.subscriptions
    opened, count = held.opened, len(held.opened)
    row = machine.of_subscription
    own = row >= 0
    nack = np.isin(dialogue.command[machine.settling.by], NACK) & (machine.settling.by >= 0)

    def counted(which: Bools, earlier: I64 | int = 0) -> pa.Array:
        return pa.array(np.bincount(row[own & which], minlength=count) + earlier)

    settled = status == SETTLED_STATUS
    delivered = np.bincount(row[own], minlength=count) + machine.earlier.delivered
    most = np.minimum(np.maximum(machine.settling.most, machine.earlier.most), delivered)  # the walk counts the guessed ones too
    begun, ended = dialogue.first_ns[opened], chosen(dialogue.first_ns, held.ended)
    fate = np.select(
        [held.ended >= 0, machine.over[dialogue.session[opened]]], [UNSUBSCRIBED, SUBSCRIPTION_ENDED], SUBSCRIPTION_OPEN
    )
    return pa.table(
        {
            "stream_id": machine.ids.take(pa.array(dialogue.session[opened])),
            "subscribe_offset": pa.array(dialogue.offset[opened]),
            "subscription": subscription_names(machine),
            "destination": dialogue.some("destination", opened),
            "ack_mode": _modes(machine),
            "prefetch": _prefetch(dialogue, opened),
            "subscribed_ns": pa.array(begun),
            "unsubscribed_ns": times(ended),
            "subscribed_ts": timestamps(begun),
            "delivered": pa.array(delivered),
            "acked": counted(settled & ~nack, machine.earlier.acked),
            "nacked": counted(settled & nack, machine.earlier.nacked),
            "unsettled": counted(np.isin(status, [UNSETTLED, OPEN_STATUS, VOIDED_STATUS]), machine.earlier.voided),
            "max_in_flight": pa.array(most),
            "status": listed(fate.astype(np.int8), words.SUBSCRIPTION_STATUSES),
        },
        schema=SUBSCRIPTIONS.arrow,
    )


def deliveries(machine: Machine, status: I8) -> pa.Table:
    """Table deliveries."""
    dialogue, found, frame = machine.dialogue, machine.settling, machine.settling.frame
    row = machine.of_subscription
    by, transaction = (np.where(machine.losses.untold, -1, known) for known in (found.by, found.transaction))
    delivered, settled = dialogue.last_ns[frame], chosen(dialogue.first_ns, by)
    outcome = chosen(machine.transactions.outcome.astype(np.int64), transaction)
    committed = np.where(outcome == COMMITTED, chosen(machine.transactions.ended, transaction), -1)
    settlement = np.where(by < 0, -1, dialogue.command[by] == NACK).astype(np.int8)
    inside = np.where(transaction >= 0, by, -1)
    said = pc.equal(pc.utf8_lower(dialogue.some_header("redelivered", frame)), "true")
    return pa.table(
        {
            "stream_id": machine.ids.take(pa.array(dialogue.session[frame])),
            "stream_offset": pa.array(dialogue.offset[frame]),
            "delivered_ns": pa.array(delivered),
            "delivered_ts": timestamps(delivered),
            "message_id": dialogue.of_messages("message_id"),
            "ack_id": dialogue.of_messages("ack"),
            "subscription": pc.coalesce(pick(subscription_names(machine), row), dialogue.of_messages("subscription")),
            "destination": dialogue.of_messages("destination"),
            "ack_mode": pick(_modes(machine), row),
            "redelivered": pc.fill_null(said, False),
            "body_octets": pa.array(dialogue.body_octets[frame]),
            "status": listed(status, words.DELIVERY_STATUSES),
            "settlement": listed(settlement, words.SETTLEMENTS),
            "settled_by": listed(np.where(by < 0, -1, found.how).astype(np.int8), words.SETTLED_BY),
            "settled_ns": times(settled),
            "settle_offset": times(chosen(dialogue.offset, by)),
            "transaction": dialogue.some("transaction", inside),
            "transaction_outcome": listed(outcome.astype(np.int8), words.TRANSACTION_OUTCOMES),
            "ack_latency_us": elapsed(delivered, np.where(status == UNKNOWN_STATUS, -1, settled)),
            "commit_latency_us": elapsed(delivered, chosen(dialogue.first_ns, committed)),
            "octets_missing": pa.array(machine.losses.marked, mask=by < 0),
        },
        schema=DELIVERIES.arrow,
    )


def transactions(machine: Machine) -> pa.Table:
    """Table transactions."""
    dialogue, held = machine.dialogue, machine.transactions
    rows = np.flatnonzero(held.begun >= 0)
    begin, outcome = held.begun[rows], held.outcome[rows]
    begun, session = dialogue.first_ns[begin], dialogue.session[begin]
    notes, left = machine.notes, chosen(dialogue.first_ns, machine.notes.disconnect)
    closed = np.where(notes.closed_ns >= 0, notes.closed_ns, left)[session]
    shut = np.where(notes.shut_c2s, notes.end_c2s, -1)[session]
    closed = np.where(closed >= begun, closed, np.where(shut >= begun, shut, -1))  # one may begin when the server has closed
    ended = np.where(outcome == IMPLICITLY_ABORTED, closed, chosen(dialogue.first_ns, held.ended[rows]))
    return pa.table(
        {
            "stream_id": machine.ids.take(pa.array(session)),
            "begin_offset": pa.array(dialogue.offset[begin]),
            "transaction": dialogue.some("transaction", begin),
            "begun_ns": pa.array(begun),
            "ended_ns": times(ended),
            "begun_ts": timestamps(begun),
            "outcome": listed(outcome, words.TRANSACTION_OUTCOMES),
            "sends": pa.array(held.sends[rows]),
            "acks": pa.array(held.acks[rows]),
            "nacks": pa.array(held.nacks[rows]),
            "body_octets": pa.array(held.body_octets[rows]),
            "duration_us": elapsed(begun, ended),
        },
        schema=TRANSACTIONS.arrow,
    )


def receipts(machine: Machine) -> pa.Table:
    """Table receipts; a request whose answer may have been lost by the capture stays open."""
    dialogue, asked, answered = machine.dialogue, machine.receipts.asked, machine.receipts.answered
    requested, replied = dialogue.first_ns[asked], chosen(dialogue.last_ns, answered)
    refused = (answered >= 0) & (dialogue.command[answered] == ERROR)
    closed = machine.notes.close_kind[dialogue.session[asked]] != STREAM_OPEN
    status = np.select(
        [refused, answered >= 0, closed & ~machine.later_s2c[asked]], [REFUSED, ANSWERED, UNANSWERED], RECEIPT_OPEN
    )
    answer = np.where(answered < 0, -1, refused).astype(np.int8)
    return pa.table(
        {
            "stream_id": machine.ids.take(pa.array(dialogue.session[asked])),
            "request_offset": pa.array(dialogue.offset[asked]),
            "command": dialogue.some("command", asked),
            "receipt": dialogue.some("receipt", asked),
            "requested_ns": pa.array(requested),
            "answered_ns": times(replied),
            "requested_ts": timestamps(requested),
            "answer": listed(answer, words.RECEIPT_ANSWERS),
            "latency_us": elapsed(requested, replied),
            "status": listed(status.astype(np.int8), words.RECEIPT_STATUSES),
        },
        schema=RECEIPTS.arrow,
    )
