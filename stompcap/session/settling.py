"""Settling: which ACK or NACK settles which MESSAGE.

An ACK names one delivery. In mode client it settles those before it too: of the same subscription, as the specification has it,
or of the whole connection, as RabbitMQ does. Inside a transaction it settles nothing until COMMIT; after ABORT the deliveries may
be acknowledged again, until their subscription delivers the same message anew. What is settled is known by its name for
Options.memory frames more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.session import ordered, voided
from stompcap.session.dialogue import ABORT, I8, I32, I64, UNTOLD, Bools, Dialogue
from stompcap.session.keys import Keys, keys
from stompcap.session.notes import (
    MODE_CLIENT,
    MODE_INDIVIDUAL,
    TARGET_NONE,
    TARGET_UNKNOWN,
)
from stompcap.session.settling_walk import REPLACED, STANDS, VOIDED, WEARY, walk
from stompcap.session.subscriptions import Subscriptions, mode_of
from stompcap.session.transactions import Transactions
from stompcap.session.wire import remembered

TARGET_BITS = 3
EARLIER = 1 << TARGET_BITS  # above the target: Settling.earlier
BITS = TARGET_BITS + 1
SINCE = ("since_ack", "since_message", "since_pair")
ACK_ID, MESSAGE_ID = range(2)  # columns of Settling.since


@dataclass(frozen=True)
class Habits:
    """What brokers do differently, one entry per session."""

    connection_wide: Bools  # a cumulative ACK settles deliveries of the whole connection
    single_nack: Bools  # a NACK settles one message in mode client too
    any_subscription: Bools  # a 1.1 ACK goes by message-id, whatever subscription it names, if any
    unescapes: Bools  # escapes in a 1.0 ACK are undone, though 1.0 has none


@dataclass(frozen=True)
class Settling:
    """What was settled by what.

    Per frame: `delivery` (a MESSAGE's own number, the one an ACK or NACK names; -1), `target`, `message_id_before` and
    `ack_id_before` as in `notes.Annotations`, `earlier`, `since` and `ambiguous` as in `settling_walk.walk`.

    Per delivery, numbered as the MESSAGEs stand on the wire: `frame`, `mode`, `state` after the last frame, `by` (the frame that
    settles it, -1), `how` (DIRECT or CUMULATIVE), `transaction` (-1), `retained` (what the session does next may concern it), `reached`
    (an ACK of another delivery may settle it), `latest` (ordinal of the frame that brought it to its state), `aborts` (how often it was in
    a transaction that was aborted), `loss` (bits, see stompcap.session.settling_walk).
    Per subscription: `most`, the most deliveries in flight at one time.
    """

    delivery: I64
    target: I8
    earlier: Bools
    message_id_before: I64
    ack_id_before: I64
    since: I64
    ambiguous: Bools
    frame: I64
    mode: I8
    state: I8
    by: I64
    how: I8
    transaction: I64
    retained: Bools
    reached: Bools
    latest: I64
    aborts: I64
    loss: I64
    most: I64

    @property
    def weary(self) -> Bools:
        """Per delivery: it was aborted so often that it is not known whether it was settled along with others since."""
        tired: Bools = np.isin(self.state, (VOIDED, REPLACED)) & (self.aborts >= WEARY)
        return tired


def _names_target(dialogue: Dialogue, found: Keys) -> I8:
    """TARGET_UNKNOWN for the ACK and NACK frames that name a message by the headers of their version, else TARGET_NONE."""
    naming = dialogue.settles & ((found.ack >= 0) | (found.message >= 0))
    return np.where(naming, TARGET_UNKNOWN, TARGET_NONE).astype(np.int8)


def follow(
    dialogue: Dialogue, memory: int, subscriptions: Subscriptions, transactions: Transactions, habits: Habits, shown: I64,
    guessed: Bools,
) -> Settling:
    """Follow all sessions' deliveries; `memory`: see Options; `shown` and `guessed`: see `settling_walk.walk`."""
    count = len(dialogue)
    found = keys(dialogue, subscriptions, habits.any_subscription, habits.unescapes)
    sent = dialogue.messages
    mode = mode_of(subscriptions, subscriptions.row[sent])
    delivery, same_message, same_ack = (np.full(count, -1, np.int64) for _ in range(3))
    told, told_target, earlier, since = _told(dialogue)
    target = np.where(told_target >= 0, told_target, _names_target(dialogue, found)).astype(np.int8)
    frame, by, transaction, latest = (np.full(len(sent), -1, np.int64) for _ in range(4))
    aborts, loss = np.zeros(len(sent), np.int64), np.zeros(len(sent), np.int64)
    ambiguous = np.zeros(count, np.bool_)
    state, how, retained = np.zeros(len(sent), np.int8), np.zeros(len(sent), np.int8), np.zeros(len(sent), np.bool_)
    most = np.zeros(len(subscriptions.mode), np.int64)
    codes = np.stack([found.ack, _shifted(found.message, found.acks), _shifted(found.pair, found.acks + found.messages)], axis=1)
    session, stands = dialogue.session[sent], _stands(dialogue)
    numbers = _numbers(dialogue, subscriptions.row[sent], mode, habits.connection_wide)
    walk(
        dialogue.session, dialogue.side, dialogue.command, dialogue.ordinal, memory,
        codes, found.acks + found.messages + found.pairs, subscriptions.row, subscriptions.ended,
        transactions.which, len(transactions.outcome), habits.single_nack, habits.any_subscription, mode,
        habits.connection_wide, dialogue.version, dialogue.position, shown, guessed,
        *numbers, *ordered.empty(len(numbers[2])),
        voided.empty(codes[sent], session, _aborting(dialogue, stands)[session]),
        told, stands, since, delivery, target, earlier, same_message, same_ack,
        frame, state, by, how, transaction, latest, aborts, retained, most, loss, ambiguous,
    )
    reached = (mode == MODE_CLIENT) | habits.connection_wide[dialogue.session[frame]]
    return Settling(
        delivery, target, earlier, same_message, same_ack, since, ambiguous,
        frame, mode, state, by, how, transaction, retained, reached, latest, aborts, loss, most,
    )


def _numbers(dialogue: Dialogue, row: I64, mode: I8, wide: Bools) -> tuple[I64, I64, I64, I64]:
    """`slot`, `place`, `at_slot` and `lowest` of `settling_walk.walk`: by subscription, and by session where ACKs settle `wide`."""
    session = dialogue.session[dialogue.messages].astype(np.int64)
    asks = np.flatnonzero((mode == MODE_CLIENT) | (mode == MODE_INDIVIDUAL))
    across = asks[wide[session[asks]]]
    line, member = np.concatenate([row[asks], -1 - session[across]]), np.concatenate([asks, across])
    order = np.argsort(line, kind="stable")
    number = np.empty(len(line), np.int64)
    number[order] = np.arange(len(line))
    place = np.full(len(mode), -1, np.int64)
    place[asks] = number[: len(asks)]
    slot = place.copy()
    slot[across] = number[len(asks) :]
    return slot, place, member[order], np.searchsorted(line[order], line[order])


def _aborting(dialogue: Dialogue, stands: I64) -> Bools:
    """Sessions in which transactions are aborted or, as `stands` tells of earlier pieces, were."""
    found = np.zeros(dialogue.sessions, np.bool_)
    found[dialogue.session[dialogue.command == ABORT]] = True
    found[dialogue.session[: len(stands)][stands[:, STANDS.index("state")] == VOIDED]] = True
    return found


def _shifted(codes: I32, by: int) -> I32:
    """Codes moved behind those of another space; -1 stays."""
    return np.where(codes < 0, -1, codes + by).astype(np.int32)


def _told(dialogue: Dialogue) -> tuple[I64, I64, Bools, I64]:
    """Per frame what earlier pieces found: the frame meant, or UNTOLD; of an ACK or NACK the target, else -1, and `earlier`; `since`."""
    none = np.full(dialogue.frames.num_rows, -1)
    number = remembered(dialogue.frames, "meant", none)[dialogue.row]
    found = np.where(number < 0, UNTOLD, -1)
    at = np.flatnonzero(number >> BITS > 0)
    found[at] = dialogue.numbered(at, (number[at] >> BITS) - 1)
    answers = dialogue.settles & (number >= 0)
    target = np.where(answers, (number & (EARLIER - 1)) - 1, -1)
    since = np.stack([remembered(dialogue.frames, name, none)[dialogue.row] for name in SINCE], axis=1)
    return found, target, answers & ((number & EARLIER) > 0), since


def _stands(dialogue: Dialogue) -> I64:
    """Per frame, of a MESSAGE that an earlier piece had, the columns of STANDS; frames by index. Of whole sessions nothing."""
    if STANDS[0] not in dialogue.frames.column_names:
        return np.zeros((0, len(STANDS)), np.int64)
    none = np.zeros(dialogue.frames.num_rows, np.int64)
    found = np.stack([remembered(dialogue.frames, name, none)[dialogue.row] for name in STANDS], axis=1)
    for column in range(2):
        number = found[:, column].copy()
        found[:, column], at = -1, np.flatnonzero(number > 0)
        found[at, column] = dialogue.numbered(at, number[at] - 1)
    return found


def carried(dialogue: Dialogue, held: Settling, loss: I64) -> dict[str, I64]:
    """Per frame, for later pieces, what it was found to mean: one more than the target, `earlier`, the ordinal of what it names; `since`.

    And STANDS of a MESSAGE, `loss` per delivery; frames by one more than their ordinal, 0 for none.
    """
    meant = held.message_id_before.copy()
    named = np.flatnonzero(dialogue.settles & (held.delivery >= 0))
    meant[named] = held.frame[held.delivery[named]]
    number = np.where(meant >= 0, dialogue.ordinal[meant] + 1, 0) << BITS
    number += np.where(dialogue.settles, held.target + 1 + EARLIER * held.earlier, 0)
    stands = np.zeros((len(dialogue), len(STANDS)), np.int64)
    for column, frames in enumerate((held.ack_id_before[held.frame], held.by)):
        stands[held.frame, column] = np.where(frames >= 0, dialogue.ordinal[frames] + 1, 0)
    stands[held.frame, 2:] = np.stack([held.state, held.how, held.latest, held.aborts, loss], axis=1)
    return {"meant": number} | dict(zip((*STANDS, *SINCE), (*stands.T, *held.since.T), strict=True))
