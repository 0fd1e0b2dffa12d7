"""What layers say beside their payload: handshakes, pings, closes, alerts, and stretches that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stompcap.columns import I8, I64
from stompcap.tables.words import TRANSPORT_EVENTS

HANDSHAKE, PING, PONG, CLOSE, ALERT, KEY_UPDATE, SOCKJS_HEARTBEAT, UNREADABLE = TRANSPORT_EVENTS


class Event(NamedTuple):
    """What one unit of a layer said.

    stream   the stream's number
    side     who said it
    row      the segment by which it could be read
    kind     one of those above
    offset   where its unit begins in the octets of that side that the layer below gives
    octets   how many it has beside its head
    detail   what it says, as far as it is no secret
    layer    which layer of the stream says it, from 1; of a layer of several rows which of these, until stompcap.transport.layers adds
             where the first of them lies
    """

    stream: int
    side: int
    row: int
    kind: str
    offset: int
    octets: int = 0
    detail: str | None = None
    layer: int = 0


Events = tuple[Event, ...]


def of_layer(events: Events, depth: dict[int, int]) -> Events:
    """The same, as the layers say it that lie so deep in their streams."""
    return tuple(one._replace(layer=depth[one.stream] + one.layer) for one in events)


def moved(events: Events, rows: I64) -> Events:
    """The same with other numbers of rows."""
    return tuple(one._replace(row=int(rows[one.row])) for one in events)


def columns_of(events: Sequence[Event]) -> tuple[I64, I8, I64]:
    """Stream, side and row of each."""
    stream, side, row = (np.array([getattr(one, name) for one in events], np.int64) for name in ("stream", "side", "row"))
    return stream, side.astype(np.int8), row
