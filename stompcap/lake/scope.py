"""A part of a lake, by time and names, as SQL over views of its tables: what a question is restricted to."""

# ruff: noqa: S608  names that a user gives are rows of a table, never part of the SQL

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from stompcap.units import moment

ASKED, CHOSEN = "asked_names", "chosen_streams"
NEEDED = ("sessions", "deliveries", "sends")
"""Tables by which streams are chosen."""

TIMES = {"deliveries": "delivered_ns", "sends": "sent_ns", "journeys": "coalesce(message_ns, send_ns)", "receipts": "requested_ns",
         "compliance_findings": "ts_ns", "heartbeat_violations": "gap_start_ns", "frames": "first_ns"}  # fmt: skip
"""Tables whose rows have a time of their own."""

NAMED = ("deliveries", "sends", "journeys", "destination_minutes", "incidents")
"""Tables whose rows are of a destination."""

WHOLE = ("rules", "quality_results", "compliance_summary")
"""Tables that no part is taken of."""


@dataclass(frozen=True)
class Scope:
    """From a time to before another, in nanoseconds; sessions of any of these logins, clients and brokers; any of these destinations.

    A client is named by address, client-id, user-agent or library, a broker by product or address:port, a destination as in
    `deliveries.destination_name`.
    """

    since_ns: int | None = None
    until_ns: int | None = None
    logins: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    brokers: tuple[str, ...] = ()

    def names(self) -> pa.Table:
        """The table `ASKED`: names with their kinds."""
        given = (("login", self.logins), ("client", self.clients), ("destination", self.destinations), ("broker", self.brokers))
        rows = [{"kind": kind, "name": name} for kind, names in given for name in names]
        return pa.Table.from_pylist(rows, schema=pa.schema([("kind", pa.string()), ("name", pa.string())]))

    def words(self) -> str:
        """What it is, for people, in the time zone of stompcap.zones."""
        return ", ".join(
            [
                *([] if self.since_ns is None else [f"from {moment(self.since_ns, 0)}"]),
                *([] if self.until_ns is None else [f"before {moment(self.until_ns, 0)}"]),
                *(f"{row['kind']} {row['name']}" for row in self.names().to_pylist()),
            ]
        )

    def chosen(self) -> str:
        """SQL of `CHOSEN`, the streams of the sessions, over `all_sessions`, `all_deliveries` and `all_sends`."""
        client = " OR ".join(f"s.{column} IN ({_asked('client')})" for column in ("client_ip", "client_id", "user_agent", "client_product"))
        of = " UNION ".join(
            f"SELECT stream_id FROM all_{table} WHERE destination_name IN ({_asked('destination')})" for table in ("deliveries", "sends")
        )
        broker = " OR ".join(
            f"{name} IN ({_asked('broker')})" for name in ("s.server_product", "concat(s.server_ip, ':', CAST(s.server_port AS STRING))")
        )
        terms = [
            *_within("s.opened_ns", "coalesce(s.closed_ns, s.last_ns)", self.since_ns, self.until_ns),
            *([f"s.login IN ({_asked('login')})"] if self.logins else []),
            *([f"({client})"] if self.clients else []),
            *([f"({broker})"] if self.brokers else []),
            *([f"s.stream_id IN ({of})"] if self.destinations else []),
        ]
        return f"SELECT s.stream_id FROM all_sessions s WHERE {_all(terms)}"

    def part(self, table: str, columns: list[str], rows: str) -> str:
        """SQL of the part of a table whose rows are the query `rows`."""
        if table in WHOLE:
            return rows
        terms = list(self._times(table))
        if table in NAMED and self.destinations:
            terms.append(f"destination_name IN ({_asked('destination')})")
        chosen = f"SELECT stream_id FROM {CHOSEN}"
        if table == "incidents":
            terms += self._incidents()
        elif table == "journeys":
            terms.append(f"(send_stream_id IN ({chosen}) OR message_stream_id IN ({chosen}))")
        elif table == "destination_minutes":
            if self.logins or self.clients or self.brokers:
                of = " UNION ".join(
                    f"SELECT destination_name FROM all_{one} WHERE stream_id IN ({chosen})" for one in ("deliveries", "sends")
                )
                terms.append(f"destination_name IN ({of})")
        elif "stream_id" in columns:
            terms.append(f"stream_id IN ({chosen})")
        return f"SELECT * FROM ({rows}) one WHERE {_all(terms)}"

    def _times(self, table: str) -> list[str]:
        if table == "captures":
            return _within("first_ns", "last_ns", self.since_ns, self.until_ns)
        if table == "incidents":
            return _within("begin_ns", f"coalesce(end_ns, {1 << 62})", self.since_ns, self.until_ns)
        if table == "destination_minutes":
            since = None if self.since_ns is None else self.since_ns - 60 * 10**9 + 1
            return [
                *([] if since is None else [f"minute_ts >= TIMESTAMP '{_moment(since)}'"]),
                *([] if self.until_ns is None else [f"minute_ts < TIMESTAMP '{_moment(self.until_ns)}'"]),
            ]
        return _within(TIMES[table], TIMES[table], self.since_ns, self.until_ns) if table in TIMES else []

    def _incidents(self) -> list[str]:
        """Incidents are of the names that they are said of."""
        return [
            *([f"subject IN ({_asked('login')})"] if self.logins else []),
            *([f"subject IN ({_asked('client')})"] if self.clients else []),
            *([f"(server_product IN ({_asked('broker')}) OR subject IN ({_asked('broker')}))"] if self.brokers else []),
        ]


def _asked(kind: str) -> str:
    return f"SELECT name FROM {ASKED} WHERE kind = '{kind}'"


def _within(first: str, last: str, since_ns: int | None, until_ns: int | None) -> list[str]:
    """What is at least partly between the times."""
    return [
        *([] if until_ns is None else [f"{first} < {until_ns:d}"]),
        *([] if since_ns is None else [f"{last} >= {since_ns:d}"]),
    ]


def _all(terms: list[str]) -> str:
    return " AND ".join(terms) or "TRUE"


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S+00:00")
