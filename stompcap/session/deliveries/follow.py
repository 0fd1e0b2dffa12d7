"""Deliveries: every MESSAGE, its subscription, and the frames by which the client acknowledged it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, MODE_CLIENT, MODE_CLIENT_INDIVIDUAL, MODE_UNKNOWN
from stompcap.columns import I32, I64, U8, flat, integers, spread
from stompcap.kernel import kernel
from stompcap.session.counters import COUNTERS
from stompcap.session.deliveries import ordered
from stompcap.session.deliveries.asking import asking, in_any_version, sure
from stompcap.session.deliveries.in_flight import InFlight
from stompcap.session.deliveries.names import DeliveryNames, coded_names, names_of_deliveries
from stompcap.session.deliveries.outstanding import MAX_ABORTS, DeliveryIndex, Unsettled
from stompcap.session.deliveries.records import ABORTED, LAYOUT, PAST_TRANSACTION, PENDING
from stompcap.session.deliveries.walk import NO_FACTS, DeliveryFacts, DeliveryFrames, walk
from stompcap.session.dialogue import ABORT, COMMIT, Dialogue
from stompcap.session.facts import TARGET_NONE, TARGET_UNKNOWN
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Records, of_frames, opened
from stompcap.session.products.message_ids import microseconds
from stompcap.session.products.moved import moved_from
from stompcap.session.products.quirks import Quirks
from stompcap.session.subscriptions.follow import FollowedSubscriptions
from stompcap.session.transactions.follow import FollowedTransactions

BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


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


class FollowedDeliveries(NamedTuple):
    """The deliveries, of which `subscription` and `transaction` are rows; and the facts of each frame of the dialogue."""

    rows: Records
    facts: DeliveryFacts


def follow_deliveries(
    dialogue: Dialogue, gaps: Gaps, subscriptions: FollowedSubscriptions, transactions: FollowedTransactions, quirks: Quirks,
    counted: Records, before: pa.Table, retention: int,
) -> FollowedDeliveries:
    """Follow all sessions' deliveries; `counted` has the counters of sessions, `before` is the state table."""
    d = dialogue
    rows = _rows(d, subscriptions, transactions.rows, quirks, counted, before)
    coded = coded_names(d, rows, quirks)
    at = np.sort(np.concatenate([d.messages, d.acks, d.new(CLIENT, COMMIT, ABORT)]))
    acks_at = np.searchsorted(at, d.acks)
    of_acks = (coded.ack_named, coded.ack_message, coded.strict, coded.compares, ~sure(d, d.acks))
    named, message, strict, compares, unsure = (spread(len(at), acks_at, values.astype(np.int64)) for values in of_acks)
    frames = DeliveryFrames(
        d.session[at], d.ordinal[at], d.at_ns[at], d.command[at], d.version[at], named, message, strict == 1, compares == 1, unsure == 1,
        transactions.row[at], gaps.epoch(at, opens=True), gaps.epoch(at, opens=False),
    )
    facts = DeliveryFacts(*(np.full(len(at), value, np.int64) for value in NO_FACTS))
    facts.target[acks_at] = np.where((coded.ack_named >= 0) | (coded.ack_message >= 0), TARGET_UNKNOWN, TARGET_NONE)
    index, unsettled = _index(rows, coded, transactions.rows), _unsettled(rows, subscriptions.rows, quirks)
    walk(frames, LAYOUT.kernel(rows), index, unsettled, quirks, COUNTERS.kernel(counted), facts, retention)
    subscriptions.rows["in_flight"] = _in_flight(rows, unsettled, len(subscriptions.rows))
    settled = np.flatnonzero(rows["by"] >= 0)
    frame = at[rows["by"][settled]]
    for name, values in (("by_ordinal", d.ordinal[frame]), ("by_offset", d.offset[frame]), ("by_ns", d.first_ns[frame])):
        rows[name][settled] = values
    rows["contradicts"][settled] |= (d.version[frame] < 0) & ~in_any_version(d, rows, settled, frame)
    return FollowedDeliveries(rows, DeliveryFacts(*(spread(len(d), at, *fact) for fact in zip(facts, NO_FACTS, strict=True))))


