"""What the ledgers add up: of each table what its rows come to for a stream, a capture, a batch, or a name on a stream."""

from __future__ import annotations

from stompcap.quality.invariants import ASKS, CLIENTS, SERVERS, Condition, where
from stompcap.quality.ledgers import LEAST, MOST, SUM, Quantity

WAYS = (CLIENTS, SERVERS)
STREAM, SUBSCRIPTION, TRANSACTION = ("stream_id",), ("stream_id", "subscription"), ("stream_id", "transaction")
CAPTURE, BATCH = "capture_id", ("batch_id",)
Part = tuple[str, tuple[str, ...], str, tuple[Condition, ...]]


STOMP, TCP, SEND = where("protocol", "stomp"), where("transport", "tcp"), where("command", "SEND")
FROM_CLIENT, MESSAGES = where("direction", CLIENTS), (where("direction", SERVERS), where("command", "MESSAGE"))
ANSWERS, SETTLED = where("command", "ACK", "NACK"), where("status", "settled")
OPEN = where("status", "unsettled", "open", "voided")
NO_CONNECT_LATENCY, NO_ACK_LATENCY, NO_COMMIT_LATENCY, NO_LATENCY, NO_DURATION = (
    Condition(name, null=True) for name in ("connect_latency_us", "ack_latency_us", "commit_latency_us", "latency_us", "duration_us")
)
OF_STREAMS = (
    "raw_frames", "frames", "segments", "stalls", "transports", "transport_events", "sessions", "subscriptions", "deliveries",
    "transactions", "receipts", "sends", "heartbeats", "heartbeat_violations", "compliance", "compliance_findings",
)
"""The tables whose rows belong to a stream."""

ENDPOINTS = ("client_ip", "client_port", "server_ip", "server_port", "transport")


def _of(table: str, key: tuple[str, ...], *quantities: Part) -> list[Quantity]:
    return [Quantity(f"{table}.{name}", table, key, columns, how, where) for name, columns, how, where in quantities]


def _sum(name: str, *where: Condition, column: str = "") -> Part:
    return name, (column or name,), SUM, where


def _count(name: str, *where: Condition) -> Part:
    return name, (), SUM, where


def _bounds(column: str, last: str = "") -> list[Part]:
    return [("first", (column,), LEAST, ()), ("last", (last or column,), MOST, ())]


STREAMS = (
    *[Quantity(f"{table}.rows", table, STREAM) for table in ("streams", *OF_STREAMS)],
    *_of("streams", STREAM, ("endpoints", ENDPOINTS, SUM, ()), _sum("first_ns"), _sum("last_ns"), *_bounds("first_ns", "last_ns"),
         *(_sum(f"{name}_{way}", STOMP) for way in WAYS for name in ("octets", "segments")),
         *(_sum(f"missing_{way}", STOMP, TCP, column=f"gap_octets_{way}") for way in WAYS),
         *(_sum(f"inner_gap_{way}", STOMP, column=f"inner_gap_octets_{way}") for way in WAYS), _count("stomp", STOMP),
         _count("closed", where("close_kind", "open", negated=True)),
         _count("handshakes", Condition("syn_seen", least=1), Condition("synack_seen", least=1))),
    *_of("sessions", STREAM, ("endpoints", ENDPOINTS, SUM, ()), _sum("opened_ns"), _sum("last_ns"), _sum("gap_octets"),
         _sum("complete_start"), _sum("complete_end"), _sum("given_up"), _sum("unmeasured"),
         _count("unmeasured_connect", where("outcome", "connected"), Condition("connect_command"), NO_CONNECT_LATENCY),
         ("opened_ts", ("opened_ts",), LEAST, ()),
         *(_sum(f"heartbeat_{way}_ms") for way in WAYS)),
    *_of("segments", STREAM, *_bounds("ts_ns"), *(_sum(f"new_octets_{way}", where("direction", way), column="new_octets") for way in WAYS),
         *(_count(f"rows_{way}", where("direction", way)) for way in WAYS)),
    *_of("raw_frames", STREAM, *_bounds("first_ns", "last_ns"),
         *(_sum(f"gap_{way}", where("kind", "gap"), where("direction", way), column="length_octets") for way in WAYS),
         *(_sum(f"frames_{name}", where("kind", "frame"), column=name) for name in ("first_ns", "last_ns", "length_octets"))),
    *_of("frames", STREAM, *(_sum(name) for name in ("first_ns", "last_ns", "length_octets")),
         _sum("messages_last_ns", *MESSAGES, column="last_ns"), _sum("messages_body_octets", *MESSAGES, column="body_octets"),
         _count("sends", FROM_CLIENT, SEND),
         *(_sum(f"sends_{name}", FROM_CLIENT, SEND, column=name) for name in ("first_ns", "last_ns", "length_octets", "body_octets")),
         _sum("asked_ns", *ASKS, column="first_ns"),
         *(_sum(f"{word.lower()}_ns", FROM_CLIENT, where("command", word), column="first_ns") for word in ("SUBSCRIBE", "BEGIN")),
         _count("messages", *MESSAGES), _count("timed", Condition("first_ns")),
         _count("sends_in", FROM_CLIENT, SEND, Condition("transaction")),
         _count("answers_in", FROM_CLIENT, ANSWERS, Condition("transaction")),
         _sum("bodies_in", FROM_CLIENT, SEND, Condition("transaction"), column="body_octets")),
    *_of("sends", STREAM, *(_sum(name) for name in ("first_ns", "sent_ns", "length_octets", "body_octets"))),
    *_of("deliveries", STREAM, _sum("delivered_ns"), _sum("body_octets"), _count("settled", SETTLED),
         _count("settled_timed", SETTLED, Condition("settled_ns")), *_bounds("settled_ns"),
         _count("subscribed", Condition("subscription")),
         _count("unmeasured_acks", Condition("settle_offset"), where("status", "unknown", negated=True), NO_ACK_LATENCY),
         _count("unmeasured_commits", where("transaction_outcome", "committed"), NO_COMMIT_LATENCY)),
    *_of("receipts", STREAM, _sum("requested_ns"), _count("unmeasured", where("status", "answered", "refused"), NO_LATENCY)),
    *_of("subscriptions", STREAM, _sum("subscribed_ns"), _sum("delivered")),
    *_of("transactions", STREAM, _sum("begun_ns"), _sum("sends"), _sum("acks"), _sum("nacks"), _sum("body_octets"),
         _count("unmeasured", where("outcome", "committed", "aborted", "implicitly_aborted"), NO_DURATION)),
    *_of("heartbeats", STREAM, *(_sum(f"interval_{way}", where("direction", way), column="interval_ms") for way in WAYS),
         *(_sum(name) for name in ("late", "violations", "dead")), ("max_gap_ms", ("max_gap_ms",), MOST, ())),
    *_of("heartbeat_violations", STREAM, *(_count(name, where("severity", word)) for name, word in
                                           (("late", "late"), ("violations", "violation"), ("dead", "dead"))),
         ("gap_ms", ("gap_ms",), MOST, ())),
    *_of("compliance", STREAM, *(_sum(f"{rule}_passed", where("rule_id", rule), column="passed")
                                 for rule in ("SN-02", "TX-05", "MS-04")),
         ("opened_first", ("opened_ts",), LEAST, ()), ("opened_last", ("opened_ts",), MOST, ())),
)

