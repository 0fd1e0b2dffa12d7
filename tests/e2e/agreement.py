"""Does what the tables say agree with what a client logged? Each function gives the differences as lines; none is what we want."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from data.recorder.truth import severity
from stompcap.tables.words import ACK_MODES
from tests.e2e.truth import Observed, Row, Session

SPELLED = re.compile(r"(p,a,s,s,c,o,d,e,,)(.*?)(?=,10,)", re.IGNORECASE)
SLACK_NS = 400_000_000  # the longest a client on a loaded machine took between its clock and its system call


def frames(session: Session, seen: Observed, stream: str) -> Iterator[str]:
    """Every frame sent and received, octet for octet."""
    rows = {(row["direction"], row["stream_offset"]): row for row in seen.rows("frames", stream)}
    raw = {(row["direction"], row["stream_offset"]): row for row in seen.rows("raw_frames", stream)}
    logged = [row for row in session.logged["frame"] if row["captured"]]
    for said in logged:
        key = said["direction"], said["stream_offset"] - session.shift(said["direction"])
        row = rows.pop(key, None)
        if row is None:
            yield f"{said['command']} at {key} is missing"
            continue
        yield from _frame(said, row, raw[key])
    for key, row in rows.items():
        yield f"{row['command_raw']} at {key} was never logged"


def _frame(said: Row, row: Row, raw: Row) -> Iterator[str]:
    where = f"{said['direction']} {said['stream_offset']} {said['command']}"
    for name, wanted, found in (
        ("command", said["command"], row["command_raw"]),
        ("length", said["length_octets"], row["length_octets"]),
        ("body", said["body_octets"], row["body_octets"]),
        ("headers", _masked(said["headers"]), [[h["name"], h["value"]] for h in row["headers"]]),
    ):
        if wanted != found:
            yield f"{where}: {name} is {found!r}, logged {wanted!r}"
    octets = raw["raw"]
    body = octets[len(octets) - 1 - row["body_octets"] : len(octets) - 1]
    if not raw["redacted"] and hashlib.sha256(body).hexdigest() != said["body_sha256"]:
        yield f"{where}: the body differs"
    if not said["first_clock_ns"] - SLACK_NS < row["first_ns"] < said["last_clock_ns"] + SLACK_NS:
        yield f"{where}: captured at {row['first_ns']}, logged at {said['first_clock_ns']}"


def _masked(headers: list[list[str | None]]) -> list[list[str | None]]:
    return [[name, _hidden(name, value)] for name, value in headers]


def _hidden(name: str | None, value: str | None) -> str | None:
    """A header's value as tables show it: no passcode, nor one that Artemis spells out up to the LF, a 10."""
    if name and name.strip().lower() == "passcode" and value is not None:
        return "***"
    return value and SPELLED.sub(lambda found: found[1] + "***"[: len(found[2])], value)


def summary(session: Session, seen: Observed, stream: str) -> Iterator[str]:
    """Version, outcome, negotiated heart-beats and end of the session."""
    [row] = seen.rows("sessions", stream)
    said = session.summary
    names = ["end_kind", "ended_by"]
    if said["outcome"] == "connected":
        names += ["outcome", "version", "heartbeat_c2s_ms", "heartbeat_s2c_ms"]
    elif not said["midstream"]:  # what begins before the capture may still show its CONNECTED
        names.append("outcome")
    for name in names:
        wanted, found = said[name], row[name]
        if wanted != found:
            yield f"{name} is {found!r}, logged {wanted!r}"


DELIVERY = ("message_id", "ack_id", "subscription", "destination", "ack_mode", "status", "settlement", "settled_by", "transaction",
            "transaction_outcome")


