"""Small traffic as the tables that journeys are made from: what was sent and got, second by second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pipelines.metrics import journeys_sql
from stompcap.lake import query
from stompcap.lake.data_files import Files

S = 10**9
BEGIN = 1_700_000_000 * S
INT, T, B = pa.int64(), pa.string(), pa.bool_()

COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "streams": {
        "stream_id": T, "source": T, "first_ns": INT, "last_ns": INT, "clock_difference_min_us": INT, "clock_difference_max_us": INT,
        "gap_octets_c2s": INT, "gap_octets_s2c": INT, "inner_gap_octets_c2s": INT, "inner_gap_octets_s2c": INT,
        "syn_seen": B, "synack_seen": B, "clock_steps_back": INT,
    },
    "sessions": {"stream_id": T, "server_product": T, "session": T, "connect_latency_us": INT, "closed_ns": INT},
    "sends": {
        "stream_id": T, "stream_offset": INT, "sent_ns": INT, "effective_ns": INT, "destination": T, "destination_name": T, "number": INT,
        "transaction_outcome": T, "receipt_status": T, "receipt_us": INT, "body_octets": INT, "body_hash": INT, "content_hash": INT,
        "own_id": B, "length_octets": INT, "sent_ts": pa.timestamp("us", "UTC"),
    },
    "deliveries": {
        "stream_id": T, "stream_offset": INT, "first_ns": INT, "destination": T, "destination_name": T, "subscription": T, "message_id": T,
        "redelivered": B, "body_octets": INT, "body_hash": INT, "content_hash": INT, "broker_timestamp_us": INT, "producer_session": T,
        "producer_number": INT, "status": T, "settlement": T, "moved_from": T,
        "delivered_ts": pa.timestamp("us", "UTC"),
    },
    "raw_frames": {"stream_id": T, "direction": T, "stream_offset": INT, "length_octets": INT, "kind": T, "first_ns": INT, "last_ns": INT},
    "captures": {"source": T, "last_ns": INT},
}  # fmt: skip


def joined(tables: Mapping[str, pa.Table | Files]) -> pa.Table:
    """The rows of table journeys."""
    with query.opened(tables) as database:
        journeys_sql.gather_all(database)
        return database.sql(journeys_sql.join(database)).to_arrow_table()


@dataclass
class Traffic:
    """SENDs and MESSAGEs of some connections; times are seconds since the beginning, bodies are numbers that stand for their digests."""

    broker: str = "RabbitMQ"
    source: str = "tap"
    end: float = 100_000
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    offsets: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows["captures"].append({"source": self.source, "last_ns": self.at(self.end)})

    @staticmethod
    def at(seconds: float) -> int:
        """Nanoseconds of a time."""
        return BEGIN + round(seconds * S)

    def connection(self, name: str, **columns: Any) -> None:
        """A connection, if it is not there."""
        if all(row["stream_id"] != name for row in self.rows["streams"]):
            session = columns.pop("session", None)
            product, latency = columns.pop("broker", self.broker), columns.pop("connect_latency_us", None)
            closed_ns = columns.pop("closed_ns", None)
            row = {"stream_id": name, "source": self.source, "first_ns": BEGIN, "last_ns": self.at(self.end),
                   "gap_octets_c2s": 0, "gap_octets_s2c": 0, "syn_seen": True, "synack_seen": True} | columns  # fmt: skip
            self.rows["streams"].append(row)
            self.rows["sessions"].append(
                {"stream_id": name, "server_product": product, "session": session, "connect_latency_us": latency, "closed_ns": closed_ns}
            )

    def _place(self, name: str) -> int:
        self.connection(name)
        self.offsets[name] = self.offsets.get(name, 0) + 100
        return self.offsets[name]

    def send(self, at: float, body: int | None = 1, by: str = "p", to: str = "queue/a", **columns: Any) -> Traffic:
        """A SEND whose last octet came at a time."""
        row = {"stream_id": by, "stream_offset": self._place(by), "sent_ns": self.at(at), "effective_ns": self.at(at),
               "destination": f"/{to}", "destination_name": to, "body_octets": 10, "content_hash": body, "body_hash": body,
               "own_id": False, "length_octets": 60}  # fmt: skip
        self.rows["sends"].append(row | columns)
        return self

    def got(self, at: float, body: int | None = 1, by: str = "c", of: str = "queue/a", **columns: Any) -> Traffic:
        """A MESSAGE whose first octet came at a time."""
        place = self._place(by)
        row = {"stream_id": by, "stream_offset": place, "first_ns": self.at(at), "destination": f"/{of}", "destination_name": of,
               "subscription": "0", "message_id": f"{by}-{place}", "redelivered": False, "status": "settled", "settlement": "ack",
               "moved_from": None, "body_octets": 10, "content_hash": body, "body_hash": body}  # fmt: skip
        self.rows["deliveries"].append(row | columns)
        return self

    def hole(self, at: float, octets: int, of: str = "p", direction: str = "c2s") -> Traffic:
        """Octets of a connection that the capture lacks."""
        self.connection(of)
        for row in self.rows["streams"]:
            if row["stream_id"] == of:
                row[f"gap_octets_{direction}"] += octets
        common = {"stream_id": of, "direction": direction}
        begin = self._place(of) * 1000
        for number, (kind, length) in enumerate((("frame", 1), ("gap", octets), ("frame", 1))):
            time = None if kind == "gap" else self.at(at)
            self.rows["raw_frames"].append(
                common | {"stream_offset": begin + number, "length_octets": length, "kind": kind, "first_ns": time, "last_ns": time}
            )
        return self

    def tables(self) -> dict[str, pa.Table]:
        """The tables."""
        return {
            name: pa.table({column: pa.array([row.get(column) for row in rows], kind) for column, kind in COLUMNS[name].items()})
            for name, rows in self.rows.items()
        }

    def journeys(self) -> list[dict[str, Any]]:
        """The rows of table journeys, MESSAGEs by time first, then SENDs that have none."""
        rows: list[dict[str, Any]] = joined(self.tables()).to_pylist()
        rows.sort(key=lambda row: row["message_stream_id"] or "")
        return sorted(rows, key=lambda row: (row["message_ns"] is None, row["message_ns"] or row["send_ns"]))

    def told(self) -> list[str]:
        """How each MESSAGE was joined, and which SEND came to nothing, in words: `unique 0 5.0` has the second of the SEND and how long."""
        found = []
        for row in self.journeys():
            word = row["joined_by"] + (f" {row['reason']}" if row["reason"] else "")
            if row["message_ns"] is None:
                found.append(f"SEND {word}")
            elif row["send_ns"] is None:
                found.append(word)
            else:
                wait = None if row["residence_us"] is None else row["residence_us"] / 10**6
                found.append(f"{word} {(row['send_ns'] - BEGIN) / S:g} {wait if wait is None else format(wait, 'g')}")
        return found
