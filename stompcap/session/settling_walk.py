"""The walk that settles deliveries, frame by frame: kernels of `settling`, which says what is settled by what.

Deliveries stand in a list for each name they have. Those that a cumulative ACK would settle are in a set besides, ordered by their
subscription and then as they came; and ordered by connection, where ACKs go by that.
"""

from __future__ import annotations

import numpy as np

from stompcap.kernel import kernel
from stompcap.session.dialogue import ABORT, ACK, COMMIT, I8, I32, I64, MESSAGE, NACK, SERVER, UNTOLD, Bools
from stompcap.session.notes import (
    MODE_AUTO,
    MODE_CLIENT,
    MODE_INDIVIDUAL,
    MODE_UNKNOWN,
    TARGET_AUTO,
    TARGET_CUMULATED,
    TARGET_NONE,
    TARGET_OTHER_SUBSCRIPTION,
    TARGET_PENDING,
    TARGET_SETTLED,
    TARGET_UNKNOWN,
)
from stompcap.session.ordered import add, below, remove
from stompcap.session.voided import Voided, first, put, take

PENDING, SETTLED, ENCLOSED, VOIDED, AUTOMATIC, REPLACED = range(6)
"""ENCLOSED: in a transaction that has not ended; VOIDED: in one that was aborted; REPLACED: voided, and then delivered anew."""
DIRECT, CUMULATIVE = range(2)  # index in words.SETTLED_BY
STANDS = ("same_ack", "settled", "state", "how", "latest", "aborts", "loss")
"""How a delivery stands: the frame before it that has its ack id, what settled it, PENDING to REPLACED, how, when that came about, how
often it was in a transaction that was aborted, and its losses.
"""
CHANGED, SWEPT, AGAIN, UNCLEAR = 1, 2, 4, 8
"""Losses of a delivery: octets are missing since it came, or an ambiguous ACK came, as far as earlier pieces tell; it was delivered
again before it was settled; and it is not known which of the two a later ACK means.
"""
WEARY = 64  # so often aborted, a delivery is no more settled along with others: the work would grow with their product


@kernel
def _known(code: int, s: int, now: int, memory: int, owner: I32, held: I64, touched: I64) -> bool:
    """A delivery of that code is unsettled, or one was delivered or settled not long ago."""
    return code >= 0 and owner[code] == s and (held[code] > 0 or now - touched[code] <= memory)


@kernel
def _first(
    which_key: int, code: int, i: int, waiting: I64, live: I64, tail: I64, following: I64, voided: Voided, state: I8, row: I64,
    frame: I64, ended: I64,
) -> int:
    """The delivery that an ACK of that code, which is known, names; -1 where there is none.

    That is the first unsettled of an active subscription, else the first unsettled, else the first whose transaction was aborted. What
    one of the first two looked at in vain is not looked at again, for it never gets unsettled again.
    """
    k = live[code]
    while k >= 0 and (state[k] != PENDING or (row[frame[k]] >= 0 and 0 <= ended[row[frame[k]]] <= i)):
        k = following[which_key, k]
    live[code] = k
    if k >= 0:
        return int(k)
    k = waiting[code]
    while k >= 0 and state[k] != PENDING:
        k = following[which_key, k]
    waiting[code] = k
    return int(k) if k >= 0 else first(voided, which_key, tail[code])


@kernel
def _append(
    code: int, s: int, k: int, known: bool, beginning: int, owner: I32, waiting: I64, live: I64, tail: I64, held: I64, touched: I64,
    begun: I64, following: I64,
) -> None:
    """Put delivery k behind the others of its code; those no longer known are forgotten, the list begins with frame `beginning` then."""
    following[k] = -1
    if code < 0:
        return
    if not known:
        owner[code], held[code], touched[code], begun[code] = s, 0, -1, beginning
    else:
        following[tail[code]] = k
    for cursor in (waiting, live):
        if not known or cursor[code] < 0:
            cursor[code] = k
    tail[code] = k


