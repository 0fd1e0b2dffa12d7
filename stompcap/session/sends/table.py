"""Table sends of the lake, from the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.codes import TRANSACTION_COMMITTED
from stompcap.columns import I64, or_null, take_or_null, worded
from stompcap.session.clocks import Clocks, Moment
from stompcap.session.layout import Records
from stompcap.session.products.destinations import destination_names
from stompcap.session.sends.follow import request_of
from stompcap.tables import words
from stompcap.tables.silver import SENDS


def sends_table(rows: Records, transactions: Records, requests: Records, statuses: I64, clocks: Clocks, ids: pa.Array) -> pa.Table:
    """Table sends, of the rows that are final; `statuses` are those of the requests, `ids` of the sessions."""
    if not rows.final.all():
        rows = rows.take(np.flatnonzero(rows.final))
    session, inside = rows["session"], rows["inside"] == 1
    transaction = transactions.of(session, rows["transaction"])
    outcome = transactions.at("outcome", transaction)
    committed = transactions.at("ended_whole_ns", transaction)
    request = request_of(rows, requests)
    asked = Moment(rows["ordinal"], np.where(request < 0, -1, rows["first_ns"]))
    answer = Moment(requests.at("answered_ordinal", request), requests.at("answered_ns", request))
    columns = rows.columns(SENDS, ids) | {
        "destination_name": destination_names(rows.text["destination"]),
        "transaction": take_or_null(rows.text["transaction_id"], np.where(inside, np.arange(len(rows)), -1)),
        "transaction_outcome": worded(outcome, words.TRANSACTION_OUTCOMES),
        "effective_ns": or_null(np.where(inside, np.where(outcome == TRANSACTION_COMMITTED, committed, -1), rows["sent_ns"])),
        "receipt_status": worded(np.where(request < 0, -1, statuses[request] if len(statuses) else -1), words.RECEIPT_STATUSES),
        "receipt_us": clocks.elapsed(session, asked, answer, counts=False),
    }
    return pa.table(columns, schema=SENDS.arrow)
