"""A small lake by hand: the tables that a report reads, with hostile text in every column that the wire fills."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pyarrow as pa

from stompcap.lake.query import in_process
from stompcap.report.culprits import STORM
from stompcap.report.queries import QUERIES
from stompcap.tables import TABLES, Column

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202egnp.exe\0{{7*7}}"
START = 1_764_000_000_000_000_000
SECOND = 1_000_000_000
PRODUCTS = ("RabbitMQ", "ActiveMQ", "ActiveMQ-Artemis", "CoilMQ", HOSTILE)


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table of the lake's schema; what a row leaves out is null, or a filler where that is not allowed."""
    columns = TABLES[name].columns
    unknown = {key for row in rows for key in row} - {column.name for column in columns}
    assert not unknown, f"{name} has no {unknown}"
    needed = {column.name: _filler(column) for column in columns if not column.nullable}
    return pa.Table.from_pylist([needed | row for row in rows], schema=TABLES[name].arrow)


def _filler(column: Column) -> Any:
    """A value that a column that may not be null can have."""
    if pa.types.is_binary(column.type):
        return b""
    if pa.types.is_string(column.type):
        return column.words[0] if column.words else ""
    return b"" if pa.types.is_binary(column.type) else pa.types.is_integer(column.type) and 0


def lake(seed: int = 7, sessions: int = 24) -> dict[str, pa.Table]:
    """Every table a report reads, with `sessions` sessions over half an hour."""
    chance = random.Random(seed)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for query in QUERIES.values() for name in query.tables}
    for number, status in enumerate(("complete", "complete", "truncated")):
        rows["captures"].append(
            {
                "capture_id": f"{number:064x}",
                "path": f"/captures/{number}-{HOSTILE if number == 2 else 'rabbit'}.pcapng",
                "source": "default",
                "format": "pcapng",
                "size_octets": 1_234_567,
                "packets": 40_000,
                "tcp_segments": 39_000,
                "first_ns": START + number * 600 * SECOND,
                "last_ns": START + (number + 1) * 600 * SECOND,
                "status": status,
                "damage": "record cut short at octet 1,234,500" if status == "truncated" else None,
            }
        )
    for number in range(sessions):
        stream, product = hashlib.blake2b(bytes([number]), digest_size=10).hexdigest(), PRODUCTS[number % len(PRODUCTS)]
        opened = START + number * 60 * SECOND
        rows["streams"].append(
            {
                "stream_id": stream,
                "source": "default",
                "transport": "tcp",
                "protocol": "stomp",
                "octets_c2s": 20_000,
                "octets_s2c": 90_000,
                "gap_octets_c2s": 0,
                "gap_octets_s2c": 1460 if number == 3 else 0,
            }
        )
        if number % 8 == 0:
            rows["transports"].append(
                {
                    "stream_id": stream, "layer": 1, "kind": "websocket", "status": "partly" if number else "read", "subprotocol": HOSTILE,
                    "reason": HOSTILE if number else None, "close_code": 1000,
                }
            )  # fmt: skip
        rows["sessions"].append(
            {
                "stream_id": stream,
                "client_ip": "10.0.0.5",
                "client_port": 40_000 + number,
                "server_ip": "10.0.0.9",
                "server_port": 61613,
                "transport": "tcp",
                "opened_ns": opened,
                "closed_ns": opened + 300 * SECOND,
                "version": ("1.0", "1.1", "1.2", None)[number % 4],
                "server_product": product,
                "server_version": "3.10",
                "client_product": "stomp.py",
                "connect_latency_us": 2000 + 17 * number,
                "outcome": "refused" if number == 5 else "midstream" if number == 3 else "connected",
                "error_message": HOSTILE if number == 5 else None,
                "end_kind": "rst" if number % 6 == 0 else "fin",
                "ended_by": "server",
                "frames_c2s": 120,
                "frames_s2c": 130,
                "gap_octets": 1460 if number == 3 else 0,
                "cleartext_credentials": number % 2 == 0,
            }
        )
        rows["subscriptions"].append({"stream_id": stream, "subscription": HOSTILE, "prefetch": 10, "max_in_flight": 9 + number % 2})
        for message in range(60):
            settled = chance.random() < 0.93
            cumulative = settled and chance.random() < 0.2
            rows["deliveries"].append(
                {
                    "stream_id": stream,
                    "stream_offset": message * 200,
                    "subscription": HOSTILE,
                    "delivered_ns": opened + message * 4 * SECOND,
                    "destination": f"/queue/{HOSTILE if number == 4 else ('orders', 'mail', 'audit')[number % 3]}",
                    "ack_mode": ("client", "client-individual")[number % 2],
                    "body_octets": 100,
                    "redelivered": message == 7,
                    "status": "settled" if settled else ("unsettled", "unknown")[number % 2],
                    "settlement": ("nack" if chance.random() < 0.02 else "ack") if settled else None,
                    "settled_by": ("cumulative" if cumulative else "direct") if settled else None,
                    "octets_missing": number == 3 and message % 20 == 9 if settled else None,
                    "ack_latency_us": int(chance.lognormvariate(7 + number % 3, 1.1)) if settled else None,
                }
            )
        for message in range(10):
            waits = message == 9
            rows["journeys"].append(
                {
                    "source": "default", "send_stream_id": stream, "send_offset": message, "message_stream_id": None if waits else stream,
                    "message_offset": None if waits else message * 200, "destination_name": f"queue/{HOSTILE if number == 4 else 'orders'}",
                    "joined_by": "none" if waits else ("unique", "ordered")[message == 8], "reason": "not_yet" if waits else None,
                    "residence_us": None if waits else 1_000 * message + number, "redelivery": False,
                }
            )  # fmt: skip
        rows["receipts"].append(
            {
                "stream_id": stream,
                "request_offset": 9,
                "command": "SEND",
                "receipt": "r1",
                "requested_ns": opened,
                "latency_us": 900 + number if number % 5 else None,
                "status": "answered" if number % 5 else "unanswered",
            }
        )
        for way in ("c2s", "s2c"):
            ratio = 2.02 if product == "ActiveMQ" and way == "s2c" else chance.choice((0.5, 1.0, 1.003, 1.15, 1.0))
            ratio = 3.7 if number == 6 and way == "c2s" else ratio
            verdict = "dead" if ratio > 3 else "violation" if ratio > 1.5 else "late" if ratio > 1.1 else "ok"
            rows["heartbeats"].append(
                {
                    "stream_id": stream,
                    "direction": way,
                    "interval_ms": 10_000,
                    "beats": 20,
                    "max_gap_ms": int(ratio * 10_000),
                    "gaps": 30,
                    "late": int(verdict == "late"),
                    "violations": int(verdict == "violation"),
                    "dead": int(verdict == "dead"),
                    "observed_ms": 300_000,
                    "verdict": verdict,
                }
            )
            if verdict != "ok":
                rows["heartbeat_violations"].append(
                    {
                        "stream_id": stream,
                        "direction": way,
                        "gap_start_ns": opened + 60 * SECOND,
                        "gap_end_ns": opened + int((60 + ratio * 10) * SECOND),
                        "gap_ms": int(ratio * 10_000),
                        "interval_ms": 10_000,
                        "ratio": ratio,
                        "severity": verdict,
                        "ended_by": "data",
                        "excused": "capture_gap" if number == 3 else None,
                    }
                )
        for rank, rule in enumerate(RULES):
            failed = 0 if (number + rank) % 3 else 1 + rank
            rows["compliance"].append(
                {
                    "stream_id": stream,
                    "rule_id": rule["id"],
                    "applicable": 40,
                    "passed": 38 - failed,
                    "failed": failed,
                    "not_evaluable": 2,
                }
            )
            rows["compliance_summary"].append(
                {
                    "rule_id": rule["id"],
                    "server_product": product,
                    "client_product": "stomp.py",
                    "version": "1.2",
                    "sessions": 1,
                    "applicable": 40,
                    "passed": 38 - failed,
                    "failed": failed,
                    "not_evaluable": 2,
                    "failure_rate": failed / 38,
                }
            )
            for nth in range(failed):
                rows["compliance_findings"].append(
                    {
                        "rule_id": rule["id"],
                        "level": rule["level"],
                        "side": "server" if rule["side"] == "both" and number % 2 else "client",
                        "stream_id": stream,
                        "direction": "c2s",
                        "stream_offset": nth * 300,
                        "ts_ns": opened + nth * SECOND,
                        "evidence": f"destination={HOSTILE}",
                    }
                )
    for number in range(STORM + 2):
        name = hashlib.blake2b(b"reconnects %d" % number, digest_size=10).hexdigest()
        rows["sessions"].append(
            {
                "stream_id": name, "client_ip": "10.0.0.66", "client_port": 50_000 + number, "server_ip": "10.0.0.9", "server_port": 61613,
                "transport": "tcp", "opened_ns": START + number * SECOND, "closed_ns": START + number * SECOND + SECOND // 9,
                "login": HOSTILE, "outcome": "unanswered", "end_kind": "fin",
            }
        )  # fmt: skip
    rows["rules"] = [
        rule | {"explanation": f"{rule['title']}. And why.", "clause": "STOMP 1.2, Augmented BNF"} for rule in RULES
    ]
    for expectation, success in (
        ("expect_column_values_to_be_unique", True),
        ("expect_table_row_count_to_be_between", False),
    ):
        rows["quality_results"].append(
            {
                "run_id": "r",
                "table_name": "frames",
                "column_name": "stream_offset",
                "expectation": expectation,
                "severity": "warning",
                "success": success,
                "observed": '{"n": 1}',
                "checked_ts": START // 1000,
            }
        )
    first = rows["sessions"][0]["stream_id"]
    for number, (level, end) in enumerate((("critical", None), ("warning", START + 900 * SECOND), ("note", START))):
        rows["incidents"].append(
            {
                "incident_id": f"{number:020x}", "kind": "backlog", "subject_kind": ("login", "destination", "broker")[number],
                "subject": HOSTILE, "source": "default", "destination_name": ("queue/orders", f"queue/{HOSTILE}", None)[number],
                "server_product": ("RabbitMQ", HOSTILE, None)[number],
                "begin_ns": START + 300 * SECOND * (number + 1), "end_ns": end, "level": level, "messages": 700 - number,
                "confidence": ("proven", "likely")[number % 2], "would_change": HOSTILE if number % 2 else None,
                "sentence": f"billing takes 400 ms a message {HOSTILE}",
                "streams": [first], "packets": [{"capture": f"/captures/{HOSTILE}.pcap", "packet": packet} for packet in (7006, 13546)],
            }
        )  # fmt: skip
    for minute in range(30):
        for name in ("queue/orders", f"queue/{HOSTILE}"):
            rows["destination_minutes"].append(
                {
                    "minute_ts": (START // 60_000_000_000 + minute) * 60_000_000, "source": "default", "destination_name": name,
                    "sends": 60, "messages": 60 - minute, "backlog_change": minute, "backlog_incomplete": name != "queue/orders",
                    "residence_p95_us": 5_000 * minute or None, "ack_p95_us": 2_000 + 10_000 * minute,
                }
            )  # fmt: skip
    return {name: table(name, found) for name, found in rows.items()}


RULES: list[dict[str, Any]] = [
    {
        "id": "FR-07",
        "versions": "1.0, 1.1, 1.2",
        "side": "both",
        "level": "M",
        "title": "content-length octets of body, then a NUL",
    },
    {"id": "FR-27", "versions": "1.1, 1.2", "side": "both", "level": "S", "title": "A body comes with a content-type"},
    {
        "id": "AK-04",
        "versions": "1.0, 1.1, 1.2",
        "side": "client",
        "level": "M",
        "title": "ACK names a MESSAGE delivered here and not yet settled",
    },
    {
        "id": "CN-20",
        "versions": "1.0, 1.1, 1.2",
        "side": "client",
        "level": "I",
        "title": "Credentials in clear on a connection without TLS",
    },
]


def ask(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The answers to all questions, in this process; those whose tables are not there are left out."""
    return in_process(tables, [query for query in QUERIES.values() if set(query.tables) <= set(tables)])
