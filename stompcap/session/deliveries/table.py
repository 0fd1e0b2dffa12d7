"""Table deliveries of the lake, from the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import DELIVERY_AUTO, DELIVERY_SETTLED, DELIVERY_UNKNOWN, MODE_AUTO, TRANSACTION_COMMITTED
from stompcap.columns import I64, integers, or_null, take_or_null, worded
from stompcap.session.clocks import Clocks, Moment
from stompcap.session.deliveries.records import RENEWED
from stompcap.session.deliveries.status import NOT_SETTLED
from stompcap.session.layout import Records
from stompcap.session.products.destinations import destination_names
from stompcap.session.products.message_ids import producers
from stompcap.session.subscriptions.records import modes_of_subscriptions, names_of_subscriptions
from stompcap.tables import words
from stompcap.tables.silver import DELIVERIES


def tally(rows: Records, subscriptions: Records) -> None:
    """Count the deliveries that are final with their subscriptions."""
    final = rows.final & (rows["subscription"] >= 0)
    status, nack = rows["status"], rows["nack"] == 1
    for name, which in (
        ("acked", (status == DELIVERY_SETTLED) & ~nack),
        ("nacked", (status == DELIVERY_SETTLED) & nack),
        ("unsettled", np.isin(status, NOT_SETTLED)),
    ):
        more = np.bincount(rows["subscription"][final & which], minlength=len(subscriptions))
        subscriptions[name] = subscriptions[name] + more


def _modes(rows: Records, subscriptions: Records) -> pa.Array:
    """Per delivery the ack mode of its subscription, or what its own header tells; null where it is not known."""
    of = np.where(rows["possible"] == RENEWED, -1, rows["subscription"])
    modes = take_or_null(modes_of_subscriptions(subscriptions), of)
    return pc.if_else(pa.array(rows["status"] == DELIVERY_AUTO), words.ACK_MODES[MODE_AUTO], modes)


def _parts(rows: Records, latency: pa.Array, settled_ns: I64) -> dict[str, pa.Array]:
    """The ack latency up to the acknowledgement by TCP, and behind it."""
    begin, acked = rows["delivered_ns"], rows["acked_ns"]
    between = (acked >= begin) & (acked < settled_ns)
    network = (acked - begin) // 1000
    known = between & np.asarray(latency.is_valid())
    return {
        "network_us": pa.array(network, mask=~known),
        "consumer_us": pa.array(integers(latency) - network, mask=~known),
    }


def deliveries_table(rows: Records, subscriptions: Records, transactions: Records, clocks: Clocks, ids: pa.Array) -> pa.Table:
    """Table deliveries, of the rows that are final; `ids` of the sessions."""
    rows = rows.take(np.flatnonzero(rows.final))
    known = (rows["hidden"] == 0) & (rows["by_ordinal"] >= 0)

    def settling(name: str) -> I64:
        """What is known of the frame that settled each."""
        return np.where(known, rows[name], -1)

    transaction = np.maximum(settling("transaction"), -1)
    outcome = transactions.at("outcome", transaction)
    committed_ns = np.where(outcome == TRANSACTION_COMMITTED, transactions.at("ended_ns", transaction), -1)
    delivery = Moment(rows["ordinal"], rows["delivered_ns"])
    settlement = Moment(rows["by_ordinal"], np.where(rows["status"] == DELIVERY_UNKNOWN, -1, settling("by_ns")))
    earlier = rows["before_ordinal"] > rows["ordinal"]
    free = Moment(
        np.where(earlier, rows["before_ordinal"], rows["ordinal"]),
        np.where(earlier, np.maximum(rows["before_ns"], rows["delivered_ns"]), rows["delivered_ns"]),
    )
    service = clocks.elapsed(rows["session"], free, settlement, counts=False)
    latency = clocks.elapsed(rows["session"], delivery, settlement)
    commit = Moment(transactions.at("ended_ordinal", transaction), committed_ns)
    subscription = take_or_null(names_of_subscriptions(subscriptions), rows["subscription"])
    session, number = producers(rows.text["message_id"])
    columns = rows.columns(DELIVERIES, ids) | {
        "destination_name": destination_names(rows.text["destination"]),
        "producer_session": session,
        "producer_number": number,
        "subscription": pc.coalesce(subscription, rows.text["subscription_header"]),
        "ack_mode": _modes(rows, subscriptions),
        "settlement": worded(settling("nack"), words.SETTLEMENTS),
        "settled_by": worded(np.where(known, 1 - rows["direct"], -1), words.SETTLED_BY),
        "settled_ns": or_null(settling("by_ns")),
        "settle_offset": or_null(settling("by_offset")),
        "transaction": take_or_null(transactions.text["id"], transaction),
        "transaction_outcome": worded(outcome, words.TRANSACTION_OUTCOMES),
        "ack_latency_us": latency,
        **_parts(rows, latency, settling("by_ns")),
        "service_us": pc.if_else(pc.and_(latency.is_valid(), pa.array(rows["subscription"] >= 0)), service, pa.scalar(None, pa.int64())),
        "commit_latency_us": clocks.elapsed(rows["session"], delivery, commit),
        "octets_missing": pa.array(rows["lost"] == 1, mask=~known),
    }
    return pa.table(columns, schema=DELIVERIES.arrow)
