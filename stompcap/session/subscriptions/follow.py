"""Subscriptions: which one each SUBSCRIBE opens, each UNSUBSCRIBE ends and each MESSAGE belongs to.

An id names the newest SUBSCRIBE of that id; where 1.0 gives no id, the destination stands for it. A MESSAGE that was under way when
the id was subscribed once more shows by its destination: it is that of the SUBSCRIBE before, not of the newest. A MESSAGE that names no
subscription belongs to the one active subscription of its destination, if there is just one and no octets of the client are missing
before. Where so many octets are missing that they may hide an UNSUBSCRIBE and another SUBSCRIBE of the id, the mode of what comes behind
them is not known. A subscription that has ended is known by its id for Options.retention frames behind its UNSUBSCRIBE, an active one for
ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, MODE_AUTO, MODE_OTHER, SERVER
from stompcap.columns import I64, Bools, integers, spread, text_codes
from stompcap.session.deliveries.records import ANY_SUBSCRIPTION, RENEWED
from stompcap.session.dialogue import SUBSCRIBE, UNSUBSCRIBE, Dialogue
from stompcap.session.gaps import SUBSCRIBING, UNSUBSCRIBING, Gaps
from stompcap.session.layout import Records, keys, of_frames, opened
from stompcap.session.subscriptions.records import LAYOUT, names_of_subscriptions
from stompcap.session.subscriptions.walk import (
    NO_FACTS,
    POSSIBLE,
    ActiveSubscriptions,
    SubscriptionFacts,
    SubscriptionFrames,
    SubscriptionNames,
    walk,
)
from stompcap.tables import words

LIMITING_HEADERS = ("prefetch-count", "activemq.prefetchSize")  # in messages; Artemis' window is in octets
PREFETCH_HEADERS = (*LIMITING_HEADERS, "consumer-window-size")


def modes(header: pa.Array) -> I64:
    """MODE_* of `ack` headers of SUBSCRIBE: absent is auto."""
    mode = integers(pc.index_in(header, value_set=pa.array(words.ACK_MODES)), MODE_OTHER)
    return np.where(np.asarray(header.is_null()), MODE_AUTO, mode)


def _prefetch(dialogue: Dialogue, frames: I64, headers: Sequence[str] = PREFETCH_HEADERS) -> I64:
    """The first of the brokers' prefetch headers that is a number."""
    found: list[pa.Array] = []
    for name in headers:
        text = dialogue.some_header(name, frames)
        number = pc.fill_null(pc.match_substring_regex(text, "^-?[0-9]{1,18}$"), False)
        found.append(pc.if_else(number, text, pa.scalar(None, pa.string())).cast(pa.int64()))
    return integers(pc.coalesce(*found), LAYOUT.fields["prefetch"].default)


class FollowedSubscriptions(NamedTuple):
    """The subscriptions; and per frame of the dialogue what is known of its own."""

    rows: Records
    row: I64  # -1 for none
    possible: I64  # what else it may be of: ANY_SUBSCRIPTION, RENEWED, or 0
    state: I64
    same_destination: I64


