"""Deliveries: every MESSAGE, and what became of it.

Where octets may be missing between a delivery and what became of it, one table decides its status, and nothing else does:

    what became of the delivery                               octets may be missing between it and that
    an ACK or NACK names it                                   settled, `octets_missing`: its latency is an upper bound
    a cumulative one settles it along; an ABORT gives it back unknown
    it is delivered again before it is settled                unknown, the copy too
    nothing                                                   unknown

Where its subscription or the mode of that is not known, because the frames that tell may be missing before it, an ACK or NACK that names it
settles it, and else it is unknown; but in 1.2, the `ack` header tells whether it asks for one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap import codes
from stompcap.codes import (
    CLIENT,
    DELIVERY_AUTO,
    DELIVERY_OPEN,
    DELIVERY_SETTLED,
    DELIVERY_UNKNOWN,
    DELIVERY_UNSETTLED,
    DELIVERY_VOIDED,
    MODE_CLIENT,
    MODE_CLIENT_INDIVIDUAL,
    MODE_UNKNOWN,
)
from stompcap.columns import I32, I64, U8, Bools, flat, or_null, spread, take_or_null, timestamps, worded
from stompcap.kernel import kernel
from stompcap.session.clocks import Clocks, Moment
from stompcap.session.deliveries import ordered
from stompcap.session.deliveries import walk as settling
from stompcap.session.deliveries.asking import asking, in_any_version, sure
from stompcap.session.deliveries.names import Names, names, of_deliveries
from stompcap.session.deliveries.outstanding import (
    ABORTED,
    AUTOMATIC,
    ENCLOSED,
    MAX_ABORTS,
    PAST_TRANSACTION,
    PENDING,
    RENEWED,
    REPLACED,
    SETTLED,
    Habits,
    Lists,
    Rows,
    Unsettled,
)
from stompcap.session.deliveries.walk import Found, Frames
from stompcap.session.dialogue import ABORT, COMMIT, Dialogue
from stompcap.session.facts import TARGET_NONE, TARGET_UNKNOWN
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Layout, Records, opened
from stompcap.session.subscriptions.follow import modes_of, names_of
from stompcap.tables import outcomes, words
from stompcap.tables.silver import DELIVERIES

NOT_SETTLED = [words.DELIVERY_STATUSES.index(word) for word in outcomes.NOT_SETTLED.statuses]
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
LAYOUT = Layout(
    {
        "ordinal": -1, "offset": -1, "delivered_ns": -1, "subscription": -1, "mode": MODE_UNKNOWN, "body_octets": 0, "body_hash": 0,
        "redelivered": 0, "state": PENDING, "by_ordinal": -1, "by_offset": -1, "by_ns": -1, "nack": 0, "direct": 0, "transaction": -1,
        "latest": -1, "aborts": 0, "opened": 0, "again": 0, "unclear": 0, "lost": 0, "contradicts": 0, "possible": 0, "hidden": 0,
        "unasked": 0, "unread": 0, "status": -1, "final": 0,
    },
    ("name", "message_id", "ack_id", "destination", "subscription_header"),
)
"""One row per MESSAGE. Between steps `subscription` and `transaction` are ordinals of the frames that opened those. `body_hash` is one of
how the body begins (`frames.body_preview`). By which frame it was settled, whether that was a NACK, and named it (`direct`); `state` as
in deliveries.outstanding, since frame `latest`; `aborts` of transactions it was in; gaps when it was `opened`, and whether more came
until it was settled (`lost`); delivered `again` while it was open, `unclear` which of both an ACK means; it `contradicts` the version: an
ACK in a session of which the version is not known; it is `possible` that it is of any subscription (ANY_SUBSCRIPTION), or that its own was
renewed (RENEWED); of a subscription or mode that is not known, it asks for no ACK (`unasked`); ACKs that were not read when it came
(`unread`); it is not known what settled it (`hidden`).
"""


@kernel
def _hash(octets: U8, ends: I32, result: I64) -> None:
    """FNV-1a of each value, the highest bit left out; `ends` as in Arrow's layout."""
    for i in range(len(result)):
        found = BASIS
        for k in range(ends[i], ends[i + 1]):
            found = (found ^ np.uint64(octets[k])) * PRIME
        result[i] = np.int64(found >> np.uint64(1))


