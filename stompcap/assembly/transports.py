"""Rows of the tables transports and transport_events: the layers of streams, and what they said beside their payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from stompcap.assembly.rows import Lineage, as_table, constant
from stompcap.codes import NOBODY
from stompcap.columns import I8, I64, Bools, timestamps, worded
from stompcap.tables import TABLES, words
from stompcap.tcp.results import Retransmissions
from stompcap.transport.checks import text_of
from stompcap.transport.events import PING, PONG, SOCKJS_HEARTBEAT, Events, columns_of
from stompcap.transport.summary import Summary

SIGNS = PING, PONG, SOCKJS_HEARTBEAT
"""Events that show that their sender is alive, though STOMP has nothing of them."""

COUNTED = ("units", "octets", "lost_units")


def transport_rows(stream_ids: pa.Array, which: I64, summaries: Mapping[int, Sequence[Summary]], client: I8, batch_id: str) -> pa.Table:
    """Rows of table transports for the streams `which`, of those that have layers; `client` is the side of each stream's client."""
    found = [(stream, layer, one) for stream in which.tolist() for layer, one in enumerate(summaries.get(stream, ()), 1)]
    schema = TABLES["transports"].arrow
    rows = []
    for stream, layer, one in found:
        side = int(client[stream])
        row = dict.fromkeys(schema.names) | dict(one.columns) | {"stream_id": stream_ids[stream].as_py(), "layer": layer}
        row |= {"kind": one.kind, "status": one.status, "reason": one.reason, "batch_id": batch_id}
        row["closed_by"] = None if one.closed_by == NOBODY else words.SIDES[one.closed_by ^ side]
        row["checks"] = text_of(one.checks, side)
        for index, way in enumerate(words.DIRECTIONS):
            row |= {f"{name}_{way}": getattr(one, name)[side ^ index] for name in COUNTED}
        rows.append(row)
    return pa.Table.from_pylist(rows, schema)


def event_rows(stream_ids: pa.Array, which: Bools, events: Events, client: I8, lineage: Lineage, batch_id: str) -> pa.Table:
    """Rows of table transport_events for the streams of a mask."""
    mine = [one for one in events if which[one.stream]]
    stream, side, row = columns_of(mine)
    ts_ns = lineage.ts_ns[row]
    columns: dict[str, pa.Array] = {
        "stream_id": stream_ids.take(pa.array(stream)),
        "layer": pa.array([one.layer for one in mine], pa.int32()),
        "direction": worded(side ^ client[stream], words.DIRECTIONS),
        "kind": pa.array([one.kind for one in mine], pa.string()),
        "unit_offset": pa.array([one.offset for one in mine], pa.int64()),
        "ts_ns": pa.array(ts_ns),
        "ts": timestamps(ts_ns),
        "capture_id": lineage.capture_ids.take(pa.array(lineage.capture[row])),
        "packet": pa.array(lineage.packet[row]),
        "octets": pa.array([one.octets for one in mine], pa.int64()),
        "detail": pa.array([one.detail for one in mine], pa.string()),
        "batch_id": constant(batch_id, len(mine)),
    }
    return as_table("transport_events", columns)


def signs_of_life(events: Events, ts_ns: I64) -> Retransmissions:
    """When a side said something that is no octet of STOMP, each moment once; `ts_ns` is by row."""
    stream, side, row = columns_of([one for one in events if one.kind in SIGNS])
    found = np.unique(np.stack([stream, side.astype(np.int64), ts_ns[row]]), axis=1)
    return Retransmissions(found[0].astype(np.int32), found[1].astype(np.int8), found[2])