def deliveries(session: Session, seen: Observed, stream: str) -> Iterator[str]:
    """Every MESSAGE, and how and when it was settled."""
    rows = {row["stream_offset"]: row for row in seen.rows("deliveries", stream)}
    for said in session.logged["delivery"]:
        if not said["captured"]:
            continue
        row = rows.pop(said["stream_offset"] - session.shift("s2c"), None)
        if row is None:
            yield f"MESSAGE at {said['stream_offset']} is missing"
            continue
        for name in DELIVERY:
            if (name == "ack_mode" and row[name] is None and session.summary["midstream"]) or _beyond_the_rules(session, said, name):
                continue
            unsure = row["status"] == "unknown" and session.summary["midstream"]
            if unsure and (name == "status" or row[name] is None):
                continue  # its SUBSCRIBE was not captured: it may have asked for no ACK, or for cumulative ones
            if said[name] != row[name]:
                yield f"MESSAGE at {said['stream_offset']}: {name} is {row[name]!r}, logged {said[name]!r}"
        if said["settled_clock_ns"] is not None and row["ack_latency_us"] is not None:
            yield from _latency(said, row)
    for offset in rows:
        yield f"MESSAGE at {offset} was never logged"


def _beyond_the_rules(session: Session, said: Row, name: str) -> bool:
    """Whether a broker's own habits decide: RabbitMQ settles 1.1's ACK without the right subscription; odd modes are anyone's."""
    planted = {row["rule_id"] for row in session.logged["violation"]}
    lax = session.summary["broker"] == "rabbitmq" and planted & {"AK-02", "AK-05"}
    odd = said["ack_mode"] not in (*ACK_MODES, None)
    return name in ("status", "settlement", "settled_by") and bool(lax or odd)


def _latency(said: Row, row: Row) -> Iterator[str]:
    """The capture sees the MESSAGE before the client does and the ACK after the client sent it."""
    logged = said["settled_clock_ns"] - said["delivered_clock_ns"]
    found = row["ack_latency_us"] * 1000
    if not logged - 20_000 <= found <= logged + SLACK_NS:
        yield f"MESSAGE at {said['stream_offset']}: latency {found} ns, logged {logged} ns"
    if said["delay_ms"] is not None and found < said["delay_ms"] * 1_000_000 - 1_000_000:
        yield f"MESSAGE at {said['stream_offset']}: latency {found} ns, planted {said['delay_ms']} ms"


def transactions(session: Session, seen: Observed, stream: str) -> Iterator[str]:
    """Every BEGIN and what became of it."""
    rows = {row["begin_offset"]: row for row in seen.rows("transactions", stream)}
    shift = session.shift("c2s")
    for said in session.logged["transaction"]:
        if said["begin_offset"] < shift:
            continue
        row = rows.pop(said["begin_offset"] - shift, None)
        if row is None:
            yield f"BEGIN at {said['begin_offset']} is missing"
            continue
        for name in ("transaction", "outcome", "sends", "acks", "nacks", "body_octets"):
            if said[name] != row[name]:
                yield f"BEGIN {said['transaction']}: {name} is {row[name]!r}, logged {said[name]!r}"
    if not {row["rule_id"] for row in session.logged["violation"]} & {"TX-01", "TX-03"}:  # such a BEGIN is no transaction to its client
        for offset in rows:
            yield f"BEGIN at {offset} was never logged"


def receipts(session: Session, seen: Observed, stream: str) -> Iterator[str]:
    """Every receipt asked for and its answer."""
    rows = {row["request_offset"]: row for row in seen.rows("receipts", stream)}
    shift = session.shift("c2s")
    for said in session.logged["receipt"]:
        if not said["captured"] or said["request_offset"] < shift or said["command"] in ("CONNECT", "STOMP"):
            continue
        row = rows.pop(said["request_offset"] - shift, None)
        if row is None:
            yield f"receipt {said['receipt']} is missing"
            continue
        for name in ("command", "receipt", "status", "answer"):
            if said[name] != row[name]:
                yield f"receipt {said['receipt']}: {name} is {row[name]!r}, logged {said[name]!r}"
    for offset, row in rows.items():
        yield f"receipt {row['receipt']} at {offset} was never logged"