def _rows(
    d: Dialogue, subscriptions: FollowedSubscriptions, transactions: Records, quirks: Quirks, counted: Records, before: pa.Table
) -> Records:
    """The deliveries of earlier steps and the new ones; counts ack headers of those that need none."""
    sent = d.messages
    row, possible = subscriptions.row[sent], subscriptions.possible[sent]
    known = np.where(row >= 0, subscriptions.rows.at("mode", row), MODE_UNKNOWN)
    mode, unasked, needless = asking(d, sent, known, possible, quirks)
    np.add.at(counted["needless"], d.session[sent], needless)
    redelivered = pc.equal(pc.utf8_lower(d.some_header("redelivered", sent)), "true").fill_null(False)
    identified = np.flatnonzero(np.asarray(d.some("message_id", sent).is_valid()))
    body_hash = spread(len(sent), identified, hashes(d.some("body_preview", sent[identified])), 0)
    numbers, text = of_frames(LAYOUT, d, sent)
    numbers |= {
        "subscription": subscriptions.rows.at("ordinal", row), "mode": mode, "unasked": unasked, "possible": possible,
        "body_hash": body_hash, "redelivered": np.asarray(redelivered).astype(np.int64),
        "whole_hash": integers(d.some("body_hash", sent)), "content_hash": integers(d.some("content_hash", sent)),
        "broker_us": microseconds(d.some_header("timestamp", sent)),
    }  # fmt: skip
    text["name"] = names_of_deliveries(d, row, subscriptions.rows, quirks)
    text["moved_from"] = moved_from(d, sent)
    rows = opened(LAYOUT, before, d.ids, numbers, text)
    rows["subscription"] = subscriptions.rows.of(rows["session"], rows["subscription"])
    transaction = transactions.of(rows["session"], rows["transaction"])
    past = (transaction < 0) & (rows["transaction"] != -1)
    rows["transaction"] = np.where(past, PAST_TRANSACTION, transaction)
    return rows


def _index(rows: Records, coded: DeliveryNames, transactions: Records) -> DeliveryIndex:
    """The empty index of deliveries by their names and transactions."""
    return DeliveryIndex(
        np.full(coded.codes, -1, np.int64), np.full(coded.codes, -1, np.int64), np.stack([coded.own, coded.message]),
        np.full((2, len(rows)), -1, np.int64), np.full(len(transactions), -1, np.int64), np.full(len(rows), -1, np.int64),
    )


def _unsettled(rows: Records, subscriptions: Records, quirks: Quirks) -> Unsettled:
    """The empty set of deliveries that ACKs settle along: numbered by subscription, or by session where ACKs reach over the connection."""
    asks = np.flatnonzero(np.isin(rows["mode"], (MODE_CLIENT, MODE_CLIENT_INDIVIDUAL)))
    session = rows["session"][asks]
    line = np.where(quirks.ack_scope_connection[session], -1 - session, rows["subscription"][asks])
    order = np.argsort(line, kind="stable")
    number = np.full(len(rows), -1, np.int64)
    number[asks[order]] = np.arange(len(order))
    return Unsettled(
        *ordered.empty(len(order)), number, asks[order], np.searchsorted(line[order], line[order]),
        InFlight(*(subscriptions[name] for name in InFlight._fields)),
    )


def _in_flight(rows: Records, unsettled: Unsettled, subscriptions: int) -> I64:
    """Per subscription how many are in flight behind the step."""
    still = (unsettled.number >= 0) & np.isin(rows["state"], (PENDING, ABORTED)) & (rows["aborts"] < MAX_ABORTS)
    still &= rows["subscription"] >= 0
    return np.bincount(rows["subscription"][still], minlength=subscriptions)
