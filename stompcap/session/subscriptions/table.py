"""Table subscriptions of the lake, from the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.codes import SUBSCRIPTION_ENDED, SUBSCRIPTION_OPEN, SUBSCRIPTION_UNSUBSCRIBED
from stompcap.columns import I64, Bools, worded
from stompcap.session.clocks import Clocks
from stompcap.session.layout import Records
from stompcap.session.products.destinations import destination_names
from stompcap.session.subscriptions.in_flight import times_in_flight
from stompcap.session.subscriptions.records import modes_of_subscriptions, names_of_subscriptions
from stompcap.tables import words
from stompcap.tables.silver import SUBSCRIPTIONS


def subscriptions_table(rows: Records, clocks: Clocks, ids: pa.Array, over: Bools, end_ns: I64) -> pa.Table:
    """Table subscriptions, of the rows that are final. Of each session its id, whether it is `over`, and when it or its capture ended."""
    rows = rows.take(np.flatnonzero(rows.final))
    conditions = [rows["ended_ordinal"] >= 0, over[rows["session"]]]
    status = np.select(conditions, [SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_ENDED], SUBSCRIPTION_OPEN)
    columns = rows.columns(SUBSCRIPTIONS, ids) | times_in_flight(rows, clocks, end_ns) | {
        "subscription": names_of_subscriptions(rows),
        "destination_name": destination_names(rows.text["destination"]),
        "ack_mode": modes_of_subscriptions(rows),
        "status": worded(status, words.SUBSCRIPTION_STATUSES),
    }
    return pa.table(columns, schema=SUBSCRIPTIONS.arrow)
