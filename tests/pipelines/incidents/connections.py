"""Rows of connections by hand, and what the SQL of a kind makes of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipelines.incidents.kinds import KINDS, TABLES, Kind
from pipelines.incidents.possible import possible, questions
from pipelines.incidents.relations import make
from stompcap.lake import query
from tests.report.sample import SECOND, START, table


def at(seconds: float) -> int:
    """Nanoseconds of a moment, in seconds since the capture's begin."""
    return START + round(seconds * SECOND)


class Traffic:
    """A capture of an hour, and its connections so far; every call gives the object back."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        self.rows["captures"].append({"capture_id": "c", "source": "default", "first_ns": START, "last_ns": at(3600), "status": "complete"})

    def add(self, name: str, **values: Any) -> Traffic:
        self.rows[name].append(values)
        return self

    def tcp(self, begin: float, end: float, **values: Any) -> Traffic:
        """A connection without a session."""
        stream = {
            "stream_id": f"{len(self.rows['streams']):020x}", "source": "default", "client_ip": "10.0.0.5", "server_ip": "10.0.0.1",
            "server_port": 61613, "protocol": "stomp", "first_ns": at(begin), "last_ns": at(end), "syn_seen": True, "synack_seen": True,
            "close_kind": "fin", "closed_by": "client", "octets_c2s": 100, "octets_s2c": 100, "outer_octets_c2s": 100,
            "outer_octets_s2c": 100, "history": "ShADadfF",
        }  # fmt: skip
        self.rows["streams"].append(stream | values)
        return self

    def session(
        self, begin: float, end: float, login: str | None = "billing", stream: dict[str, Any] | None = None, **values: Any
    ) -> Traffic:
        """A session, closed at its end unless `values` say otherwise."""
        self.tcp(begin, end, **(stream or {}))
        of = self.rows["streams"][-1]
        row = {
            "stream_id": of["stream_id"], "client_ip": of["client_ip"], "server_ip": of["server_ip"], "server_port": of["server_port"],
            "opened_ns": at(begin), "closed_ns": at(end), "last_ns": at(end), "opened_ts": at(begin) // 1000, "login": login,
            "server_product": "RabbitMQ", "outcome": "connected", "close_cause": "unknown", "close_evidence": "FIN of the client",
            "end_kind": "fin", "gap_octets": 0,
        }  # fmt: skip
        self.rows["sessions"].append(row | values)
        return self

    def of_last(self, name: str, **values: Any) -> Traffic:
        """A row of the last session."""
        return self.add(name, stream_id=self.rows["streams"][-1]["stream_id"], **values)

    def tables(self) -> dict[str, pa.Table]:
        return {name: table(name, rows) for name, rows in self.rows.items()}


def events(traffic: Traffic, sql: str) -> list[dict[str, Any]]:
    """The rows that the SQL of a kind gives, by time."""
    tables = traffic.tables()
    with query.opened(tables) as database:
        make(database, tables, {"found": sql})
        return database.sql("SELECT * FROM found ORDER BY begin_ns, stream_id").to_arrow_table().to_pylist()


def told(traffic: Traffic, sql: str) -> list[str]:
    """`subject_kind subject what xN` of them."""
    names: dict[str, int] = {}
    for row in events(traffic, sql):
        name = f"{row['subject_kind']} {row['subject']} {row['what']}".strip()
        names[name] = names.get(name, 0) + 1
    return [f"{name} x{number}" for name, number in names.items()]


def possible_in(traffic: Traffic) -> list[Kind]:
    """The kinds that are asked for."""
    tables, asked = traffic.tables(), questions(KINDS)
    return possible(KINDS, query.in_process({one.name: tables[one.name] for one in asked}, asked).values())
