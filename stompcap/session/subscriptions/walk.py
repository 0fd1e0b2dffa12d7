"""Subscriptions, frame by frame: which one a SUBSCRIBE opens, an UNSUBSCRIBE ends, a MESSAGE belongs to; kernels."""

from __future__ import annotations

from typing import NamedTuple

from stompcap.columns import I64, Bools
from stompcap.kernel import inline, kernel
from stompcap.session.dialogue import SUBSCRIBE, UNSUBSCRIBE
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN, UNNAMED
from stompcap.session.subscriptions.records import Subscription

POSSIBLE = -2  # a MESSAGE that names no subscription may be of the one there, or of one that is lost


class SubscriptionFrames(NamedTuple):
    """The frames that the walk goes over: SUBSCRIBE, UNSUBSCRIBE and MESSAGE."""

    session: I64
    ordinal: I64
    command: I64
    name: I64  # code of the id, or of the destination that stands for it; -1 for none
    destination: I64  # code of the destination; -1 for none
    anonymous: Bools  # it has no id
    missed: Bools  # octets of the client are missing before it


class SubscriptionFacts(NamedTuple):
    """What the walk finds of each of them."""

    row: I64  # its subscription: what it opens, ends or belongs to
    state: I64  # of the subscription that it names, before it; as in stompcap.session.facts
    same_destination: I64  # subscriptions that are active on its destination


NO_FACTS = (-1, UNNAMED, 0)  # of a frame that the walk does not go over


class ActiveSubscriptions(NamedTuple):
    """Per destination, which subscriptions are active there; of several rows only their exclusive or is known, of one the row itself."""

    of_row: I64  # per row, the code of its destination
    session: I64  # the session that the entry is of
    number: I64
    rows: I64
    anonymous: I64  # how many of them have no id
    anonymous_rows: I64


class SubscriptionNames(NamedTuple):
    """Per name its newest row; per row the one that had its name before."""

    of_row: I64  # per row, the code of its name
    session: I64  # per name, the session that the entry is of
    newest: I64
    under: I64  # per row, the one before that is still known
    older: I64  # per row, the one before, until an UNSUBSCRIBE ends all of the id


@inline
def _change(active: ActiveSubscriptions, d: int, r: int, anonymous: int, by: int) -> None:
    """A subscription to destination d begins (`by` 1) or ends (-1)."""
    if d < 0:
        return
    active.number[d] += by
    active.rows[d] ^= r
    if anonymous:
        active.anonymous[d] += by
        active.anonymous_rows[d] ^= r


@inline
def _enter(rows: Subscription, r: int, names: SubscriptionNames, active: ActiveSubscriptions) -> None:
    """Take up a row, new or of an earlier step."""
    s, name, d = rows.session[r], names.of_row[r], active.of_row[r]
    if name >= 0:
        names.under[r] = names.older[r] = names.newest[name] if names.session[name] == s else -1
        names.session[name], names.newest[name] = s, r
    if d >= 0 and active.session[d] != s:
        active.session[d], active.number[d], active.rows[d], active.anonymous[d], active.anonymous_rows[d] = s, 0, 0, 0, 0
    if rows.ended_ordinal[r] < 0:
        _change(active, d, r, rows.anonymous[r], 1)


@inline
def _known(rows: Subscription, r: int, names: SubscriptionNames, now: int, retention: int) -> int:
    """That row, or the next below it that did not end too long ago to be known; -1 where none is."""
    while r >= 0 and rows.ended_ordinal[r] >= 0 and now - rows.ended_ordinal[r] > retention:
        r = names.under[r]
    return r


@inline
def _newest(rows: Subscription, n: int, s: int, names: SubscriptionNames, now: int, retention: int) -> int:
    """The newest row of a name; what is forgotten is passed once only."""
    if n < 0 or names.session[n] != s:
        return -1
    names.newest[n] = _known(rows, names.newest[n], names, now, retention)
    return int(names.newest[n])


@inline
def _below(rows: Subscription, r: int, names: SubscriptionNames, now: int, retention: int) -> int:
    """The row that had its name before."""
    names.under[r] = _known(rows, names.under[r], names, now, retention)
    return int(names.under[r])


@inline
def _meant(
    frames: SubscriptionFrames, i: int, of: int, d: int, rows: Subscription, names: SubscriptionNames, active: ActiveSubscriptions,
    retention: int,
) -> int:
    """The subscription of MESSAGE i, `of` being the newest of the name it has; -1 for none, POSSIBLE where another may be lost."""
    here = d >= 0 and active.session[d] == frames.session[i]
    if of >= 0:
        before = _below(rows, of, names, frames.ordinal[i], retention)
        return before if d >= 0 and active.of_row[of] != d and before >= 0 and active.of_row[before] == d else of
    if frames.name[i] < 0 and here and active.number[d] == 1:
        return POSSIBLE if frames.missed[i] else int(active.rows[d])
    if frames.name[i] >= 0 and here and active.anonymous[d] == 1:
        return POSSIBLE if frames.missed[i] else int(active.anonymous_rows[d])
    return -1


@inline
def _end(
    rows: Subscription, r: int, frames: SubscriptionFrames, i: int, names: SubscriptionNames, active: ActiveSubscriptions, named: bool
) -> None:
    """An UNSUBSCRIBE ends a subscription and, where it names the id, the older ones of that id."""
    if rows.ended_ordinal[r] < 0:
        rows.by_name[r] = 1
    while r >= 0:
        if rows.ended_ordinal[r] < 0:
            rows.ended_ordinal[r] = frames.ordinal[i]
            _change(active, active.of_row[r], r, rows.anonymous[r], -1)
        if not named:
            break
        above, r = r, names.older[r]
        names.older[above] = -1


@kernel
def walk(
    frames: SubscriptionFrames, rows: Subscription, names: SubscriptionNames, active: ActiveSubscriptions, facts: SubscriptionFacts,
    retention: int,
) -> None:
    """Walk all frames. Rows of a session stand in a block, those of earlier steps first; a SUBSCRIBE takes up the next one."""
    r = 0
    for i in range(len(frames.session)):
        s, n, d, c, now = frames.session[i], frames.name[i], frames.destination[i], frames.command[i], frames.ordinal[i]
        while r < len(rows.session) and (rows.session[r] < s or (rows.session[r] == s and rows.ordinal[r] < now)):
            _enter(rows, r, names, active)
            r += 1
        of = _newest(rows, n, s, names, now, retention)
        here = d >= 0 and active.session[d] == s
        facts.same_destination[i] = active.number[d] if here else 0
        if n >= 0:
            facts.state[i] = UNKNOWN if of < 0 else ACTIVE if rows.ended_ordinal[of] < 0 else ENDED
        if c == SUBSCRIBE:
            facts.row[i] = r
            _enter(rows, r, names, active)
            r += 1
        elif c == UNSUBSCRIBE:
            meant = of
            if of < 0 and frames.anonymous[i] and here and active.number[d] == 1 and not frames.missed[i]:
                meant, facts.state[i] = active.rows[d], ACTIVE
            facts.row[i] = meant
            if meant >= 0:
                _end(rows, meant, frames, i, names, active, of >= 0)
        else:
            meant = _meant(frames, i, of, d, rows, names, active, retention)
            facts.row[i] = meant
            if of >= 0 and meant >= 0:
                facts.state[i] = ACTIVE if rows.ended_ordinal[meant] < 0 else ENDED
