"""When a record becomes final and is emitted, for how long it is known by its name, and what is evicted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, CLOSE_OPEN, SERVER, TRANSACTION_OPEN
from stompcap.columns import I64, Bools
from stompcap.session.clocks import Clocks
from stompcap.session.deliveries.outstanding import are_open
from stompcap.session.deliveries.records import ABORTED, AUTOMATIC, ENCLOSED, REPLACED, SETTLED
from stompcap.session.deliveries.status import decide
from stompcap.session.deliveries.table import deliveries_table, tally
from stompcap.session.dialogue import DISCONNECT, Dialogue
from stompcap.session.facts import SessionFacts
from stompcap.session.firsts import OfSessions
from stompcap.session.layout import Records
from stompcap.session.options import Options
from stompcap.session.products.quirks import Quirks
from stompcap.session.receipts.table import receipts_table, statuses
from stompcap.session.sends.follow import waits
from stompcap.session.sends.table import sends_table
from stompcap.session.subscriptions.table import subscriptions_table
from stompcap.session.transactions.follow import close
from stompcap.session.transactions.table import transactions_table

EMITTED = 2  # `final` of a record: in an earlier step


class SessionRecords(NamedTuple):
    """The records of sessions: all that is open, or was so lately."""

    subscriptions: Records
    transactions: Records
    receipts: Records
    deliveries: Records
    sends: Records


def finish(
    rows: SessionRecords, dialogue: Dialogue, facts: SessionFacts, first: Mapping[str, OfSessions], counted: Records, clocks: Clocks,
    quirks: Quirks, closing: Bools, options: Options,
) -> dict[str, pa.Table]:
    """The tables of what is final now.

    What a session leaves open beyond Options.open_limit is evicted: it is emitted as unknown, and counted in `given_up`.
    """
    ids, over = dialogue.ids, first["disconnect"].there | (facts.close_kind != CLOSE_OPEN)
    left = _left_open(rows, dialogue.sessions)
    evicts = (left > options.open_limit) & ~closing
    counted["given_up"] = counted["given_up"] + np.where(evicts, left, 0)
    ending, missed = closing | evicts, facts.gaps + evicts[:, None]
    request_statuses = statuses(rows.receipts, facts.close_kind != CLOSE_OPEN, missed[:, 1])
    close(rows.transactions, over, missed[:, 0], ending, evicts)
    decide(rows.deliveries, rows.transactions, over, missed.sum(axis=1), counted, quirks)
    _emit(rows, ending, facts.frames.sum(axis=1), options.retention)
    tally(rows.deliveries, rows.subscriptions)
    return {
        "subscriptions": subscriptions_table(rows.subscriptions, clocks, ids, over, _ended_ns(facts, first)),
        "deliveries": deliveries_table(rows.deliveries, rows.subscriptions, rows.transactions, clocks, ids),
        "transactions": transactions_table(rows.transactions, clocks, ids, _closed_ns(rows.transactions, facts, first, clocks)),
        "receipts": receipts_table(rows.receipts, request_statuses, clocks, ids),
        "sends": sends_table(rows.sends, rows.transactions, rows.receipts, request_statuses, clocks, ids),
    }


def _is_open(delivered: Records) -> Bools:
    """Deliveries that wait for an ACK, or for the end of a transaction."""
    return are_open(delivered["state"], delivered["mode"])


def _left_open(rows: SessionRecords, sessions: int) -> I64:
    """Per session, how much is open."""
    named = rows.transactions
    masks = (
        (rows.subscriptions, rows.subscriptions["ended_ordinal"] < 0), (named, named["outcome"] == TRANSACTION_OPEN),
        (rows.receipts, rows.receipts["answered_ordinal"] < 0), (rows.deliveries, _is_open(rows.deliveries)),
        (rows.sends, waits(rows.sends, named, rows.receipts) & (rows.sends["asks"] == 0)),
    )
    found: I64 = np.sum([np.bincount(records["session"][mask], minlength=sessions) for records, mask in masks], axis=0)
    return found


def _ended_ns(facts: SessionFacts, first: Mapping[str, OfSessions]) -> I64:
    """Per session, when its client disconnected, else when it was closed, else the end of what was captured of it."""
    left = first["disconnect"]
    return np.where(left.there, left.first_ns, np.where(facts.closed_ns >= 0, facts.closed_ns, facts.last_ns))


def _closed_ns(rows: Records, facts: SessionFacts, first: Mapping[str, OfSessions], clocks: Clocks) -> I64:
    """Per transaction, when the end of its session aborted it, -1 where it did not: one may begin when the server has closed."""
    closed = np.where(facts.closed_ns >= 0, facts.closed_ns, first["disconnect"].first_ns)[rows["session"]]
    shut = np.where(facts.shut[:, 0], facts.end_ns[:, 0], -1)[rows["session"]]
    begun = rows["begun_ns"]
    by_server = (facts.closed_by == SERVER)[rows["session"]]
    by_client = np.where(by_server, clocks.read_by(CLIENT, rows["session"], server_ns=closed), closed)
    return np.where(by_client >= begun, closed, np.where(shut >= begun, shut, -1))


def _mark(records: Records, final: Bools) -> None:
    records["final"] = np.where((records["final"] == 0) & final, 1, records["final"])


def _emit(rows: SessionRecords, ending: Bools, now: I64, retention: int) -> None:
    """Mark what is final, to be emitted. `now` per session: the ordinal of the next frame."""
    subs, txns, requests, delivered, sent = rows
    state = delivered["state"]
    settled = np.isin(state, (SETTLED, AUTOMATIC, REPLACED))
    expired = ~_is_open(delivered) & (now[delivered["session"]] - delivered["latest"] > retention)
    _mark(delivered, settled | expired | ending[delivered["session"]])
    _mark(txns, (txns["begun_ns"] >= 0) & ((txns["outcome"] != TRANSACTION_OPEN) | ending[txns["session"]]))
    answered = (requests["answered_ordinal"] >= 0) & (requests["command"] != DISCONNECT)
    _mark(requests, (requests["listed"] == 1) & (answered | ending[requests["session"]]))
    _mark(sent, ~waits(sent, txns, requests) | ending[sent["session"]])
    undecided = np.zeros(len(subs), np.bool_)
    waiting = delivered["subscription"][delivered["final"] == 0]
    undecided[waiting[waiting >= 0]] = True
    _mark(subs, ((subs["gaps_until"] >= 0) & ~undecided) | ending[subs["session"]])


def known(rows: SessionRecords, going: Bools, now: I64, retention: int) -> tuple[Bools, Bools, Bools, Bools, Bools]:
    """The records to go on with: open ones, those still known by their names, and those that one of these belongs to.

    `going` per session: it goes on as it is.
    """
    subs, txns, requests, delivered, sent = rows

    def lately(records: Records, name: str) -> Bools:
        found: Bools = (records[name] >= 0) & (now[records["session"]] - records[name] <= retention)
        return found

    keeps_deliveries = (_is_open(delivered) | lately(delivered, "latest")) & going[delivered["session"]]
    enclosed = delivered["transaction"][keeps_deliveries & np.isin(delivered["state"], (ENCLOSED, ABORTED))]  # their rows name it
    keeps_transactions = (txns["outcome"] == TRANSACTION_OPEN) & ((txns["begun_ns"] >= 0) | lately(txns, "touched"))
    keeps_transactions |= lately(txns, "ended_ordinal")
    keeps_transactions[enclosed[enclosed >= 0]] = True
    keeps_sends = (sent["final"] == 0) & going[sent["session"]]
    for inside in (requests, sent):
        waiting = txns.of(inside["session"], inside["transaction"])
        keeps_transactions[waiting[waiting >= 0]] = True
    asks = (requests["answered_ordinal"] < 0) & ((requests["listed"] == 1) | lately(requests, "ordinal"))
    keeps_receipts = asks | lately(requests, "answered_ordinal") | ((requests["command"] == DISCONNECT) & (requests["listed"] == 1))
    keeps_subscriptions = subs["gaps_until"] < 0
    of = delivered["subscription"][keeps_deliveries]
    keeps_subscriptions[of[of >= 0]] = True
    return (
        keeps_subscriptions & going[subs["session"]], keeps_transactions & going[txns["session"]],
        keeps_receipts & going[requests["session"]], keeps_deliveries, keeps_sends,
    )
