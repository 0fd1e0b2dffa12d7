"""Table transactions of the lake, from the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, TRANSACTION_IMPLICITLY_ABORTED
from stompcap.columns import I64, or_null
from stompcap.session.clocks import LAST, Clocks, Moment
from stompcap.session.layout import Records
from stompcap.tables.silver import TRANSACTIONS


def transactions_table(rows: Records, clocks: Clocks, ids: pa.Array, closed_ns: I64) -> pa.Table:
    """Table transactions, of the rows that are final; `closed_ns` per transaction: what ends it if it is aborted implicitly."""
    at = np.flatnonzero(rows.final)
    closed, rows = closed_ns[at], rows.take(at)
    session, begun = rows["session"], rows["begun_ns"]
    implicit = rows["outcome"] == TRANSACTION_IMPLICITLY_ABORTED  # by the close of either side
    ended = np.where(implicit, closed, rows["ended_ns"])
    begin = Moment(rows["ordinal"], np.where(implicit, -1, begun))
    by_frame = clocks.elapsed(session, begin, Moment(rows["ended_ordinal"], ended), CLIENT)
    by_close = clocks.elapsed(session, Moment(begin.ordinal, np.where(implicit, begun, -1)), Moment(np.full(len(rows), LAST), ended))
    columns = rows.columns(TRANSACTIONS, ids) | {"ended_ns": or_null(ended), "duration_us": pc.coalesce(by_frame, by_close)}
    return pa.table(columns, schema=TRANSACTIONS.arrow)
