"""Subscriptions: which one each SUBSCRIBE opens, each UNSUBSCRIBE ends and each MESSAGE belongs to.

An id names the newest SUBSCRIBE of that id; where 1.0 gives no id, the destination stands for it. A MESSAGE that was under way when
the id was taken anew shows by its destination: that of the SUBSCRIBE before, not of the newest. A MESSAGE that names no subscription
belongs to the one active subscription of its destination, if there is just one and no octets of the client are missing before. Where so
many are missing that they may hide an UNSUBSCRIBE and another SUBSCRIBE of the id, the mode of what comes behind is not known. What has
ended is known by its id for Options.retention frames behind its UNSUBSCRIBE, what is active for ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import (
    CLIENT,
    MODE_AUTO,
    MODE_OTHER,
    MODE_UNKNOWN,
    SERVER,
    SUBSCRIPTION_ENDED,
    SUBSCRIPTION_OPEN,
    SUBSCRIPTION_UNSUBSCRIBED,
)
from stompcap.columns import I64, Bools, integers, or_null, spread, text_codes, timestamps, worded
from stompcap.session.deliveries.outstanding import ANY_SUBSCRIPTION, RENEWED
from stompcap.session.dialogue import SUBSCRIBE, UNSUBSCRIBE, Dialogue
from stompcap.session.facts import UNNAMED
from stompcap.session.gaps import SUBSCRIBING, UNSUBSCRIBING, Gaps
from stompcap.session.layout import Layout, Records, keys, opened
from stompcap.session.subscriptions.walk import POSSIBLE, Active, Found, Frames, Names, Rows, walk
from stompcap.tables import words
from stompcap.tables.silver import SUBSCRIPTIONS

PREFETCH_HEADERS = ("prefetch-count", "activemq.prefetchSize", "consumer-window-size")
TALLIES = ("delivered", "acked", "nacked", "unsettled", "most")
LAYOUT = Layout(
    {
        "ordinal": -1, "offset": -1, "first_ns": -1, "mode": MODE_UNKNOWN, "anonymous": 0, "prefetch": -(2**62),
        "ended_ordinal": -1, "ended_ns": -1, "ended_first_ns": -1, "ended_offset": -1, "ended_asks": 0, "ended_trusted": 0, "by_name": 0,
        "hidden": 0, "ended_hidden": 0, "late": 0, "gaps_s2c": 0, "gaps_until": -1, "final": 0, **dict.fromkeys(TALLIES, 0),
    },
    ("id", "destination", "ack"),
)
"""One row per SUBSCRIBE. `anonymous`: it has no id, its destination stands for it. Of the UNSUBSCRIBE that ended it (-1 while active):
whole at `ended_ns`, `ended_asks` for a receipt, surely a frame (`ended_trusted`), `by_name`: it meant this one and not only an older one
of its id; gaps of the server that had ended before it, and that had begun when it was forgotten (`gaps_until`, -1 if it is not). Octets
of the client that may hide frames, by when it began and ended (`hidden`, `ended_hidden`). `late`: a MESSAGE came too late for it. TALLIES
count its deliveries.
"""


def modes(header: pa.Array) -> I64:
    """MODE_* of `ack` headers of SUBSCRIBE: absent is auto."""
    mode = integers(pc.index_in(header, value_set=pa.array(words.ACK_MODES)), MODE_OTHER)
    return np.where(np.asarray(header.is_null()), MODE_AUTO, mode)


def _prefetch(dialogue: Dialogue, frames: I64) -> I64:
    """The first of the brokers' prefetch headers that is a number."""
    found: list[pa.Array] = []
    for name in PREFETCH_HEADERS:
        text = dialogue.some_header(name, frames)
        number = pc.fill_null(pc.match_substring_regex(text, "^-?[0-9]{1,18}$"), False)
        found.append(pc.if_else(number, text, pa.scalar(None, pa.string())).cast(pa.int64()))
    return integers(pc.coalesce(*found), LAYOUT.integers["prefetch"])


class Followed(NamedTuple):
    """The subscriptions; and per frame the row, -1 for none, what else it may be of (ANY_SUBSCRIPTION, RENEWED), and the facts about it."""

    rows: Records
    row: I64
    possible: I64
    state: I64
    same_destination: I64


