"""The queue in front of the session machine: rows wait until both directions were captured beyond them.

A gap of a direction shows only by what is captured behind it. So a frame of one side is taken when the other was captured beyond it:
whether octets are missing before it is known then, for good. Where the other side is silent, a row waits for no more than
Options.retention rows of its session behind it; then octets of the other side may be missing, as far as it is concerned. Octets that
no row has yet, for their frame has not ended, hold back what came after them no longer than that either. This counts what was captured and
nothing else, so a session comes to the same whole and in pieces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.codes import GAP
from stompcap.columns import I64, Bools, first_above, take_or
from stompcap.session.dialogue import RawRows
from stompcap.wire_order import END


class Release(NamedTuple):
    """What this step takes.

    until  per session: the step takes what stands before it in wire order
    rows   per row: one of those, and of no earlier step
    cut    per direction: the offset from which on rows wait
    """

    until: I64
    rows: Bools
    cut: I64


def release(rows: RawRows, upto: I64, unframed: I64, closing: Bools, retention: int) -> Release:
    """Which of all rows at hand the step takes.

    Per session: all that stands before `upto` in wire order is at hand, and the first octet that no row has stands at `unframed`; where the
    session is `closing`, nothing more follows.
    """
    sessions = len(upto)
    if closing.all():
        return Release(np.full(sessions, END + 1), ~rows.context, np.full(2 * sessions, END))
    direction, visible = rows.direction, _visible_from(rows)
    at_hand = visible < upto[rows.session]
    latest = np.full(2 * sessions, -1, np.int64)
    np.maximum.at(latest, direction[at_hand], visible[at_hand])
    waiting = np.flatnonzero(at_hand & ~rows.context)
    silent = _long_waiting(rows.session[waiting], visible[waiting], sessions, retention)
    seen = np.minimum(latest.reshape(-1, 2).min(axis=1), unframed)
    until = np.minimum(np.maximum(seen, silent), upto)
    until = np.where(closing, END + 1, until)
    now = (visible < until[rows.session]) & ~rows.context
    cut = np.full(2 * sessions, END)
    waits = ~now & ~rows.context
    np.minimum.at(cut, direction[waits], rows.offset[waits])
    return Release(until, now, cut)


def _visible_from(rows: RawRows) -> I64:
    """Where each row stands in wire order; a gap where the row behind it does, by which it is seen, END where there is none."""
    gap = np.flatnonzero(rows.kind == GAP)
    behind = gap + 1
    same = np.zeros(len(gap), np.bool_)
    inside = behind < len(rows)
    same[inside] = rows.direction[behind[inside]] == rows.direction[gap[inside]]
    found = rows.rising_order.copy()
    found[gap] = np.where(same, rows.rising_order[np.minimum(behind, len(rows) - 1)], END)
    return found


def _long_waiting(session: I64, wire_order: I64, sessions: int, retention: int) -> I64:
    """Per session the place in wire order before which rows have more than `retention` rows behind them, -1 where none has."""
    found = np.full(sessions, -1, np.int64)
    for one in np.flatnonzero(np.bincount(session, minlength=sessions) > retention + 1).tolist():
        of = wire_order[session == one]
        at = len(of) - retention - 2
        found[one] = np.partition(of, at)[at]
    return found


def peer_unseen(rows: RawRows, sessions: int, retention: int) -> Bools:
    """Rows taken behind which the other side was not captured within `retention` rows of the session."""
    found = np.zeros(len(rows), np.bool_)
    long = np.bincount(rows.session, minlength=sessions) > retention + 1
    at = np.flatnonzero(long[rows.session] & ~rows.context)
    if len(at) == 0:
        return found
    seen = np.flatnonzero((rows.kind != GAP) & long[rows.session])
    session, other = rows.session[at], 1 - rows.side[at]
    order = rows.rising_order[seen]
    next_seen = _at(first_above(session * 2 + other, rows.rising_order[at], rows.direction[seen], order), order)
    visible = _visible_from(rows)
    sort = np.lexsort((visible, rows.session))
    sort = sort[long[rows.session[sort]]]
    groups, ordered = rows.session[sort], visible[sort]
    limit = np.searchsorted(groups, session) + _rank(session, rows.rising_order[at], groups, ordered) + retention
    last = np.searchsorted(groups, session, side="right")
    found[at] = next_seen > np.where(limit < last, ordered[np.minimum(limit, len(ordered) - 1)], END)
    return found


def _rank(session: I64, wire_order: I64, groups: I64, ordered: I64) -> I64:
    """Per frame how many rows of its session stand where it does, or before it."""
    above = first_above(session, wire_order, groups, ordered)
    first = np.searchsorted(groups, session)
    last = np.searchsorted(groups, session, side="right")
    return np.where(above < 0, last, above) - first


def _at(index: I64, wire_order: I64) -> I64:
    """The wire order of these indices, END for -1."""
    found = take_or(wire_order, index)
    return np.where(found < 0, END, found)