@kernel
def _turn(
    k: int, now: int, to: int, state: I8, mode: I8, frame: I64, codes: I32, since: I64, owner: I32, begun: I64, held: I64, touched: I64,
    latest: I64, voided: Voided, s: int,
) -> None:
    """Bring delivery k into a state; `held` counts those in the list of a code that are not done with."""
    asks = mode[k] == MODE_CLIENT or mode[k] == MODE_INDIVIDUAL
    was = state[k] == ENCLOSED or state[k] == VOIDED or (state[k] == PENDING and asks)
    state[k], latest[k] = to, now
    more = int(to == ENCLOSED or to == VOIDED or (to == PENDING and asks)) - int(was)
    for which_key in range(3):
        code = codes[frame[k], which_key]
        if code >= 0 and owner[code] == s and begun[code] == since[frame[k], which_key]:
            held[code] += more
            touched[code] = max(touched[code], now)
            if to == VOIDED:
                put(voided, which_key, k)
            else:
                take(voided, which_key, k)


@kernel
def _add(words: I64, starts: I64, slot: int, place: int) -> None:
    """Put a delivery into the set by both of its numbers."""
    add(words, starts, slot)
    if place != slot:
        add(words, starts, place)


@kernel
def _remove(words: I64, starts: I64, slot: int, place: int) -> None:
    """Take a delivery out of the set."""
    remove(words, starts, slot)
    if place != slot:
        remove(words, starts, place)


@kernel
def _retain(
    begin: int, end: int, s: int, now: int, memory: int, codes: I32, owner: I32, tail: I64, held: I64, touched: I64,
    frame: I64, state: I8, mode: I8, latest: I64, retained: Bools,
) -> None:
    """Which of a session's deliveries still matter: not done with, touched not long ago, or what a known code leads to."""
    for k in range(begin, end):
        asks = mode[k] == MODE_CLIENT or mode[k] == MODE_INDIVIDUAL
        keep = state[k] == ENCLOSED or state[k] == VOIDED or (state[k] == PENDING and asks) or now - latest[k] <= memory
        for code in codes[frame[k]]:
            if not keep and _known(code, s, now, memory, owner, held, touched):
                keep = tail[code] == k or state[k] == PENDING
        retained[k] = keep