def hashes(texts: pa.Array) -> I64:
    """A hash of each text, 63 bits; absent equals empty."""
    texts = pc.fill_null(flat(texts), "")
    _, ends, octets = texts.buffers()
    found = np.empty(len(texts), np.int64)
    if len(texts):
        _hash(np.frombuffer(octets or b"\0", np.uint8), np.frombuffer(ends, np.int32)[texts.offset :], found)
    return found


class Opened(NamedTuple):
    """What deliveries hang on: rows of subscriptions and of transactions, and per frame its own."""

    subscriptions: Records
    subscription: I64
    possible: I64
    transactions: Records
    transaction: I64


class Brokers(NamedTuple):
    """What brokers do differently, per session."""

    wide: Bools  # a cumulative ACK settles deliveries of the whole connection
    single_nack: Bools  # a NACK settles one message in mode client too
    lax: Bools  # an ACK goes by message-id, whatever subscription it names, if any
    unescapes: Bools  # escapes in a 1.0 ACK are undone, though 1.0 has none


class Followed(NamedTuple):
    """The deliveries, of which `subscription` and `transaction` are rows; and per frame the facts of deliveries.walk.Found."""

    rows: Records
    found: Found


def follow(
    dialogue: Dialogue, gaps: Gaps, of: Opened, brokers: Brokers, counted: Records, before: pa.Table, retention: int
) -> Followed:
    """Follow all sessions' deliveries; `counted` has the counters of sessions, `before` is the state table."""
    d, sent = dialogue, dialogue.messages
    rows = _rows(d, of, brokers, counted, before)
    coded = names(d, rows, brokers.lax, brokers.unescapes)
    at = np.sort(np.concatenate([sent, d.settling, d.new(CLIENT, COMMIT, ABORT)]))
    settling_at = np.searchsorted(at, d.settling)
    of_acks = (coded.ack_named, coded.ack_message, coded.strict, coded.compares, ~sure(d, d.settling))
    named, message, strict, compares, unsure = (spread(len(at), settling_at, values.astype(np.int64)) for values in of_acks)
    frames = Frames(
        d.session[at], d.ordinal[at], d.command[at], d.version[at], named, message, strict == 1, compares == 1, unsure == 1,
        of.transaction[at], gaps.epoch(at, opens=True), gaps.epoch(at, opens=False),
    )
    found = Found(*(np.full(len(at), value, np.int64) for value in (-1, TARGET_NONE, 0, 0, -1, 0, 0)))
    found.target[settling_at] = np.where((coded.ack_named >= 0) | (coded.ack_message >= 0), TARGET_UNKNOWN, TARGET_NONE)
    numbers = rows.numbers | {"by": np.full(len(rows), -1, np.int64)}
    settling.walk(
        frames, Rows(*(numbers[name] for name in Rows._fields)), _lists(rows, coded, of.transactions), _unsettled(rows, of, brokers.wide),
        Habits(brokers.wide, brokers.single_nack, counted["ambiguous"], counted["renewed"], counted["unread"]), found, retention,
    )
    settled = np.flatnonzero(numbers["by"] >= 0)
    frame = at[numbers["by"][settled]]
    for name, values in (("by_ordinal", d.ordinal[frame]), ("by_offset", d.offset[frame]), ("by_ns", d.first_ns[frame])):
        rows[name][settled] = values
    rows["contradicts"][settled] |= (d.version[frame] < 0) & ~in_any_version(d, rows, settled, frame)
    none = (-1, TARGET_NONE, 0, 0, -1, 0, 0)
    return Followed(rows, Found(*(spread(len(d), at, values, value) for values, value in zip(found, none, strict=True))))


