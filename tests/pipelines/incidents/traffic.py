"""Consumers, producers and destinations by hand, minute by minute."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipelines.incidents.islands import islands
from pipelines.incidents.kinds import KINDS
from stompcap.lake import query
from tests.pipelines.incidents.connections import Traffic, at

QUEUE = "queue/orders"
SHOP = {"client_ip": "10.0.0.9"}


def consumer(
    traffic: Traffic, took_ms: Sequence[float | None], every_min: int = 1, each: int = 10, minute_s: int = 60, **values: Any
) -> Traffic:
    """A consumer that takes so long for each message, by the minute, or by so many seconds (None: it gets none); `values` are its
    session's."""
    end = minute_s * every_min * len(took_ms)
    traffic.session(0, end, **values).of_last(
        "subscriptions", subscribe_offset=20, destination_name=QUEUE, subscribed_ns=at(0), max_in_flight=5
    )
    for number, took in enumerate(took_ms):
        for one in range(each if took is not None else 0):
            delivered(traffic, minute_s * every_min * number + one * minute_s / each, number * 1000 + one, took)
    return traffic


def delivered(traffic: Traffic, second: float, offset: int, took_ms: float | None = 20, **values: Any) -> Traffic:
    """A delivery to the last session."""
    row = {"stream_offset": offset, "subscription": "0", "destination_name": QUEUE, "ack_mode": "client-individual", "status": "settled",
           "settlement": "ack", "settled_by": "direct", "delivered_ns": at(second), "octets_missing": False, "redelivered": False,
           "body_hash": offset}  # fmt: skip
    if took_ms is not None:
        row |= {"settled_ns": at(second + took_ms / 1000), "ack_latency_us": round(took_ms * 1000), "service_us": round(took_ms * 1000)}
    return traffic.of_last("deliveries", **row | values)


def destination(traffic: Traffic, sends: Sequence[int], messages: Sequence[int], **values: Sequence[int | None]) -> Traffic:
    """Minutes of the queue, with a producer, `shop`, of its SENDs; `values` are other columns, by the minute."""
    traffic.session(0, 60 * len(sends), login="shop", stream=SHOP)
    for minute, (came, went) in enumerate(zip(sends, messages, strict=True)):
        more = {name: numbers[minute] for name, numbers in values.items()}
        row = {"source": "default", "destination_name": QUEUE, "server_product": "RabbitMQ", "minute_ts": at(60 * minute) // 1000,
               "sends": came, "messages": went, "backlog_change": came - went}  # fmt: skip
        traffic.add("destination_minutes", **row | more)
        for number in range(min(came, 3)):
            traffic.of_last("sends", stream_offset=minute * 1000 + number, destination_name=QUEUE,
                            first_ns=at(60 * minute + number), sent_ns=at(60 * minute + number))  # fmt: skip
    return traffic


def said_of(traffic: Traffic, shuffled: int | None = None) -> list[str]:
    """`kind subject: events` of all kinds together, from rows in another order if asked for."""
    tables = traffic.tables()
    if shuffled is not None:
        dice = random.Random(shuffled)
        tables = {name: rows.take(pa.array(dice.sample(range(len(rows)), len(rows)), pa.int64())) for name, rows in tables.items()}
    with query.opened(tables) as database:
        rows = islands(database, tables, KINDS).to_pylist()
    return [f"{row['kind']} {row['subject']}: {row['events']} {row['stream_id']} {row['stream_offset']} {row['nth']}" for row in rows]