def follow(dialogue: Dialogue, gaps: Gaps, trusted: Bools, before: pa.Table, retention: int) -> Followed:
    """Follow all sessions' subscriptions; `before` is the state table, `trusted` per frame: it surely is one."""
    d, count = dialogue, len(dialogue)
    opening = d.new(CLIENT, SUBSCRIBE)
    asking, sent = d.new(CLIENT, SUBSCRIBE, UNSUBSCRIBE), d.messages
    ids, wanted = d.some("id", asking), d.some("destination", asking)
    new = np.isin(asking, opening)
    ack = d.some("ack", opening)
    numbers = {
        "session": d.session[opening], "ordinal": d.ordinal[opening], "offset": d.offset[opening], "first_ns": d.first_ns[opening],
        "mode": modes(ack), "anonymous": np.asarray(ids.is_null())[new].astype(np.int64), "prefetch": _prefetch(d, opening),
        "hidden": gaps.hidden[opening, 0],
    }
    text = {"id": ids.filter(pa.array(new)), "destination": wanted.filter(pa.array(new)), "ack": ack}
    rows = opened(LAYOUT, before, d.ids, numbers, text)

    by_asking, by_sent, by_row = text_codes(pc.coalesce(ids, wanted), d.some("subscription", sent), names_of(rows))
    to_asking, to_sent, to_row = text_codes(wanted, d.some("destination", sent), rows.text["destination"])
    at = np.concatenate([asking, sent])
    order = np.argsort(at, kind="stable")
    at = at[order]
    anonymous = np.concatenate([np.asarray(ids.is_null()), np.zeros(len(sent), np.bool_)])[order]
    frames = Frames(
        d.session[at], d.ordinal[at], d.command[at], np.concatenate([by_asking, by_sent])[order],
        np.concatenate([to_asking, to_sent])[order], anonymous, gaps.lost[at, CLIENT],
    )
    found = Found(*(np.full(len(at), value, np.int64) for value in (-1, UNNAMED, 0)))
    size = _size(by_asking, by_sent, by_row)
    of_session, newest, under, older = (np.full(count, -1, np.int64) for count in (size, size, len(rows), len(rows)))
    names = Names(of_session, newest, under, older)
    active = Active(*(np.full(_size(to_asking, to_sent, to_row), value, np.int64) for value in (-1, 0, 0, 0, 0)))
    was_active = rows["ended_ordinal"] < 0
    walk(frames, Rows(*(rows[name] for name in Rows._fields)), by_row, to_row, names, active, found, retention)
    _note_end(rows, np.flatnonzero(was_active & (rows["ended_ordinal"] >= 0)), d, asking[~new], gaps, trusted)
    row, state, same = (spread(count, at, values, none) for values, none in zip(found, (-1, UNNAMED, 0), strict=True))
    possible = np.where(row == POSSIBLE, ANY_SUBSCRIPTION, 0)
    row[row == POSSIBLE] = -1
    sent_row = row[sent]
    possible[sent[_renewed(rows, sent_row, d.ordinal[sent], gaps.hidden[sent, 1])]] = RENEWED
    delivered = np.bincount(sent_row[sent_row >= 0], minlength=len(rows))
    rows["delivered"] = rows["delivered"] + delivered
    _forget(rows, d, gaps, retention)
    return Followed(rows, row, possible, state, same)


def _renewed(rows: Records, row: I64, ordinal: I64, hidden: I64) -> Bools:
    """MESSAGEs of these rows before which so much is `hidden` of the client that their id may have been subscribed anew."""
    if len(rows) == 0:
        return np.zeros(len(row), np.bool_)
    name = integers(pc.binary_length(pc.fill_null(names_of(rows), "").cast(pa.binary())))
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
    come = np.flatnonzero((frame < len(d)) & (d.session[np.minimum(frame, len(d) - 1)] == rows["session"][past])) if len(d) else frame[:0]
    rows["gaps_until"][past[come]] = gaps.begun[frame[come], SERVER]


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


def names_of(rows: Records) -> pa.Array:
    """Per subscription its id, or its destination where it has none."""
    return pc.coalesce(rows.text["id"], rows.text["destination"])


def modes_of(rows: Records) -> pa.Array:
    """Per subscription its ack mode as text; a value no version knows as it was sent."""
    mode = rows["mode"]
    known = worded(np.where(mode == MODE_OTHER, MODE_AUTO, mode), words.ACK_MODES)
    return pc.if_else(pa.array(mode == MODE_OTHER), rows.text["ack"], known)


def table(rows: Records, ids: pa.Array, over: Bools) -> pa.Table:
    """Table subscriptions, of the rows that are final; `ids` of the sessions, `over` per session: it has ended."""
    rows = rows.take(np.flatnonzero(rows.final))
    ended = rows["ended_ordinal"] >= 0
    status = np.select([ended, over[rows["session"]]], [SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_ENDED], SUBSCRIPTION_OPEN)
    counted = {name: pa.array(rows[name]) for name in ("delivered", "acked", "nacked", "unsettled")}
    return pa.table(
        {
            "stream_id": ids.take(pa.array(rows["session"])),
            "subscribe_offset": pa.array(rows["offset"]),
            "subscription": names_of(rows),
            "destination": rows.text["destination"],
            "ack_mode": modes_of(rows),
            "prefetch": pa.array(rows["prefetch"], mask=rows["prefetch"] == LAYOUT.integers["prefetch"]),
            "subscribed_ns": pa.array(rows["first_ns"]),
            "unsubscribed_ns": or_null(rows["ended_first_ns"]),
            "subscribed_ts": timestamps(rows["first_ns"]),
            **counted,
            "max_in_flight": pa.array(rows["most"]),
            "status": worded(status, words.SUBSCRIPTION_STATUSES),
        },
        schema=SUBSCRIPTIONS.arrow,
    )