def _rows(d: Dialogue, of: Opened, brokers: Brokers, counted: Records, before: pa.Table) -> Records:
    """The deliveries of earlier steps and the new ones; counts ack headers of those that need none."""
    sent = d.messages
    row, possible = of.subscription[sent], of.possible[sent]
    subscriptions = of.subscriptions
    known = np.where(row >= 0, subscriptions["mode"][row], MODE_UNKNOWN) if len(subscriptions) else np.full(len(row), MODE_UNKNOWN)
    mode, unasked, needless = asking(d, sent, known, possible)
    np.add.at(counted["needless"], d.session[sent], needless)
    said = pc.equal(pc.utf8_lower(d.some_header("redelivered", sent)), "true").fill_null(False)
    again = sent[np.asarray(d.some("message_id", sent).is_valid())] if len(sent) else sent
    body_hash = np.zeros(len(sent), np.int64)
    body_hash[np.searchsorted(sent, again)] = hashes(d.some("body_preview", again))
    numbers = {
        "session": d.session[sent], "ordinal": d.ordinal[sent], "offset": d.offset[sent], "delivered_ns": d.last_ns[sent],
        "subscription": np.where(row >= 0, subscriptions["ordinal"][row], -1) if len(subscriptions) else row,
        "mode": mode, "unasked": unasked, "possible": possible, "body_octets": d.body_octets[sent], "body_hash": body_hash,
        "redelivered": np.asarray(said).astype(np.int64),
    }
    text = {
        "name": of_deliveries(d, row, subscriptions, brokers.lax), "message_id": d.some("message_id", sent), "ack_id": d.some("ack", sent),
        "destination": d.some("destination", sent), "subscription_header": d.some("subscription", sent),
    }
    rows = opened(LAYOUT, before, d.ids, numbers, text)
    rows["subscription"] = subscriptions.of(rows["session"], rows["subscription"])
    transaction = of.transactions.of(rows["session"], rows["transaction"])
    past = (transaction < 0) & (rows["transaction"] != -1)
    rows["transaction"] = np.where(past, PAST_TRANSACTION, transaction)
    return rows


def _lists(rows: Records, coded: Names, transactions: Records) -> Lists:
    """Empty lists of names and transactions."""
    return Lists(
        np.full(coded.codes, -1, np.int64), np.full(coded.codes, -1, np.int64), np.stack([coded.own, coded.message]),
        np.full((2, len(rows)), -1, np.int64), np.full(len(transactions), -1, np.int64), np.full(len(rows), -1, np.int64),
    )


def _unsettled(rows: Records, of: Opened, wide: Bools) -> Unsettled:
    """The empty set of deliveries that ACKs settle along: numbered by subscription, or by session where ACKs settle `wide`."""
    asks = np.flatnonzero(np.isin(rows["mode"], (MODE_CLIENT, MODE_CLIENT_INDIVIDUAL)))
    session = rows["session"][asks]
    line = np.where(wide[session], -1 - session, rows["subscription"][asks])
    order = np.argsort(line, kind="stable")
    number = np.full(len(rows), -1, np.int64)
    number[asks[order]] = np.arange(len(order))
    subscriptions = of.subscriptions
    return Unsettled(
        *ordered.empty(len(order)), number, asks[order], np.searchsorted(line[order], line[order]), np.zeros(len(subscriptions), np.int64),
        subscriptions["most"], subscriptions["ended_ordinal"],
    )


def is_open(rows: Records) -> Bools:
    """Deliveries that wait for an ACK, or for the end of a transaction."""
    asks = np.isin(rows["mode"], (MODE_CLIENT, MODE_CLIENT_INDIVIDUAL))
    found: Bools = np.isin(rows["state"], (ENCLOSED, ABORTED)) | ((rows["state"] == PENDING) & asks)
    return found


def decide(rows: Records, transactions: Records, over: Bools, gaps: I64, vague: I64, doubtful: Bools) -> None:
    """Fill in `status`, as it is if nothing more comes.

    `over` per session: by DISCONNECT or with its connection; `gaps` per session, of both directions so far; per delivery `vague`, ACKs of
    its session that may have reached it, and `doubtful`: that none settled it does not show that it is unsettled.
    """
    session, state, mode = rows["session"], rows["state"], rows["mode"]
    asks = np.isin(mode, (MODE_CLIENT, MODE_CLIENT_INDIVIDUAL))
    settled, direct, aborted = state == SETTLED, rows["direct"] == 1, np.isin(state, (ABORTED, REPLACED))
    missed = gaps[session] + vague != rows["opened"]
    lost = (rows["lost"] == 1) | (missed & ~np.isin(state, (SETTLED, AUTOMATIC, REPLACED)))
    rows["lost"] = lost.astype(np.int64)
    along, again = (rows["by_ordinal"] >= 0) & ~direct, rows["again"] == 1
    unknown = (rows["unclear"] == 1) | (lost & ~(settled & direct)) | (lost & ((rows["aborts"] > 0) | again))
    unknown |= ((mode == MODE_UNKNOWN) & (again | aborted | along)) | (rows["contradicts"] == 1)
    unknown |= aborted & (rows["aborts"] >= MAX_ABORTS)
    rows["hidden"] = unknown.astype(np.int64)
    transaction = rows["transaction"]
    outcome = np.where(transaction >= 0, transactions["outcome"][transaction], -1) if len(transactions) else np.full(len(rows), -1)
    enclosed = state == ENCLOSED
    rows["status"] = np.select(
        [
            (state == AUTOMATIC) | ((state == PENDING) & (rows["unasked"] == 1)),
            unknown,
            settled,
            aborted | (enclosed & (outcome == codes.TRANSACTION_IMPLICITLY_ABORTED)),
            enclosed & (outcome == codes.TRANSACTION_OPEN),
            enclosed | ~asks | (over[session] & doubtful),
            over[session],
        ],
        [DELIVERY_AUTO, DELIVERY_UNKNOWN, DELIVERY_SETTLED, DELIVERY_VOIDED, DELIVERY_OPEN, DELIVERY_UNKNOWN, DELIVERY_UNSETTLED],
        DELIVERY_OPEN,
    )


