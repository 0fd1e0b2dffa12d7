"""Subscriptions, frame by frame: kernels of stompcap.session.subscriptions.follow."""

from __future__ import annotations

from typing import NamedTuple

from stompcap.columns import I64, Bools
from stompcap.kernel import kernel
from stompcap.session.dialogue import SUBSCRIBE, UNSUBSCRIBE
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN

POSSIBLE = -2  # a MESSAGE that names no subscription may be of the one there, or of one that is lost


class Rows(NamedTuple):
    """Columns of the records that the walk reads and writes."""

    session: I64
    ordinal: I64
    anonymous: I64
    ended_ordinal: I64
    by_name: I64


class Frames(NamedTuple):
    """The frames that the walk goes over: SUBSCRIBE, UNSUBSCRIBE and MESSAGE; `missed`: octets of the client are missing before."""

    session: I64
    ordinal: I64
    command: I64
    name: I64
    destination: I64
    anonymous: Bools
    missed: Bools


class Found(NamedTuple):
    """What the walk finds of each of them: row, state, who ended what it names, subscriptions active on its destination."""

    row: I64
    state: I64
    same_destination: I64


class Active(NamedTuple):
    """Per destination: the session it is of, how many subscriptions are active there, all and those without id, and which.

    `rows` is the exclusive or of the rows: the row itself where there is one.
    """

    session: I64
    number: I64
    rows: I64
    anonymous: I64
    anonymous_rows: I64


class Names(NamedTuple):
    """Per name the session it is of and its newest row; per row the one that had its name before.

    `older` is that one, too, until the id is unsubscribed, which ends all of them.
    """

    session: I64
    newest: I64
    under: I64
    older: I64


@kernel
def _change(active: Active, d: int, r: int, anonymous: int, by: int) -> None:
    """A subscription to destination d begins (`by` 1) or ends (-1)."""
    if d < 0:
        return
    active.number[d] += by
    active.rows[d] ^= r
    if anonymous:
        active.anonymous[d] += by
        active.anonymous_rows[d] ^= r


@kernel
def _enter(rows: Rows, r: int, name: int, d: int, names: Names, active: Active) -> None:
    """Take up a row, new or of an earlier step."""
    s = rows.session[r]
    if name >= 0:
        names.under[r] = names.older[r] = names.newest[name] if names.session[name] == s else -1
        names.session[name], names.newest[name] = s, r
    if d >= 0 and active.session[d] != s:
        active.session[d], active.number[d], active.rows[d], active.anonymous[d], active.anonymous_rows[d] = s, 0, 0, 0, 0
    if rows.ended_ordinal[r] < 0:
        _change(active, d, r, rows.anonymous[r], 1)


@kernel
def _known(rows: Rows, r: int, names: Names, now: int, retention: int) -> int:
    """That row, or the next below it that did not end too long ago to be known; -1 where none is."""
    while r >= 0 and rows.ended_ordinal[r] >= 0 and now - rows.ended_ordinal[r] > retention:
        r = names.under[r]
    return r


@kernel
def _newest(rows: Rows, n: int, s: int, names: Names, now: int, retention: int) -> int:
    """The newest row of a name; what is forgotten is passed once only."""
    if n < 0 or names.session[n] != s:
        return -1
    names.newest[n] = _known(rows, names.newest[n], names, now, retention)
    return int(names.newest[n])


@kernel
def _below(rows: Rows, r: int, names: Names, now: int, retention: int) -> int:
    """The row that had its name before."""
    names.under[r] = _known(rows, names.under[r], names, now, retention)
    return int(names.under[r])


@kernel
def _meant(frames: Frames, i: int, of: int, d: int, rows: Rows, of_row: I64, names: Names, active: Active, retention: int) -> int:
    """The subscription of MESSAGE i, `of` being the newest of the name it has; -1 for none, POSSIBLE where another may be lost."""
    here = d >= 0 and active.session[d] == frames.session[i]
    if of >= 0:
        before = _below(rows, of, names, frames.ordinal[i], retention)
        return before if d >= 0 and of_row[of] != d and before >= 0 and of_row[before] == d else of
    if frames.name[i] < 0 and here and active.number[d] == 1:
        return POSSIBLE if frames.missed[i] else int(active.rows[d])
    if frames.name[i] >= 0 and here and active.anonymous[d] == 1:
        return POSSIBLE if frames.missed[i] else int(active.anonymous_rows[d])
    return -1


@kernel
def _end(rows: Rows, r: int, frames: Frames, i: int, of_row: I64, names: Names, active: Active, named: bool) -> None:
    """An UNSUBSCRIBE ends a subscription and, where it names the id, the older ones of that id."""
    if rows.ended_ordinal[r] < 0:
        rows.by_name[r] = 1
    while r >= 0:
        if rows.ended_ordinal[r] < 0:
            rows.ended_ordinal[r] = frames.ordinal[i]
            _change(active, of_row[r], r, rows.anonymous[r], -1)
        if not named:
            break
        above, r = r, names.older[r]
        names.older[above] = -1


@kernel
def walk(
    frames: Frames, rows: Rows, row_name: I64, row_destination: I64, names: Names, active: Active, found: Found,
    retention: int,
) -> None:
    """Walk all frames. Rows of a session stand in a block, those of earlier steps first; a SUBSCRIBE takes up the next one."""
    r = 0
    for i in range(len(frames.session)):
        s, n, d, c, now = frames.session[i], frames.name[i], frames.destination[i], frames.command[i], frames.ordinal[i]
        while r < len(rows.session) and (rows.session[r] < s or (rows.session[r] == s and rows.ordinal[r] < now)):
            _enter(rows, r, row_name[r], row_destination[r], names, active)
            r += 1
        of = _newest(rows, n, s, names, now, retention)
        here = d >= 0 and active.session[d] == s
        found.same_destination[i] = active.number[d] if here else 0
        if n >= 0:
            found.state[i] = UNKNOWN if of < 0 else ACTIVE if rows.ended_ordinal[of] < 0 else ENDED
        if c == SUBSCRIBE:
            found.row[i] = r
            _enter(rows, r, n, d, names, active)
            r += 1
        elif c == UNSUBSCRIBE:
            meant = of
            if of < 0 and frames.anonymous[i] and here and active.number[d] == 1 and not frames.missed[i]:
                meant, found.state[i] = active.rows[d], ACTIVE
            found.row[i] = meant
            if meant >= 0:
                _end(rows, meant, frames, i, row_destination, names, active, of >= 0)
        else:
            meant = _meant(frames, i, of, d, rows, row_destination, names, active, retention)
            found.row[i] = meant
            if of >= 0 and meant >= 0:
                found.state[i] = ACTIVE if rows.ended_ordinal[meant] < 0 else ENDED
