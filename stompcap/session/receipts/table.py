"""Table receipts of the lake, from the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.codes import RECEIPT_ANSWERED, RECEIPT_OPEN, RECEIPT_REFUSED, RECEIPT_UNANSWERED
from stompcap.columns import I64, Bools, worded
from stompcap.session.clocks import Clocks, Moment
from stompcap.session.layout import Records
from stompcap.tables import words
from stompcap.tables.silver import RECEIPTS


def statuses(rows: Records, closed: Bools, gaps: I64) -> I64:
    """What became of the requests, as if nothing more came; one whose answer may have been lost by the capture stays open.

    Per session: its connection was `closed`, and `gaps` of the server so far.
    """
    session, answered = rows["session"], rows["answered_ordinal"] >= 0
    refused = answered & (rows["by_error"] == 1)
    silent = closed[session] & (gaps[session] == rows["gaps_s2c"])
    return np.select([refused, answered, silent], [RECEIPT_REFUSED, RECEIPT_ANSWERED, RECEIPT_UNANSWERED], RECEIPT_OPEN)


def receipts_table(rows: Records, status: I64, clocks: Clocks, ids: pa.Array) -> pa.Table:
    """Table receipts, of the rows that are final; `status` of all."""
    final = np.flatnonzero(rows.final)
    rows, status = rows.take(final), status[final]
    session, answered = rows["session"], rows["answered_ordinal"] >= 0
    asking, answering = Moment(rows["ordinal"], rows["first_ns"]), Moment(rows["answered_ordinal"], rows["answered_ns"])
    refused = answered & (rows["by_error"] == 1)
    columns = rows.columns(RECEIPTS, ids) | {
        "answer": worded(np.where(answered, refused.astype(np.int64), -1), words.RECEIPT_ANSWERS),
        "latency_us": clocks.elapsed(session, asking, answering),
        "status": worded(status, words.RECEIPT_STATUSES),
    }
    return pa.table(columns, schema=RECEIPTS.arrow)