def tally(rows: Records, subscriptions: Records) -> None:
    """Count the deliveries that are final with their subscriptions."""
    final = rows.final & (rows["subscription"] >= 0)
    status, nack = rows["status"], rows["nack"] == 1
    for name, which in (
        ("acked", (status == DELIVERY_SETTLED) & ~nack), ("nacked", (status == DELIVERY_SETTLED) & nack),
        ("unsettled", np.isin(status, NOT_SETTLED)),
    ):
        more = np.bincount(rows["subscription"][final & which], minlength=len(subscriptions))
        subscriptions[name] = subscriptions[name] + more


def _modes(rows: Records, subscriptions: Records) -> pa.Array:
    """Per delivery the ack mode of its subscription, or what its own header tells; null where it is not known."""
    of = np.where(rows["possible"] == RENEWED, -1, rows["subscription"])
    return pc.if_else(pa.array(rows["status"] == DELIVERY_AUTO), "auto", take_or_null(modes_of(subscriptions), of))


def table(rows: Records, subscriptions: Records, transactions: Records, clocks: Clocks, ids: pa.Array) -> pa.Table:
    """Table deliveries, of the rows that are final."""
    rows = rows.take(np.flatnonzero(rows.final))
    status, subscription = rows["status"], rows["subscription"]
    known = (rows["hidden"] == 0) & (rows["by_ordinal"] >= 0)
    by_ns = np.where(known, rows["by_ns"], -1)
    transaction = np.where(known, rows["transaction"], -1)
    inside = transaction >= 0
    outcome, ended, ending = np.full((3, len(rows)), -1, np.int64)
    ends = (transactions[name][transaction[inside]] for name in ("outcome", "ended_ns", "ended_ordinal"))
    outcome[inside], ended[inside], ending[inside] = ends
    session, delivered = rows["session"], rows["delivered_ns"]
    delivery = Moment(rows["ordinal"], delivered)
    settling = Moment(rows["by_ordinal"], np.where(status == DELIVERY_UNKNOWN, -1, by_ns))
    committing = Moment(ending, np.where(outcome == codes.TRANSACTION_COMMITTED, ended, -1))
    return pa.table(
        {
            "stream_id": ids.take(pa.array(rows["session"])),
            "stream_offset": pa.array(rows["offset"]),
            "delivered_ns": pa.array(delivered),
            "delivered_ts": timestamps(delivered),
            **{name: rows.text[name] for name in ("message_id", "ack_id")},
            "subscription": pc.coalesce(take_or_null(names_of(subscriptions), subscription), rows.text["subscription_header"]),
            "destination": rows.text["destination"],
            "ack_mode": _modes(rows, subscriptions),
            "redelivered": pa.array(rows["redelivered"] == 1),
            "body_octets": pa.array(rows["body_octets"]),
            "status": worded(status, words.DELIVERY_STATUSES),
            "settlement": worded(np.where(known, rows["nack"], -1), words.SETTLEMENTS),
            "settled_by": worded(np.where(known, 1 - rows["direct"], -1), words.SETTLED_BY),
            "settled_ns": or_null(by_ns),
            "settle_offset": or_null(np.where(known, rows["by_offset"], -1)),
            "transaction": take_or_null(transactions.text["id"], np.maximum(transaction, -1)),
            "transaction_outcome": worded(outcome, words.TRANSACTION_OUTCOMES),
            "ack_latency_us": clocks.elapsed(session, delivery, settling),
            "commit_latency_us": clocks.elapsed(session, delivery, committing),
            "octets_missing": pa.array(rows["lost"] == 1, mask=~known),
        },
        schema=DELIVERIES.arrow,
    )
