"""From octets to findings: what delimiter, session and rules made of a connection that speaks STOMP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from stompcap.cli.trace.connection import Connection
from stompcap.cli.trace.section import Row, Section, files
from stompcap.rules import RULES, engine
from stompcap.session import sessions as machine
from stompcap.session.deliveries import names, status
from stompcap.session.deliveries import walk as deliveries
from stompcap.session.heartbeats import silences
from stompcap.session.receipts import walk as receipts
from stompcap.session.subscriptions import walk as subscriptions
from stompcap.session.transactions import walk as transactions
from stompcap.stomp import decoder, delimiter, negotiate
from stompcap.stomp.syntax import Syntax

KNOWN = {
    "connected": "CONNECTED names it", "assumed_1_0": "CONNECTED names none", "inferred": "what frames show", "unknown": "nothing shows it",
}  # fmt: skip
FrameKey = tuple[str, int]


def sections(of: Connection) -> Iterator[Section]:
    """The sections, in the order of the machines."""
    yield Section("delimiter", files(delimiter), "every byte in one row", _rows(of))
    session = of.session
    if session is None:
        return
    yield Section("version", files(negotiate), "by the frames of both sides", [*_version(session)])
    yield Section("frames", files(decoder, machine), "what each meant", _frames(of))
    columns: tuple[str, ...] = ("subscribe_offset", "subscription", "destination", "ack_mode", "status", "delivered", "acked", "nacked",
                                "unsettled")  # fmt: skip
    yield _table(of, "subscriptions", columns, subscriptions)
    columns = ("stream_offset", "message_id", "ack_id", "subscription", "ack_mode", "status", "settlement", "settled_by", "settle_offset",
               "transaction", "transaction_outcome", "ack_latency_us", "octets_missing")  # fmt: skip
    yield _table(of, "deliveries", columns, names, deliveries, status)
    yield _table(of, "receipts", ("request_offset", "command", "receipt", "status", "answer", "latency_us"), receipts)
    yield _table(of, "transactions", ("begin_offset", "transaction", "outcome", "sends", "acks", "nacks", "duration_us"), transactions)
    columns = ("direction", "interval_ms", "beats", "gaps", "late", "violations", "dead", "verdict")
    yield _table(of, "heartbeats", columns, silences)
    judges = {rule.id: files(rule.judge)[0] for rule in RULES}
    yield Section("rules", files(engine), "how often each applied", [
        {name: row[name] for name in ("rule_id", "passed", "failed", "not_evaluable")} | {"decided_in": judges[row["rule_id"]]}
        for row in sorted(of.tables.get("compliance", ()), key=lambda row: str(row["rule_id"]))
    ])  # fmt: skip
    yield Section("findings", files(engine), "what broke a rule", [
        {"ns": row["ts_ns"], "way": row["direction"], "offset": row["stream_offset"]}
        | {name: row[name] for name in ("rule_id", "level", "side")}
        | {"decided_in": judges[row["rule_id"]], "evidence": row["evidence"]}
        for row in sorted(of.tables.get("compliance_findings", ()), key=lambda row: (row["ts_ns"] or 0, row["rule_id"]))
    ])  # fmt: skip


def _table(of: Connection, name: str, columns: Sequence[str], *modules: object) -> Section:
    """The rows of a table, in the order of their first column."""
    rows = [{column: row[column] for column in columns} for row in of.tables.get(name, ())]
    return Section(name, files(*modules), f"table {name}", sorted(rows, key=lambda row: row[columns[0]]))


def _rows(of: Connection) -> list[Row]:
    found: list[Row] = []
    for row in sorted(of.tables.get("raw_frames", ()), key=_order):
        first, last = row["first_packet"], row["last_packet"]
        found.append({
            "wire_order": row["wire_order"], "way": row["direction"], "offset": row["stream_offset"], "octets": row["length_octets"],
            "kind": row["kind"], "delimited_by": row["delimited_by"], "capture": of.capture(row["last_capture_id"]),
            "packets": None if last is None else str(last) if first == last else f"{first}–{last}",
            "syntax": " ".join(str(bit.name) for bit in Syntax(row["syntax"])), "masked": row["redacted"] or None,
        })  # fmt: skip
    return found


def _order(row: Row) -> tuple[int, str, int]:
    """By wire order; a gap behind which nothing came is last."""
    return row["wire_order"] or 1 << 62, row["direction"], row["stream_offset"]


def _version(session: Row) -> Iterator[Row]:
    yield {"what": "accept-version", "value": session["accept_version"], "because": session["connect_command"] or "no CONNECT captured"}
    yield {"what": "version", "value": session["version"], "because": KNOWN[session["version_source"]]}
    yield {"what": "possible versions", "value": session["possible_versions"], "because": ""}


def _frames(of: Connection) -> list[Row]:
    meant, frames = _meant(of), {(row["direction"], row["stream_offset"]): row for row in of.tables.get("frames", ())}
    found: list[Row] = []
    for raw in sorted(of.tables.get("raw_frames", ()), key=_order):
        key = raw["direction"], raw["stream_offset"]
        if key not in frames:
            continue
        frame = frames[key]
        found.append({
            "ns": frame["last_ns"], "way": frame["direction"], "offset": frame["stream_offset"], "packet": frame["last_packet"],
            "command": frame["command"] or frame["command_raw"], "decode_errors": " ".join(frame["decode_errors"] or ()),
            "meaning": "; ".join(meant.get(key, ())),
        })  # fmt: skip
    return found


def _meant(of: Connection) -> dict[FrameKey, list[str]]:
    """What frames did, by direction and offset."""
    meant: dict[FrameKey, list[str]] = defaultdict(list)
    for row in of.tables.get("frames", ()):
        key = row["direction"], row["stream_offset"]
        if row["command"] in ("CONNECT", "STOMP", "CONNECTED") and of.session is not None:
            meant[key].append(f"outcome: {of.session['outcome']}")
        if row["command"] == "UNSUBSCRIBE":
            meant[key].append(f"of subscription {row['id'] or row['destination']}")
        if row["transaction"] is not None and row["command"] != "BEGIN":
            meant[key].append(f"in transaction {row['transaction']}")
        if row["receipt_id"] is not None:
            meant[key].append(f"answers receipt {row['receipt_id']}")
    for row in of.tables.get("subscriptions", ()):
        text = f"subscription {row['subscription']}: {row['status']}, mode {row['ack_mode']}, {row['delivered']} delivered"
        meant["c2s", row["subscribe_offset"]].append(text)
    settles: dict[int, list[Row]] = defaultdict(list)
    for row in of.tables.get("deliveries", ()):
        meant["s2c", row["stream_offset"]].append(f"delivery to {row['subscription'] or 'an unknown subscription'}: {row['status']}")
        if row["settle_offset"] is not None:
            settles[row["settle_offset"]].append(row)
    for offset, rows in settles.items():
        which = f"{len(rows)} deliveries" if len(rows) > 1 else f"the delivery at s2c {rows[0]['stream_offset']}"
        meant["c2s", offset].append(f"{rows[0]['settlement']} of {which}")
    for row in of.tables.get("transactions", ()):
        meant["c2s", row["begin_offset"]].append(f"transaction {row['transaction']}: {row['outcome']}")
    for row in of.tables.get("receipts", ()):
        meant["c2s", row["request_offset"]].append(f"receipt {row['receipt']}: {row['status']}")
    return meant