@kernel
def walk(
    session: I32, side: I8, command: I8, ordinal: I64, memory: int, codes: I32, space: int, row: I64,
    ended: I64, which: I64, transactions: int, single: Bools, lax: Bools, mode: I8,
    wide: Bools, version: I8, position: I64, shown: I64, guessed: Bools, slot: I64, place: I64, at_slot: I64, lowest: I64,
    words: I64, starts: I64, voided: Voided,
    told: I64, stands: I64, since: I64, delivery: I64, target: I8, earlier: Bools, same_message: I64, same_ack: I64,
    frame: I64, state: I8, by: I64, how: I8, transaction: I64, latest: I64, aborts: I64, retained: Bools, most: I64,
    loss: I64, ambiguous: Bools,
) -> None:
    """Walk all sessions; `mode` stands per delivery, `ended` per subscription, `which` is the transaction per frame.

    `slot`: per delivery its number in the set of `words` and `starts` (stompcap.session.ordered), -1 where an ACK of another never
    settles it; `place`: the number by which it stands in its subscription, the same where ACKs go by that. `at_slot` and `lowest`, per
    number: its delivery, and the first number of the same subscription or connection. `earlier`, per ACK and NACK that names one:
    another of its subscription came before and can be settled.

    `codes` has per frame those of the ack id, the message-id, and message-id and subscription together, in one code space.
    What earlier pieces had is taken from them, for what it hung on may be dropped. `told`: the frame of the delivery that was found for
    an ACK or NACK (whose `target` it has then too), or that came before a MESSAGE by the same message-id, -1 for none; UNTOLD of
    frames that are new. `stands`: of a MESSAGE how its delivery stands (the columns of STANDS). `since`: per MESSAGE and code the ordinal
    of the first delivery in its list.

    `shown` is, per frame, where the last gap ends that has ended by then, of either side (of `position`); `guessed`: a MESSAGE may be of a
    subscription that is lost, as it is known by then. `ambiguous`, per ACK and NACK: it is not known what it settles along, for what it
    names is UNCLEAR or, where ACKs reach over the connection (`wide`), of a subscription that is not known.
    """
    n = len(frame)
    owner, held = np.full(space, -1, np.int32), np.zeros(space, np.int64)
    tail, touched = np.zeros(space, np.int64), np.zeros(space, np.int64)
    waiting, live = np.zeros(space, np.int64), np.zeros(space, np.int64)
    begun, following = np.zeros(space, np.int64), np.zeros((3, n), np.int64)
    familiar = np.zeros(3, np.bool_)  # per code of a MESSAGE: there is a list that it belongs to
    enclosed, enclosed_next = np.full(transactions, -1, np.int64), np.full(n, -1, np.int64)
    flying = np.zeros(len(ended), np.int64)
    count, begin, unsure = 0, 0, -1  # unsure: the latest frame that is ambiguous
    for i in range(len(session)):
        c, s, now = command[i], session[i], ordinal[i]
        a, m, p = codes[i]
        if i > 0 and session[i - 1] != s:
            _retain(
                begin, count, session[i - 1], ordinal[i - 1], memory, codes, owner, tail, held, touched, frame, state, mode,
                latest, retained,
            )
            begin, unsure = count, -1
        if c == MESSAGE and side[i] == SERVER:
            k = count
            count += 1
            frame[k], delivery[i], by[k], transaction[k], state[k] = i, k, -1, -1, AUTOMATIC
            new = told[i] == UNTOLD
            for which_key in range(3):
                code = codes[i, which_key]
                if not new:
                    familiar[which_key] = code >= 0 and owner[code] == s and begun[code] == since[i, which_key]
                else:
                    familiar[which_key] = _known(code, s, now, memory, owner, held, touched)
                    since[i, which_key] = begun[code] if familiar[which_key] else now
            if new:
                same_message[i] = frame[tail[m]] if familiar[1] else -1
                copy = delivery[same_message[i]]
                if same_message[i] >= 0 and state[copy] == VOIDED and row[i] >= 0 and row[frame[copy]] == row[i]:
                    _turn(copy, now, REPLACED, state, mode, frame, codes, since, owner, begun, held, touched, latest, voided, s)
                    if slot[copy] >= 0 and aborts[copy] < WEARY:
                        _remove(words, starts, slot[copy], place[copy])
                        flying[row[i]] -= 1
                open_before = _first(0, a, i, waiting, live, tail, following, voided, state, row, frame, ended) if familiar[0] else -1
                same_ack[i] = frame[open_before] if open_before >= 0 else -1
                rival = open_before
                if version[i] != 2:
                    rival = _first(1, m, i, waiting, live, tail, following, voided, state, row, frame, ended) if familiar[1] else -1
                if rival >= 0 and mode[k] != MODE_AUTO:
                    loss[rival] |= AGAIN
                    f = frame[rival]
                    if (
                        shown[i] > position[f] or loss[rival] & (CHANGED | SWEPT | UNCLEAR) or mode[rival] == MODE_UNKNOWN
                        or mode[k] == MODE_UNKNOWN or guessed[i] or (unsure > f and (wide[s] or mode[rival] == MODE_CLIENT))
                    ):
                        loss[rival] |= UNCLEAR
                        loss[k] |= UNCLEAR
            else:
                same_message[i], same_ack[i] = told[i], stands[i, 0]
            for which_key in range(3):
                _append(
                    codes[i, which_key], s, k, familiar[which_key], since[i, which_key], owner, waiting, live, tail, held,
                    touched, begun, following[which_key],
                )
            if new:
                to = AUTOMATIC if mode[k] == MODE_AUTO else PENDING
                _turn(k, now, to, state, mode, frame, codes, since, owner, begun, held, touched, latest, voided, s)
            else:
                by[k], how[k], aborts[k], loss[k] = stands[i, 1], stands[i, 3], stands[i, 5], stands[i, 6]
                transaction[k] = which[by[k]] if by[k] >= 0 else -1
                _turn(k, stands[i, 4], stands[i, 2], state, mode, frame, codes, since, owner, begun, held, touched, latest, voided, s)
                if state[k] == ENCLOSED and transaction[k] >= 0:
                    enclosed_next[k], enclosed[transaction[k]] = enclosed[transaction[k]], k
            if slot[k] >= 0 and (state[k] == PENDING or state[k] == VOIDED) and aborts[k] < WEARY:
                r = row[i]
                _add(words, starts, slot[k], place[k])
                flying[r] += 1
                if new:
                    most[r] = max(most[r], flying[r])
        elif (c == ACK or c == NACK) and target[i] != TARGET_NONE:
            k, last = -1, -1
            if told[i] != UNTOLD:
                if told[i] >= 0:
                    delivery[i] = delivery[told[i]]
                continue
            if a >= 0:
                if _known(a, s, now, memory, owner, held, touched):
                    k, last = _first(0, a, i, waiting, live, tail, following, voided, state, row, frame, ended), tail[a]
            elif p >= 0 and not lax[s] and _known(p, s, now, memory, owner, held, touched):
                k, last = _first(2, p, i, waiting, live, tail, following, voided, state, row, frame, ended), tail[p]
            elif _known(m, s, now, memory, owner, held, touched):
                k, last = _first(1, m, i, waiting, live, tail, following, voided, state, row, frame, ended), tail[m]
                if p >= 0 and not lax[s] and codes[frame[last if k < 0 else k], 2] >= 0:
                    delivery[i], target[i] = last, TARGET_OTHER_SUBSCRIPTION
                    continue
            named = last if k < 0 else k
            if named >= 0 and place[named] >= 0:
                earlier[i] = below(words, starts, place[named]) >= lowest[place[named]]
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
            ambiguous[i] = loss[k] & UNCLEAR > 0 or (wide[s] and (row[frame[k]] < 0 or guessed[frame[k]]))
            if ambiguous[i]:
                unsure = i
            chosen, t = k, which[i]
            while k >= 0:
                if state[k] == PENDING or state[k] == VOIDED:
                    if slot[k] >= 0 and aborts[k] < WEARY:
                        _remove(words, starts, slot[k], place[k])
                        flying[row[frame[k]]] -= 1
                    by[k], transaction[k] = i, t
                    how[k] = DIRECT if k == chosen else CUMULATIVE
                    to = ENCLOSED if t >= 0 else SETTLED
                    _turn(k, now, to, state, mode, frame, codes, since, owner, begun, held, touched, latest, voided, s)
                    if t >= 0:
                        enclosed_next[k], enclosed[t] = enclosed[t], k
                if mode[chosen] != MODE_CLIENT or (c == NACK and single[s]):
                    break
                number = below(words, starts, slot[k])
                k = at_slot[number] if number >= lowest[slot[chosen]] else -1
        elif (c == COMMIT or c == ABORT) and which[i] >= 0 and told[i] == UNTOLD:
            k = enclosed[which[i]]
            while k >= 0:
                to = SETTLED if c == COMMIT else VOIDED
                _turn(k, now, to, state, mode, frame, codes, since, owner, begun, held, touched, latest, voided, s)
                aborts[k] += c == ABORT
                if c == ABORT and slot[k] >= 0 and aborts[k] < WEARY:
                    r = row[frame[k]]
                    _add(words, starts, slot[k], place[k])
                    flying[r] += 1
                    most[r] = max(most[r], flying[r])
                k = enclosed_next[k]
            enclosed[which[i]] = -1
    if len(session):
        _retain(
            begin, count, session[-1], ordinal[-1], memory, codes, owner, tail, held, touched, frame, state, mode, latest, retained
        )