def follow_subscriptions(
    dialogue: Dialogue, gaps: Gaps, trusted: Bools, before: pa.Table, retention: int
) -> FollowedSubscriptions:
    """Follow all sessions' subscriptions; `before` is the state table, `trusted` per frame: it surely is one."""
    d = dialogue
    opening = d.new(CLIENT, SUBSCRIBE)
    asking, sent = d.new(CLIENT, SUBSCRIBE, UNSUBSCRIBE), d.messages
    ids, wanted = d.some("id", asking), d.some("destination", asking)
    opens, nameless = d.command[asking] == SUBSCRIBE, np.asarray(ids.is_null())
    numbers, text = of_frames(LAYOUT, d, opening)
    numbers |= {
        "mode": modes(text["ack"]), "anonymous": nameless[opens].astype(np.int64), "prefetch": _prefetch(d, opening),
        "limit": np.maximum(_prefetch(d, opening, LIMITING_HEADERS), -1), "hidden": gaps.hidden[opening, 0],
    }  # fmt: skip
    rows = opened(LAYOUT, before, d.ids, numbers, text)

    by_asking, by_sent, by_row = text_codes(pc.coalesce(ids, wanted), d.some("subscription", sent), names_of_subscriptions(rows))
    to_asking, to_sent, to_row = text_codes(wanted, d.some("destination", sent), rows.text["destination"])
    at = np.concatenate([asking, sent])
    order = np.argsort(at, kind="stable")
    at = at[order]
    name, destination = np.concatenate([by_asking, by_sent])[order], np.concatenate([to_asking, to_sent])[order]
    anonymous = np.concatenate([nameless, np.zeros(len(sent), np.bool_)])[order]
    frames = SubscriptionFrames(d.session[at], d.ordinal[at], d.command[at], name, destination, anonymous, gaps.lost[at, CLIENT])
    facts = SubscriptionFacts(*(np.full(len(at), value, np.int64) for value in NO_FACTS))
    size, none = _size(by_asking, by_sent, by_row), np.full(len(rows), -1, np.int64)
    names = SubscriptionNames(by_row, np.full(size, -1, np.int64), np.full(size, -1, np.int64), none, none.copy())
    active = ActiveSubscriptions(to_row, *(np.full(_size(to_asking, to_sent, to_row), value, np.int64) for value in (-1, 0, 0, 0, 0)))
    was_active = rows["ended_ordinal"] < 0
    walk(frames, LAYOUT.kernel(rows), names, active, facts, retention)
    _note_end(rows, np.flatnonzero(was_active & (rows["ended_ordinal"] >= 0)), d, asking[~opens], gaps, trusted)
    row, state, same = (spread(len(d), at, *fact) for fact in zip(facts, NO_FACTS, strict=True))
    possible = np.where(row == POSSIBLE, ANY_SUBSCRIPTION, 0)
    row[row == POSSIBLE] = -1
    sent_row = row[sent]
    possible[sent[_renewed(rows, sent_row, d.ordinal[sent], gaps.hidden[sent, 1])]] = RENEWED
    rows["delivered"] = rows["delivered"] + np.bincount(sent_row[sent_row >= 0], minlength=len(rows))
    _forget(rows, d, gaps, retention)
    return FollowedSubscriptions(rows, row, possible, state, same)


def _renewed(rows: Records, row: I64, ordinal: I64, hidden: I64) -> Bools:
    """MESSAGEs of these rows before which so much is `hidden` of the client that their id may have been subscribed once more."""
    if len(rows) == 0:
        return np.zeros(len(row), np.bool_)
    name = integers(pc.binary_length(pc.fill_null(names_of_subscriptions(rows), "").cast(pa.binary())))
    ended = (rows["ended_ordinal"][row] >= 0) & (rows["ended_ordinal"][row] < ordinal)
    room = hidden - np.where(ended, rows["ended_hidden"][row], rows["hidden"][row])
    needed = SUBSCRIBING + name[row] + np.where(ended, 0, UNSUBSCRIBING + name[row])
    found: Bools = (row >= 0) & (room >= needed)
    return found


def _forget(rows: Records, d: Dialogue, gaps: Gaps, retention: int) -> None:
    """Note the gaps of the server by when subscriptions that ended are forgotten in this step."""
    past = np.flatnonzero((rows["ended_ordinal"] >= 0) & (rows["gaps_until"] < 0))
    own = keys(d.session, d.ordinal)
    frame = np.searchsorted(own, keys(rows["session"][past], rows["ended_ordinal"][past] + retention + 1))
    if len(d):
        arrived = np.flatnonzero((frame < len(d)) & (d.session[np.minimum(frame, len(d) - 1)] == rows["session"][past]))
        rows["gaps_until"][past[arrived]] = gaps.begun[frame[arrived], SERVER]


def _size(*coded: I64) -> int:
    """How many codes there are."""
    return max(int(values.max(initial=-1)) for values in coded) + 1


def _note_end(rows: Records, ended: I64, d: Dialogue, unsubscribes: I64, gaps: Gaps, trusted: Bools) -> None:
    """Note the UNSUBSCRIBE of the rows that ended in this step."""
    if len(ended) == 0:
        return
    frame = unsubscribes[np.searchsorted(
        keys(d.session[unsubscribes], d.ordinal[unsubscribes]), keys(rows["session"][ended], rows["ended_ordinal"][ended])
    )]
    asks = np.asarray(d.some("receipt", frame).is_valid()).astype(np.int64)
    for name, values in (
        ("ended_ns", d.last_ns[frame]), ("ended_first_ns", d.first_ns[frame]), ("ended_offset", d.offset[frame]), ("ended_asks", asks),
        ("ended_trusted", trusted[frame].astype(np.int64)), ("gaps_s2c", gaps.ended[frame, SERVER]),
        ("ended_hidden", gaps.hidden[frame, 0]),
    ):
        rows[name][ended] = values
