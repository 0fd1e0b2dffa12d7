"""Settling: which ACK or NACK settles which MESSAGE.

An ACK names one delivery. In mode client it settles those before it too: of the same subscription, as the specification has it,
or of the whole connection, as RabbitMQ does. Inside a transaction it settles nothing until COMMIT; after ABORT the deliveries may
be acknowledged again. Every delivery enters and leaves each list once, so the walk is linear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.kernel import kernel
from stompcap.session.dialogue import ABORT, ACK, COMMIT, I8, I32, I64, MESSAGE, NACK, SERVER, Bools, Dialogue
from stompcap.session.keys import Keys, keys
from stompcap.session.notes import (
    MODE_AUTO,
    MODE_CLIENT,
    MODE_INDIVIDUAL,
    TARGET_AUTO,
    TARGET_CUMULATED,
    TARGET_NONE,
    TARGET_OTHER_SUBSCRIPTION,
    TARGET_PENDING,
    TARGET_SETTLED,
    TARGET_UNKNOWN,
)
from stompcap.session.subscriptions import Subscriptions, mode_of
from stompcap.session.transactions import Transactions

PENDING, SETTLED, ENCLOSED, VOIDED, AUTOMATIC = range(5)  # ENCLOSED: in a transaction that has not ended
DIRECT, CUMULATIVE = range(2)  # index in words.SETTLED_BY


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

    Per frame: `delivery` (a MESSAGE's own number, the one an ACK or NACK names; -1) and `target`, `message_id_before`,
    `ack_id_before` as in `notes.Annotations`.

    Per delivery, numbered as the MESSAGEs stand on the wire: `frame`, `mode`, `state` after the last frame, `by` (the frame that
    settles it, -1), `how` (DIRECT or CUMULATIVE), `transaction` (-1).
    Per subscription: `most`, the most deliveries in flight at one time.
    """

    delivery: I64
    target: I8
    message_id_before: I64
    ack_id_before: I64
    frame: I64
    mode: I8
    state: I8
    by: I64
    how: I8
    transaction: I64
    most: I64


@kernel
def _first(code: int, s: int, i: int, owner: I32, head: I64, following: I64, state: I8, row: I64, frame: I64, ended: I64) -> int:
    """The delivery that an ACK of that code names, -1 where there is none.

    That is the first unsettled of an active subscription, else the first unsettled, else the first whose transaction was aborted.
    """
    if code < 0 or owner[code] != s:
        return -1
    k = head[code]
    while k >= 0 and (state[k] == SETTLED or state[k] == AUTOMATIC):
        k = following[k]
    head[code] = k
    late, voided = -1, -1
    while k >= 0:
        if state[k] == PENDING:
            r = row[frame[k]]
            if r < 0 or ended[r] < 0 or ended[r] > i:
                return int(k)
            if late < 0:
                late = k
        elif state[k] == VOIDED and voided < 0:
            voided = k
        k = following[k]
    return int(late if late >= 0 else voided)


@kernel
def _append(code: int, s: int, k: int, owner: I32, head: I64, tail: I64, following: I64) -> None:
    """Put delivery k behind the others of its code."""
    following[k] = -1
    if code < 0:
        return
    if owner[code] != s:
        owner[code], head[code] = s, k
    else:
        following[tail[code]] = k
        if head[code] < 0:
            head[code] = k
    tail[code] = k


@kernel
def _unlink(k: int, before: I64, behind: I64, tails: I64, line: I64) -> None:
    """Take delivery k out of its line of unsettled ones."""
    if line[k] < 0:
        return
    if before[k] >= 0:
        behind[before[k]] = behind[k]
    if behind[k] >= 0:
        before[behind[k]] = before[k]
    else:
        tails[line[k]] = before[k]
    line[k] = -1


