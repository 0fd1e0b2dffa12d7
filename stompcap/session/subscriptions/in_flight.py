"""What a subscription's time was spent with: how much was in flight, for how long nothing was, for how long it was at its limit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.codes import MODE_CLIENT, MODE_CLIENT_INDIVIDUAL
from stompcap.columns import I64, or_null
from stompcap.session.clocks import LAST, Clocks
from stompcap.session.deliveries.in_flight import UNKNOWN
from stompcap.session.layout import Records


def times_in_flight(rows: Records, clocks: Clocks, end_ns: I64) -> dict[str, pa.Array]:
    """Columns of table subscriptions; `end_ns` per session.

    Null where the times of MESSAGEs and ACKs cannot be compared, and of a subscription none of whose deliveries asks for an ACK.
    """
    session, ended = rows["session"], rows["ended_ordinal"] >= 0
    end = np.where(ended, rows["ended_first_ns"], end_ns[session]) // 1000
    begin = rows["first_ns"] // 1000
    since = np.maximum(rows["changed_us"], begin)
    left = np.maximum(end - since, 0)
    whole = since + left - begin
    known = np.isin(rows["mode"], (MODE_CLIENT, MODE_CLIENT_INDIVIDUAL)) & (rows["changed_us"] != UNKNOWN) & (rows["first_ns"] > 0)
    known &= clocks.comparable(session, rows["ordinal"], np.where(ended, rows["ended_ordinal"], LAST))
    number, limit = rows["in_flight"], rows["limit"]
    area = rows["area_us"] + number * left
    idle = rows["idle_us"] + np.where(number == 0, left, 0)
    full = rows["full_us"] + np.where((limit > 0) & (number >= limit), left, 0)
    return {
        "mean_in_flight": pa.array(area / np.maximum(whole, 1), pa.float64(), mask=~(known & (whole > 0))),
        "idle_us": pa.array(idle, mask=~known),
        "full_us": pa.array(full, mask=~(known & (limit > 0))),
        "limited_since_ns": or_null(np.where(known, rows["full_since_ns"], -1)),
    }