def heartbeats(session: Session, seen: Observed, stream: str) -> Iterator[str]:
    """Each judged direction is at least as bad as planted, its longest gap what the client's clock measured, its verdict that gap's."""
    rank = ("not_evaluable", "ok", "late", "violation", "dead")
    rows = {row["direction"]: row for row in seen.rows("heartbeats", stream)}
    for said in session.logged["heartbeat"]:
        row = rows.get(said["direction"])
        if row is None:
            if not session.summary["midstream"]:
                yield f"{said['direction']}: no row"
            continue
        if row["interval_ms"] != said["interval_ms"]:
            yield f"{said['direction']}: interval {row['interval_ms']}, logged {said['interval_ms']}"
        if said["planted"] is not None and rank.index(row["verdict"]) < rank.index(said["planted"]):
            yield f"{said['direction']}: {row['verdict']} (max gap {row['max_gap_ms']} ms), planted {said['planted']}"
        if session.summary["midstream"]:
            continue  # the client measured what was not captured too
        if abs(row["max_gap_ms"] - said["measured_max_gap_ms"]) > SLACK_NS / 1e6:
            yield f"{said['direction']}: max gap {row['max_gap_ms']} ms, measured {said['measured_max_gap_ms']} ms"
        if row["verdict"] not in {severity((row["max_gap_ms"] + part) / row["interval_ms"]) for part in (0, 0.999)}:
            yield f"{said['direction']}: {row['verdict']} for a max gap of {row['max_gap_ms']} ms in {row['interval_ms']}"


def findings(session: Session, seen: Observed, stream: str) -> Iterator[str]:
    """Every planted violation whose rule is in the catalogue is found where it was planted, unless the capture cannot tell."""
    from stompcap.rules import RULES

    known = {rule.id for rule in RULES}
    [closed] = seen.rows("streams", stream)
    found = {
        (row["rule_id"], row["side"], row["direction"], row["stream_offset"]) for row in seen.rows("compliance_findings", stream)
    }
    for said in session.logged["violation"]:
        if said["rule_id"] == "CN-07" and _answered_before(said["stream_offset"], seen, stream):
            continue
        if said["note"] == "cut by FIN" and "F" not in closed["history"]:
            continue  # the server had reset the connection before the client closed it
        offset = said["stream_offset"] - session.shift(said["direction"])
        if said["rule_id"] in known and (said["rule_id"], said["side"], said["direction"], offset) not in found:
            yield f"{said['rule_id']} ({said['note']}) was not found at {said['direction']} {offset}"


def _answered_before(offset: int, seen: Observed, stream: str) -> bool:
    """Whether CONNECTED was on the wire before the client's frame was, though the client had not read it yet."""
    rows = seen.rows("frames", stream)
    answered = [row["last_ns"] for row in rows if row["command"] == "CONNECTED"]
    return any(row["direction"] == "c2s" and row["stream_offset"] == offset and row["first_ns"] > min(answered) for row in rows)


def tiling(session: Session, seen: Observed, stream: str) -> Iterator[str]:
    """Rows of raw_frames meet end to start from 0 to the stream's octets."""
    [row] = seen.rows("streams", stream)
    for direction in ("c2s", "s2c"):
        rows = sorted((r for r in seen.rows("raw_frames", stream) if r["direction"] == direction), key=lambda r: int(r["stream_offset"]))
        end = 0
        for piece in rows:
            if piece["stream_offset"] != end:
                yield f"{direction}: a row begins at {piece['stream_offset']}, not at {end}"
            if piece["raw"] is not None and len(piece["raw"]) != piece["length_octets"]:
                yield f"{direction} {piece['stream_offset']}: {len(piece['raw'])} octets, not {piece['length_octets']}"
            end = piece["stream_offset"] + piece["length_octets"]
        if end != row[f"octets_{direction}"]:
            yield f"{direction}: rows end at {end}, the stream at {row[f'octets_{direction}']}"


CHECKS = (frames, summary, deliveries, transactions, receipts, heartbeats, findings, tiling)


# What a client cannot know when both sides close at once: it has stopped reading, or its own FIN crosses the server's.
RACES = ("ended_by is", "end_kind is", "was never logged", "logged 'unanswered'", "answer is 'RECEIPT', logged None",
         "answer is 'ERROR', logged None")  # fmt: skip


def by_a_race(difference: str) -> bool:
    """Whether a difference may come from what crossed on the wire at the very end."""
    return any(race in difference for race in RACES)


def differences(session: Session, seen: Observed) -> list[str]:
    """All differences of one session, each with its session's name."""
    stream = seen.stream_of(session)
    return [f"{session.name}: {line}" for check in CHECKS for line in check(session, seen, stream)]
