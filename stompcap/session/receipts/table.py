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


def receipts_table(rows: Records, clocks: Clocks, ids: pa.Array, closed: Bools, gaps: I64) -> pa.Table:
    """Table receipts, of the rows that are final; a request whose answer may have been lost by the capture stays open.

    Per session: its connection was `closed`, and `gaps` of the server so far.
    """
    rows = rows.take(np.flatnonzero(rows.final))
    session, answered = rows["session"], rows["answered_ordinal"] >= 0
    asking, answering = Moment(rows["ordinal"], rows["first_ns"]), Moment(rows["answered_ordinal"], rows["answered_ns"])
    refused = answered & (rows["by_error"] == 1)
    silent = closed[session] & (gaps[session] == rows["gaps_s2c"])
    status = np.select([refused, answered, silent], [RECEIPT_REFUSED, RECEIPT_ANSWERED, RECEIPT_UNANSWERED], RECEIPT_OPEN)
    columns = rows.columns(RECEIPTS, ids) | {
        "answer": worded(np.where(answered, refused.astype(np.int64), -1), words.RECEIPT_ANSWERS),
        "latency_us": clocks.elapsed(session, asking, answering),
        "status": worded(status, words.RECEIPT_STATUSES),
    }
    return pa.table(columns, schema=RECEIPTS.arrow)
