"""When what is open becomes final and is given out, what is still known by its name, and what is given up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, MODE_CLIENT, SERVER, TRANSACTION_OPEN
from stompcap.codes import CLOSE_OPEN as STREAM_OPEN
from stompcap.columns import I64, Bools
from stompcap.session.clocks import Clocks
from stompcap.session.deliveries import follow as deliveries
from stompcap.session.deliveries.outstanding import ABORTED, AUTOMATIC, ENCLOSED, RENEWED, REPLACED, SETTLED
from stompcap.session.dialogue import DISCONNECT, Dialogue
from stompcap.session.facts import SessionFacts
from stompcap.session.firsts import OfSessions
from stompcap.session.layout import Records
from stompcap.session.options import Options
from stompcap.session.receipts import follow as receipts
from stompcap.session.subscriptions import follow as subscriptions
from stompcap.session.transactions import follow as transactions

GIVEN_OUT = 2  # of `final`: in an earlier step


class Open(NamedTuple):
    """What sessions open: all that is open, or was so lately."""

    subscriptions: Records
    transactions: Records
    receipts: Records
    deliveries: Records


def finish(
    rows: Open, dialogue: Dialogue, facts: SessionFacts, first: Mapping[str, OfSessions], counted: Records, clocks: Clocks, wide: Bools,
    closing: Bools, options: Options,
) -> dict[str, pa.Table]:
    """The tables of what is final now. `wide` per session: a cumulative ACK settles deliveries of the whole connection.

    What a session leaves open beyond Options.open_limit is given up: given out as unknown, and counted in `given_up`.
    """
    over = first["disconnect"].there | (facts.close_kind != STREAM_OPEN)
    left = _left_open(rows, dialogue.sessions)
    gives_up = (left > options.open_limit) & ~closing
    counted["given_up"] = counted["given_up"] + np.where(gives_up, left, 0)
    ending, missed = closing | gives_up, facts.gaps + gives_up[:, None]
    transactions.close(rows.transactions, over, missed[:, 0], ending, gives_up)
    vague = _vague(rows.deliveries, counted, wide)
    deliveries.decide(rows.deliveries, rows.transactions, over, missed.sum(axis=1), vague, _doubtful(rows.deliveries, counted))
    _give_out(rows, ending, facts.frames.sum(axis=1), options.retention)
    deliveries.tally(rows.deliveries, rows.subscriptions)
    return {
        "subscriptions": subscriptions.table(rows.subscriptions, dialogue.ids, over),
        "deliveries": deliveries.table(rows.deliveries, rows.subscriptions, rows.transactions, clocks, dialogue.ids),
        "transactions": transactions.table(rows.transactions, clocks, dialogue.ids, _closed_ns(rows.transactions, facts, first, clocks)),
        "receipts": receipts.table(rows.receipts, clocks, dialogue.ids, facts.close_kind != STREAM_OPEN, missed[:, 1]),
    }


def _vague(delivered: Records, counted: Records, wide: Bools) -> I64:
    """Per delivery, how many ACKs of its session may have reached it (stompcap.session.deliveries.outstanding.vague)."""
    session, renewed = delivered["session"], delivered["possible"] == RENEWED
    ambiguous, of_renewed = counted["ambiguous"][session], counted["renewed"][session]
    reached = (delivered["mode"] == MODE_CLIENT) | wide[session] | renewed
    found: I64 = np.where(reached, ambiguous, 0) + np.where(renewed, of_renewed, 0)
    return found


def _doubtful(delivered: Records, counted: Records) -> Bools:
    """Deliveries of which nothing is known to have settled them, and that may be settled or need no ACK all the same.

    An ACK that names nothing by a version which is not sure may have named them, or their subscription may have been renewed in mode auto
    by a server that gives each MESSAGE an ack header.
    """
    session, renewed = delivered["session"], delivered["possible"] == RENEWED
    found: Bools = (counted["unread"][session] != delivered["unread"]) | (renewed & (counted["needless"][session] > 0))
    return found


def _left_open(rows: Open, sessions: int) -> I64:
    """Per session, how much is open."""
    named = rows.transactions
    masks = (
        (rows.subscriptions, rows.subscriptions["ended_ordinal"] < 0), (named, named["outcome"] == TRANSACTION_OPEN),
        (rows.receipts, rows.receipts["answered_ordinal"] < 0), (rows.deliveries, deliveries.is_open(rows.deliveries)),
    )
    found: I64 = np.sum([np.bincount(records["session"][mask], minlength=sessions) for records, mask in masks], axis=0)
    return found


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


def _give_out(rows: Open, ending: Bools, now: I64, retention: int) -> None:
    """Mark what is final. `now` per session: the ordinal of the next frame."""
    subs, txns, requests, delivered = rows
    state = delivered["state"]
    settled = np.isin(state, (SETTLED, AUTOMATIC, REPLACED))
    expired = ~deliveries.is_open(delivered) & (now[delivered["session"]] - delivered["latest"] > retention)
    _mark(delivered, settled | expired | ending[delivered["session"]])
    _mark(txns, (txns["begun_ns"] >= 0) & ((txns["outcome"] != TRANSACTION_OPEN) | ending[txns["session"]]))
    answered = (requests["answered_ordinal"] >= 0) & (requests["command"] != DISCONNECT)
    _mark(requests, (requests["listed"] == 1) & (answered | ending[requests["session"]]))
    undecided = np.zeros(len(subs), np.bool_)
    waiting = delivered["subscription"][delivered["final"] == 0]
    undecided[waiting[waiting >= 0]] = True
    _mark(subs, ((subs["gaps_until"] >= 0) & ~undecided) | ending[subs["session"]])


def known(rows: Open, going: Bools, now: I64, retention: int) -> tuple[Bools, Bools, Bools, Bools]:
    """What is kept: open, or to be known by its name for a while, or hung on by what is kept. `going` per session: it goes on as it is."""
    subs, txns, requests, delivered = rows

    def lately(records: Records, name: str) -> Bools:
        found: Bools = (records[name] >= 0) & (now[records["session"]] - records[name] <= retention)
        return found

    deliveries_kept = (deliveries.is_open(delivered) | lately(delivered, "latest")) & going[delivered["session"]]
    enclosed = delivered["transaction"][deliveries_kept & np.isin(delivered["state"], (ENCLOSED, ABORTED))]  # their rows name it
    transactions_kept = (txns["outcome"] == TRANSACTION_OPEN) & ((txns["begun_ns"] >= 0) | lately(txns, "touched"))
    transactions_kept |= lately(txns, "ended_ordinal")
    transactions_kept[enclosed[enclosed >= 0]] = True
    waiting = txns.of(requests["session"], requests["transaction"])
    transactions_kept[waiting[waiting >= 0]] = True
    asks = (requests["answered_ordinal"] < 0) & ((requests["listed"] == 1) | lately(requests, "ordinal"))
    receipts_kept = asks | lately(requests, "answered_ordinal") | ((requests["command"] == DISCONNECT) & (requests["listed"] == 1))
    subscriptions_kept = subs["gaps_until"] < 0
    of = delivered["subscription"][deliveries_kept]
    subscriptions_kept[of[of >= 0]] = True
    return (
        subscriptions_kept & going[subs["session"]], transactions_kept & going[txns["session"]], receipts_kept & going[requests["session"]],
        deliveries_kept,
    )