CAPTURES = (
    *_of("captures", (CAPTURE,), _count("rows"), ("first", ("first_ns",), LEAST, ()), ("last", ("last_ns",), MOST, ())),
    *_of("segments", (CAPTURE,), _count("of"), *_bounds("ts_ns")),
    *_of("raw_frames", (f"first_{CAPTURE}",), _count("of"), ("first", ("first_ns",), LEAST, ()), ("begins", ("first_ns",), MOST, ())),
    *_of("raw_frames", (f"last_{CAPTURE}",), ("ends", ("last_ns",), LEAST, ()), ("last", ("last_ns",), MOST, ()), _count("ended")),
    *_of("frames", (f"first_{CAPTURE}",), _count("of"), ("first", ("first_ns",), LEAST, ()), ("begins", ("first_ns",), MOST, ())),
    *_of("frames", (f"last_{CAPTURE}",), ("ends", ("last_ns",), LEAST, ()), ("last", ("last_ns",), MOST, ()), _count("ended")),
)

BATCHES = (*_of("captures", BATCH, _count("rows")), *_of("batches", BATCH, _count("rows"), _sum("captures")))
SUBSCRIPTIONS = (
    *_of("subscriptions", SUBSCRIPTION, _count("rows"), *(_sum(name) for name in ("delivered", "acked", "nacked", "unsettled")),
         _sum("max_in_flight")),
    *_of("deliveries", SUBSCRIPTION, _count("delivered"), _count("acked", SETTLED, where("settlement", "ack")),
         _count("nacked", SETTLED, where("settlement", "nack")), _count("unsettled", OPEN),
         _count("asking", where("status", "auto", negated=True))),
)
TRANSACTIONS = (
    *_of("transactions", TRANSACTION, _count("rows"), *(_sum(name) for name in ("sends", "acks", "nacks", "body_octets"))),
    *_of("frames", TRANSACTION, *(_count(f"{word.lower()}s", FROM_CLIENT, where("command", word)) for word in ("SEND", "ACK", "NACK")),
         _sum("body_octets", FROM_CLIENT, SEND)),
)

LEDGERS: dict[str, tuple[Quantity, ...]] = {
    "streams": STREAMS, "captures": CAPTURES, "batches": BATCHES, "subscriptions": SUBSCRIPTIONS, "transactions": TRANSACTIONS,
}  # fmt: skip


def of_table(ledger: str, table: str) -> tuple[Quantity, ...]:
    """The quantities of a ledger that a table has."""
    return tuple(one for one in LEDGERS[ledger] if one.table == table)


def ledgers_of(table: str) -> tuple[str, ...]:
    """The ledgers that a table has quantities of."""
    return tuple(name for name in LEDGERS if of_table(name, table))


def has_streams(table: str) -> bool:
    """Whether a ledger has the streams of a table's rows."""
    return bool(of_table("streams", table))
