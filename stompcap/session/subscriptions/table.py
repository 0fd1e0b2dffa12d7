"""Table subscriptions of the lake, from the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.codes import SUBSCRIPTION_ENDED, SUBSCRIPTION_OPEN, SUBSCRIPTION_UNSUBSCRIBED
from stompcap.columns import Bools, worded
from stompcap.session.layout import Records
from stompcap.session.products.destinations import destination_names
from stompcap.session.subscriptions.records import modes_of_subscriptions, names_of_subscriptions
from stompcap.tables import words
from stompcap.tables.silver import SUBSCRIPTIONS


def subscriptions_table(rows: Records, ids: pa.Array, over: Bools) -> pa.Table:
    """Table subscriptions, of the rows that are final; `ids` of the sessions, `over` per session: it has ended."""
    rows = rows.take(np.flatnonzero(rows.final))
    conditions = [rows["ended_ordinal"] >= 0, over[rows["session"]]]
    status = np.select(conditions, [SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_ENDED], SUBSCRIPTION_OPEN)
    columns = rows.columns(SUBSCRIPTIONS, ids) | {
        "subscription": names_of_subscriptions(rows),
        "destination_name": destination_names(rows.text["destination"]),
        "ack_mode": modes_of_subscriptions(rows),
        "status": worded(status, words.SUBSCRIPTION_STATUSES),
    }
    return pa.table(columns, schema=SUBSCRIPTIONS.arrow)