@kernel
def _walk(
    session: I32, side: I8, command: I8, ack: I32, message: I32, pair: I32, acks: int, messages: int, pairs: int, row: I64,
    ended: I64, which: I64, transactions: int, wide: Bools, single: Bools, lax: Bools, mode: I8,
    delivery: I64, target: I8, same_message: I64, same_ack: I64,
    frame: I64, state: I8, by: I64, how: I8, transaction: I64, most: I64,
) -> None:
    """Walk all sessions; `mode` stands per delivery, `ended` per subscription, `which` is the transaction per frame."""
    n, subscriptions, sessions = len(frame), len(ended), len(wide)
    own_a, own_m, own_p = np.full(acks, -1, np.int32), np.full(messages, -1, np.int32), np.full(pairs, -1, np.int32)
    head_a, head_m, head_p = np.zeros(acks, np.int64), np.zeros(messages, np.int64), np.zeros(pairs, np.int64)
    tail_a, tail_m, tail_p = np.zeros(acks, np.int64), np.zeros(messages, np.int64), np.zeros(pairs, np.int64)
    next_a, next_m, next_p = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    before, behind = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    line = np.full(n, -1, np.int64)  # subscriptions have lines of their own, behind them one per connection
    tails = np.full(subscriptions + sessions, -1, np.int64)
    swept = np.zeros(n, np.bool_)  # what stands before it in its line was settled along with it
    enclosed, enclosed_next = np.full(transactions, -1, np.int64), np.full(n, -1, np.int64)
    flying = np.zeros(subscriptions, np.int64)
    count = 0
    for i in range(len(session)):
        c, s = command[i], session[i]
        if c == MESSAGE and side[i] == SERVER:
            k = count
            count += 1
            frame[k], delivery[i], by[k], transaction[k] = i, k, -1, -1
            m = message[i]
            if m >= 0 and own_m[m] == s:
                same_message[i] = frame[tail_m[m]]
            earlier = _first(ack[i], s, i, own_a, head_a, next_a, state, row, frame, ended)
            if earlier >= 0:
                same_ack[i] = frame[earlier]
            state[k] = AUTOMATIC if mode[k] == MODE_AUTO else PENDING
            _append(ack[i], s, k, own_a, head_a, tail_a, next_a)
            _append(m, s, k, own_m, head_m, tail_m, next_m)
            _append(pair[i], s, k, own_p, head_p, tail_p, next_p)
            if mode[k] == MODE_CLIENT or mode[k] == MODE_INDIVIDUAL:
                r = row[i]
                t = subscriptions + s if wide[s] else r
                line[k], before[k] = t, tails[t]
                if tails[t] >= 0:
                    behind[tails[t]] = k
                tails[t] = k
                flying[r] += 1
                most[r] = max(most[r], flying[r])
        elif (c == ACK or c == NACK) and target[i] != TARGET_NONE:
            k, last = -1, -1
            if ack[i] >= 0:
                k = _first(ack[i], s, i, own_a, head_a, next_a, state, row, frame, ended)
                last = tail_a[ack[i]] if own_a[ack[i]] == s else -1
            elif pair[i] >= 0 and not lax[s]:
                k = _first(pair[i], s, i, own_p, head_p, next_p, state, row, frame, ended)
                last = tail_p[pair[i]] if own_p[pair[i]] == s else -1
                if last < 0 and own_m[message[i]] == s:
                    k = _first(message[i], s, i, own_m, head_m, next_m, state, row, frame, ended)
                    last = tail_m[message[i]]
                    if pair[frame[last if k < 0 else k]] >= 0:
                        delivery[i], target[i] = last, TARGET_OTHER_SUBSCRIPTION
                        continue
            else:
                k = _first(message[i], s, i, own_m, head_m, next_m, state, row, frame, ended)
                last = tail_m[message[i]] if own_m[message[i]] == s else -1
            if k < 0:
                target[i] = TARGET_UNKNOWN
                if last >= 0:
                    delivery[i] = last
                    if state[last] == AUTOMATIC:
                        target[i] = TARGET_AUTO
                    else:
                        target[i] = TARGET_CUMULATED if how[last] == CUMULATIVE else TARGET_SETTLED
                continue
            delivery[i], target[i] = k, TARGET_PENDING
            cumulative = mode[k] == MODE_CLIENT and not (c == NACK and single[s])
            t = which[i]
            chosen = k
            while k >= 0:
                earlier = before[k] if line[k] >= 0 else -1
                if k == chosen or state[k] == PENDING or state[k] == VOIDED:
                    by[k], transaction[k] = i, t
                    how[k] = DIRECT if k == chosen else CUMULATIVE
                    if t >= 0:
                        state[k], enclosed_next[k], enclosed[t] = ENCLOSED, enclosed[t], k
                        swept[k] = cumulative
                    else:
                        state[k] = SETTLED
                    r = row[frame[k]]
                    if line[k] >= 0 and r >= 0:
                        flying[r] -= 1
                    if t < 0:
                        _unlink(k, before, behind, tails, line)
                elif swept[k]:
                    break
                if not cumulative:
                    break
                k = earlier
        elif (c == COMMIT or c == ABORT) and which[i] >= 0:
            k = enclosed[which[i]]
            while k >= 0:
                if c == COMMIT:
                    state[k] = SETTLED
                    _unlink(k, before, behind, tails, line)
                else:
                    state[k], swept[k] = VOIDED, False
                    r = row[frame[k]]
                    if line[k] >= 0 and r >= 0:
                        flying[r] += 1
                        most[r] = max(most[r], flying[r])
                k = enclosed_next[k]
            enclosed[which[i]] = -1


def _names_target(dialogue: Dialogue, found: Keys) -> I8:
    """TARGET_UNKNOWN for the ACK and NACK frames that name a message by the headers of their version, else TARGET_NONE."""
    naming = dialogue.settles & ((found.ack >= 0) | (found.message >= 0))
    return np.where(naming, TARGET_UNKNOWN, TARGET_NONE).astype(np.int8)


def follow(dialogue: Dialogue, subscriptions: Subscriptions, transactions: Transactions, habits: Habits) -> Settling:
    """Follow all sessions' deliveries."""
    count = len(dialogue)
    found = keys(dialogue, subscriptions, habits.any_subscription, habits.unescapes)
    sent = dialogue.messages
    mode = mode_of(subscriptions, subscriptions.row[sent])
    delivery, same_message, same_ack = (np.full(count, -1, np.int64) for _ in range(3))
    target = _names_target(dialogue, found)
    frame, by, transaction = (np.full(len(sent), -1, np.int64) for _ in range(3))
    state, how = np.zeros(len(sent), np.int8), np.zeros(len(sent), np.int8)
    most = np.zeros(len(subscriptions.mode), np.int64)
    _walk(
        dialogue.session, dialogue.side, dialogue.command, found.ack, found.message, found.pair,
        found.acks, found.messages, found.pairs, subscriptions.row, subscriptions.ended,
        transactions.which, len(transactions.outcome),
        habits.connection_wide, habits.single_nack, habits.any_subscription, mode,
        delivery, target, same_message, same_ack, frame, state, by, how, transaction, most,
    )
    return Settling(delivery, target, same_message, same_ack, frame, mode, state, by, how, transaction, most)
