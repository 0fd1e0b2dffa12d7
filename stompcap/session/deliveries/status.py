"""The status of a delivery: what became of it, and the doubts that make it unknown. One table decides, and nothing else does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.codes import (
    DELIVERY_AUTO,
    DELIVERY_OPEN,
    DELIVERY_SETTLED,
    DELIVERY_UNKNOWN,
    DELIVERY_UNSETTLED,
    DELIVERY_VOIDED,
    MODE_CLIENT,
    MODE_CLIENT_INDIVIDUAL,
    MODE_UNKNOWN,
    TRANSACTION_IMPLICITLY_ABORTED,
    TRANSACTION_OPEN,
)
from stompcap.columns import I64, Bools
from stompcap.session.deliveries.outstanding import MAX_ABORTS, vague_each
from stompcap.session.deliveries.records import ABORTED, AUTOMATIC, ENCLOSED, PENDING, RENEWED, REPLACED, SETTLED
from stompcap.session.layout import Records
from stompcap.session.products.quirks import Quirks
from stompcap.tables import outcomes, words

NOT_SETTLED = [words.DELIVERY_STATUSES.index(word) for word in outcomes.NOT_SETTLED.statuses]

COPIES = 0  # it was delivered again, and an ACK that may be missing, or one that came, may mean either
ABORTED_BEFORE = 1  # octets may be missing since it came, and a transaction had enclosed it and was aborted
OTHER_VERSION = 2  # what settled it is a frame of another version than the session's, which is not known
MISSING = 3  # octets may be missing between it and what became of it
NO_MODE = 4  # its subscription or the mode of that is not known
OTHER_MODE = 5  # its mode is one that no version has
TOO_OFTEN = 6  # so many transactions that enclosed it were aborted that cumulative ACKs pass it by (MAX_ABORTS)
MAY_BE_ACKED = 7  # an ACK that named nothing may have named it, or it may need none
CONFUSED = (COPIES, ABORTED_BEFORE, OTHER_VERSION)


class Fate(NamedTuple):
    """What may become of a delivery, the status that this is, and the doubts by which its status is unknown."""

    what: str
    status: int
    doubts: tuple[int, ...]


FATES = (
    Fate("it needs no ACK", DELIVERY_AUTO, ()),
    Fate("an ACK or NACK names it", DELIVERY_SETTLED, CONFUSED),
    Fate("a cumulative ACK or NACK settles it along", DELIVERY_SETTLED, (*CONFUSED, MISSING)),
    Fate("the transaction of its ACK or NACK was aborted", DELIVERY_VOIDED, (*CONFUSED, MISSING, NO_MODE, TOO_OFTEN)),
    Fate("the session ended within that transaction", DELIVERY_VOIDED, (*CONFUSED, MISSING)),
    Fate("that transaction is open", DELIVERY_OPEN, (*CONFUSED, MISSING)),
    Fate("nobody knows what became of that transaction", DELIVERY_UNKNOWN, (*CONFUSED, MISSING)),
    Fate("nothing, so far", DELIVERY_OPEN, (*CONFUSED, MISSING, NO_MODE, OTHER_MODE)),
    Fate("nothing, and the session has ended", DELIVERY_UNSETTLED, (*CONFUSED, MISSING, NO_MODE, OTHER_MODE, MAY_BE_ACKED)),
)
NO_ACK_NEEDED, NAMED, ALONG, GIVEN_BACK, ENDED_WITHIN, IN_OPEN, IN_UNKNOWN, NOTHING, NOTHING_EVER = range(len(FATES))
STATUS = np.array([fate.status for fate in FATES], np.int64)
DOUBTED = np.array([[doubt in fate.doubts for fate in FATES] for doubt in range(MAY_BE_ACKED + 1)])


def decide(rows: Records, transactions: Records, over: Bools, gaps: I64, counted: Records, quirks: Quirks) -> None:
    """Fill in `status`, as it is if nothing more comes, whether octets are `lost` between, and whether it is `hidden` what settled it.

    Per session: it is `over`, by DISCONNECT or with its connection; `gaps` of both directions so far; its counters.
    """
    session, state, possible = rows["session"], rows["state"], rows["possible"]
    ambiguous, renewed, unread, needless = (counted[name][session] for name in ("ambiguous", "renewed", "unread", "needless"))
    reached = vague_each(rows["mode"], possible, quirks.ack_scope_connection[session], ambiguous, renewed)
    missed = (gaps[session] + reached != rows["opened"]) & ~np.isin(state, (SETTLED, AUTOMATIC, REPLACED))
    lost = (rows["lost"] == 1) | missed
    may_be_acked = (unread != rows["unread"]) | ((possible == RENEWED) & (needless > 0))
    fate = _fates(rows, transactions.at("outcome", rows["transaction"]), over[session])
    hidden = (_doubts(rows, lost, may_be_acked) & DOUBTED[:, fate]).any(axis=0)
    rows["lost"], rows["hidden"] = lost.astype(np.int64), hidden.astype(np.int64)
    rows["status"] = np.where(hidden, DELIVERY_UNKNOWN, STATUS[fate])


def _fates(rows: Records, outcome: I64, over: Bools) -> I64:
    """Per delivery its row of FATES: the first whose condition holds; `outcome` is that of its transaction."""
    state, enclosed = rows["state"], rows["state"] == ENCLOSED
    conditions = {
        NO_ACK_NEEDED: (state == AUTOMATIC) | ((state == PENDING) & (rows["unasked"] == 1)),
        NAMED: (state == SETTLED) & (rows["direct"] == 1),
        ALONG: state == SETTLED,
        GIVEN_BACK: np.isin(state, (ABORTED, REPLACED)),
        ENDED_WITHIN: enclosed & (outcome == TRANSACTION_IMPLICITLY_ABORTED),
        IN_OPEN: enclosed & (outcome == TRANSACTION_OPEN),
        IN_UNKNOWN: enclosed,
        NOTHING: ~over,
    }
    return np.select(list(conditions.values()), list(conditions), NOTHING_EVER)


def _doubts(rows: Records, lost: Bools, may_be_acked: Bools) -> Bools:
    """Which doubts there are of each delivery, of shape (doubts, deliveries)."""
    again, aborts, unknown = rows["again"] == 1, rows["aborts"], rows["mode"] == MODE_UNKNOWN
    doubts = {
        COPIES: (rows["unclear"] == 1) | (again & (lost | unknown)),
        ABORTED_BEFORE: lost & (aborts > 0),
        OTHER_VERSION: rows["contradicts"] == 1,
        MISSING: lost,
        NO_MODE: unknown,
        OTHER_MODE: ~np.isin(rows["mode"], (MODE_CLIENT, MODE_CLIENT_INDIVIDUAL)),
        TOO_OFTEN: aborts >= MAX_ABORTS,
        MAY_BE_ACKED: may_be_acked,
    }
    return np.stack([doubts[one] for one in range(len(DOUBTED))])
