"""The checks of single rows that compare their columns, as data: times, durations, counts and words of one row agree with each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from stompcap.columns import I64, Bools
from stompcap.quality.invariants import Condition, where
from stompcap.quality.sums import Rows
from stompcap.tables import TABLES
from stompcap.tables.carriers import ORIGINS
from stompcap.tables.words import DIRECTIONS

HOUR_US = 3600 * 10**6


@dataclass(frozen=True)
class RowRule:
    """A check of every row of a table: which of some rows break it; `fault` is what is wrong with these."""

    table: str
    column: str
    expectation: str
    fault: str
    columns: tuple[str, ...]
    broken: Callable[[Rows], Bools]

    @property
    def label(self) -> str:
        """Its name among the checks of its table."""
        return f"{self.column} {self.expectation}"


def _difference(table: str, column: str, end: str, begin: str, unit_ns: int) -> RowRule:
    """A duration is the difference of two times, rounded down."""

    def broken(rows: Rows) -> Any:
        there = ~(rows.null(column) | rows.null(begin) | rows.null(end))
        return there & (rows.numbers(column) != (rows.numbers(end) - rows.numbers(begin)) // unit_ns)

    name = f"expect_column_values_to_be_{end}_less_{begin}"
    return RowRule(table, column, name, f"not {end} - {begin}", (column, end, begin), broken)


def _instant(table: str, column: str, of: str) -> RowRule:
    """A timestamp is a time in nanoseconds, in microseconds."""

    def broken(rows: Rows) -> Any:
        null, other = rows.null(column), rows.null(of)
        return (null != other) | (~null & ~other & (rows.numbers(column) != rows.numbers(of) // 1000))

    return RowRule(table, column, f"expect_column_values_to_be_{of}_in_microseconds", f"not {of} in microseconds", (column, of), broken)


def _implies(table: str, column: str, name: str, fault: str, given: Condition, *then: Condition) -> RowRule:
    """Where one condition holds, all the others do."""

    def broken(rows: Rows) -> Any:
        return rows.meet(given) & ~np.logical_and.reduce([rows.meet(condition) for condition in then])

    columns = tuple(dict.fromkeys((column, given.column, *(condition.column for condition in then))))
    return RowRule(table, column, name, fault, columns, broken)


def _only_where(table: str, column: str, fault: str, given: Condition) -> RowRule:
    """A column is null unless a condition holds."""
    return _implies(table, column, f"expect_column_values_to_be_null_unless_{given.column}", fault, Condition(column), given)


def _sum(table: str, column: str, parts: tuple[str, ...]) -> RowRule:
    """A number is the sum of others."""

    def broken(rows: Rows) -> Any:
        return rows.numbers(column) != rows.total(parts)

    name = f"expect_column_values_to_be_sum_of_{'_'.join(parts)}"
    return RowRule(table, column, name, f"not {' + '.join(parts)}", (column, *parts), broken)


def _packets(rows: Rows) -> Any:
    """Where the packets that were used and those left out, by reason, do not add up."""
    skipped = rows.column("skipped").to_pylist()
    left = np.array([sum(count or 0 for _, count in one or ()) for one in skipped], np.int64)
    there = ~(rows.null("packets") | rows.null("tcp_segments"))
    return there & (rows.numbers("packets") != rows.numbers("tcp_segments") + left)


def _rate(rows: Rows) -> Any:
    failed, judged = rows.numbers("failed"), rows.total(("passed", "failed"))
    rate = _reals(rows, "failure_rate")
    rate = np.nan_to_num(rate, posinf=2.0, nan=-1.0)
    return np.where(judged > 0, ~(np.abs(rate * judged - failed) < 1e-6 * np.maximum(judged, 1)), rate != -1)


def _ratio(rows: Rows) -> Any:
    ratio, gap, interval = _reals(rows, "ratio"), rows.numbers("gap_ms"), rows.numbers("interval_ms")
    return (interval > 0) & ~np.isnan(ratio) & (np.abs(ratio * interval - gap) > 1)


def _reals(rows: Rows, name: str) -> Any:
    return pc.fill_null(rows.column(name), float("nan")).to_numpy()


def _hours(rows: Rows) -> Any:
    wrong: Bools = rows.numbers("hour_ts") % HOUR_US != 0
    return wrong


def _positive(table: str, column: str) -> RowRule:
    def broken(rows: Rows) -> Any:
        return rows.numbers(column) < 1

    return RowRule(table, column, "expect_column_values_to_be_positive", "not above 0", (column,), broken)


def _effective(rows: Rows) -> Any:
    """Where effective_ns is not sent_ns outside of transactions, or is there though the transaction was not committed."""
    inside, there = ~rows.null("transaction"), ~rows.null("effective_ns")
    other = (rows.null("sent_ns") == there) | (there & (rows.numbers("effective_ns") != rows.numbers("sent_ns")))
    return np.where(inside, there & ~rows.meet(where("transaction_outcome", "committed")), other)


def _verdict(rows: Rows) -> Any:
    counts: dict[str, I64] = {name: rows.numbers(name) for name in ("late", "violations", "dead")}
    worst = {"dead": counts["dead"] > 0, "violation": counts["violations"] > 0, "late": counts["late"] > 0}
    wrong = [rows.meet(where("verdict", word)) & ~there for word, there in worst.items()]
    return np.logical_or.reduce(wrong)


ROW_RULES: tuple[RowRule, ...] = (
    *(_instant(table.name, column.name, of) for table in TABLES.values() for column in table.columns
      if column.name.endswith("_ts") and (of := "ts_ns" if column.name == "found_ts" else f"{column.name[:-3]}_ns") in table.arrow.names),
    RowRule("captures", "packets", "expect_packets_to_add_up", "not tcp_segments and all of skipped",
            ("packets", "tcp_segments", "skipped"), _packets),
    _only_where("captures", "damage", "there of a complete capture", where("status", "complete", negated=True)),
    _implies("captures", "damage", "expect_damage_to_be_told", "null of a capture that is not complete",
             where("status", "complete", negated=True), Condition("damage")),
    _only_where("streams", "rst_ns", "there without rst_by", Condition("rst_by")),
    _implies("streams", "rst_by", "expect_resets_to_have_a_side", "null of a connection that was reset", where("close_kind", "rst"),
             Condition("rst_by")),
    *(_only_where("streams", f"fin_ns_{way}", "there though the connection is open", where("close_kind", "open", negated=True))
      for way in DIRECTIONS),
    _only_where("streams", "origin_ip", "there without a header that names it", where("origin_source", *ORIGINS)),
    _only_where("streams", "closed_by", "there though the connection is open", where("close_kind", "open", negated=True)),
    _implies("raw_frames", "delimited_by", "expect_frames_to_be_delimited", "null of a frame", where("kind", "frame"),
             Condition("delimited_by")),
    _only_where("raw_frames", "delimited_by", "there of what is no frame", where("kind", "frame")),
    _only_where("raw_frames", "first_ns", "there of a gap", where("kind", "gap", negated=True)),
    _positive("segments", "new_octets"),
    _only_where("sessions", "ended_by", "there though the session is open", where("end_kind", "open", negated=True)),
    _implies("sessions", "ended_by", "expect_clients_to_disconnect", "not client though by DISCONNECT", where("end_kind", "disconnect"),
             where("ended_by", "client")),
    _only_where("sessions", "connect_latency_us", "there without a CONNECT", Condition("connect_command")),
    _only_where("sessions", "version", "there though version_source is unknown", where("version_source", "unknown", negated=True)),
    _only_where("subscriptions", "unsubscribed_ns", "there of a subscription that is not unsubscribed", where("status", "unsubscribed")),
    _only_where("sessions", "closed_ns", "there though the session is open", where("end_kind", "open", negated=True)),
    _implies("subscriptions", "max_in_flight", "expect_deliveries_in_flight_where_settled", "0 though deliveries were settled",
             Condition("acked", least=1), Condition("max_in_flight", least=1)),
    _difference("deliveries", "ack_latency_us", "settled_ns", "delivered_ns", 1000),
    _implies("deliveries", "settle_offset", "expect_settling_frames_where_settled", "null of a settled delivery",
             where("status", "settled"), Condition("settle_offset"), Condition("settlement"), Condition("settled_by")),
    _only_where("deliveries", "settlement", "there of a delivery that nothing settled", where("status", "settled", "voided", "unknown")),
    _only_where("deliveries", "settled_ns", "there of a delivery that nothing settled", where("status", "settled", "voided", "unknown")),
    _only_where("deliveries", "ack_latency_us", "there without settled_ns", Condition("settled_ns")),
    _only_where("deliveries", "commit_latency_us", "there without a commit", where("transaction_outcome", "committed")),
    _only_where("deliveries", "settled_by", "there without settlement", Condition("settlement")),
    _only_where("deliveries", "transaction", "there without a settling frame", Condition("settle_offset")),
    _only_where("deliveries", "transaction_outcome", "there without transaction", Condition("transaction")),
    _only_where("deliveries", "octets_missing", "there without a settling frame", Condition("settle_offset")),
    _only_where("transactions", "ended_ns", "there though the transaction is open", where("outcome", "open", negated=True)),
    _difference("transactions", "duration_us", "ended_ns", "begun_ns", 1000),
    _difference("receipts", "latency_us", "answered_ns", "requested_ns", 1000),
    _implies("receipts", "answer", "expect_receipts_where_answered", "not RECEIPT of an answered request", where("status", "answered"),
             where("answer", "RECEIPT")),
    _implies("receipts", "answer", "expect_errors_where_refused", "not ERROR of a refused request", where("status", "refused"),
             where("answer", "ERROR")),
    _only_where("receipts", "answer", "there of a request without an answer", where("status", "answered", "refused")),
    _only_where("receipts", "answered_ns", "there of a request without an answer", where("status", "answered", "refused")),
    _only_where("sends", "transaction_outcome", "there without transaction", Condition("transaction")),
    RowRule("sends", "effective_ns", "expect_effective_ns_by_transactions", "not sent_ns, or there though nothing was committed",
            ("effective_ns", "sent_ns", "transaction", "transaction_outcome"), _effective),
    _only_where("sends", "receipt_status", "there without receipt", Condition("receipt")),
    _implies("sends", "receipt_status", "expect_a_status_of_receipts", "null though a receipt was asked for", Condition("receipt"),
             Condition("receipt_status")),
    _only_where("sends", "receipt_us", "there of a request without an answer", where("receipt_status", "answered", "refused")),
    *(_only_where(table, "content_hash", "there without body_hash", Condition("body_hash")) for table in ("frames", "deliveries", "sends")),
    _only_where("deliveries", "producer_number", "there without producer_session", Condition("producer_session")),
    RowRule("ack_latency", "hour_ts", "expect_whole_hours", "no whole hour", ("hour_ts",), _hours),
    _sum("ack_latency", "deliveries", ("settled", "unsettled", "unknown")),
    _difference("journeys", "residence_us", "message_ns", "effective_ns", 1000),
    _implies("journeys", "send_stream_id", "expect_sends_where_joined", "null of a journey",
             where("joined_by", "identity", "unique", "ordered"), Condition("send_stream_id"),
             Condition("send_offset"), Condition("message_stream_id")),
    _implies("journeys", "reason", "expect_reasons_where_not_joined", "null of what is not joined",
             where("joined_by", "ambiguous", "none"), Condition("reason")),
    _only_where("journeys", "reason", "there of a journey", where("joined_by", "ambiguous", "none")),
    _only_where("journeys", "copy", "there of what is not joined", Condition("send_stream_id")),
    RowRule("heartbeats", "verdict", "expect_verdict_to_have_gaps", "worse than its gaps",
            ("verdict", "late", "violations", "dead"), _verdict),
    _difference("heartbeat_violations", "gap_ms", "gap_end_ns", "gap_start_ns", 10**6),
    RowRule("heartbeat_violations", "ratio", "expect_ratio_of_gap_and_interval", "not gap_ms / interval_ms",
            ("ratio", "gap_ms", "interval_ms"), _ratio),
    _sum("compliance_summary", "applicable", ("passed", "failed", "not_evaluable")),
    RowRule("compliance_summary", "failure_rate", "expect_rate_of_failures", "not failed / (passed + failed)",
            ("failure_rate", "passed", "failed"), _rate),
)  # fmt: skip

BY_TABLE: dict[str, tuple[RowRule, ...]] = {name: tuple(one for one in ROW_RULES if one.table == name) for name in TABLES}
