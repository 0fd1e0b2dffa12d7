"""The checks across tables, as data: what the rows of several tables add up to for one stream, capture or name must agree.

They say of sums and bounds what `invariants` says of points, and cost no query either: each data file is added up once (`ledgers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stompcap.columns import I64, Bools
from stompcap.quality.ledgers import EMPTY, LEAST, MOST
from stompcap.quality.quantities import OF_STREAMS, WAYS

Values = Mapping[str, I64]
UNMEASURED = (
    "sessions.unmeasured_connect", "deliveries.unmeasured_acks", "deliveries.unmeasured_commits", "receipts.unmeasured",
    "transactions.unmeasured",
)
OF_SESSIONS = ("heartbeats", "compliance")


@dataclass(frozen=True)
class Balance:
    """A check of each key of a ledger: `broken` says of which keys the quantities that it `uses` do not agree.

    `table` is the one at fault, `name` the expectation, `statement` what has to hold, of `things`.
    """

    ledger: str
    table: str
    name: str
    statement: str
    uses: tuple[str, ...]
    broken: Callable[[Values], Bools]

    @property
    def things(self) -> str:
        """What its keys are."""
        return {"streams": "streams", "captures": "captures", "batches": "batches"}.get(self.ledger, "names")


def _exist(ledger: str, table: str, name: str, owner: str, statement: str, rows: str = "rows") -> Balance:
    """The rows of a table have the row of another that they belong to."""
    mine, theirs = f"{table}.{rows}", f"{owner}.rows"
    return Balance(ledger, table, name, statement, (mine, theirs), lambda of: (of[mine] > 0) & (of[theirs] == 0))


def _equal(table: str, name: str, statement: str, *pairs: tuple[str, str], given: Sequence[str] = ()) -> Balance:
    """Of each stream some quantities are equal; `given`: where none of these is 0."""
    uses = (*(part for pair in pairs for part in pair), *given)

    def broken(of: Values) -> Any:
        wrong = np.logical_or.reduce([of[one] != of[other] for one, other in pairs])
        return np.logical_and.reduce([wrong, *(of[one] != 0 for one in given)])

    return Balance("streams", table, name, statement, uses, broken)


def _inside(ledger: str, table: str, name: str, statement: str, bounds: str, *times: str) -> Balance:
    """Times lie between the first and the last of a stream or capture, where it has times at all."""
    first, last = f"{bounds}.first", f"{bounds}.last"

    def broken(of: Values) -> Any:
        wrong = [(of[one] != EMPTY[LEAST]) & (of[one] != EMPTY[MOST]) & ((of[one] < of[first]) | (of[one] > of[last])) for one in times]
        return np.logical_or.reduce(wrong) & (of[first] != EMPTY[LEAST])

    return Balance(ledger, table, name, statement, (first, last, *times), broken)


MISSING = ("missing", "inner_gap")


def _held(of: Values) -> Any:
    """Streams whose session was seen from its beginning, without a gap."""
    return (of["sessions.complete_start"] > 0) & (of["sessions.gap_octets"] == 0) & (of["sessions.given_up"] == 0)


def _missing(of: Values, way: str) -> Any:
    """Octets of a STOMP stream that are missing, or that its layers could not read."""
    return of[f"streams.missing_{way}"] + of[f"streams.inner_gap_{way}"]


def _segments(of: Values) -> Any:
    wrong = [of[f"segments.new_octets_{way}"] != of[f"streams.octets_{way}"] - _missing(of, way) for way in WAYS]
    more = [of[f"segments.rows_{way}"] > of[f"streams.segments_{way}"] for way in WAYS]
    return np.logical_or.reduce(wrong + more) & (of["streams.stomp"] > 0)


def _gaps(of: Values) -> Any:
    wrong = np.logical_or.reduce([of[f"raw_frames.gap_{way}"] != _missing(of, way) for way in WAYS])
    return wrong & (of["streams.stomp"] > 0) & (of["raw_frames.rows"] > 0)


def _intervals(of: Values) -> Any:
    return np.logical_or.reduce([of[f"heartbeats.interval_{way}"] != of[f"sessions.heartbeat_{way}_ms"] for way in WAYS])


def _delivered(of: Values) -> Any:
    told = of["compliance.MS-04_passed"] == of["frames.messages"]
    return told & _held(of) & (of["subscriptions.delivered"] != of["deliveries.subscribed"])


def _within_transactions(of: Values) -> Any:
    sends = (of["compliance.SN-02_passed"] == of["frames.sends_in"]) & (
        (of["transactions.sends"] != of["frames.sends_in"]) | (of["transactions.body_octets"] != of["frames.bodies_in"])
    )
    answers = of["transactions.acks"] + of["transactions.nacks"]
    return sends | ((of["compliance.TX-05_passed"] == of["frames.answers_in"]) & (answers != of["frames.answers_in"]))


def _opened(of: Values) -> Any:
    wrong = [of[f"compliance.opened_{which}"] != of["sessions.opened_ts"] for which in ("first", "last")]
    return np.logical_or.reduce(wrong) & (of["compliance.opened_first"] != EMPTY[LEAST]) & (of["sessions.rows"] > 0)


def _batch(of: Values) -> Any:
    return (of["captures.rows"] > 0) & (of["batches.rows"] > 0) & (of["captures.rows"] != of["batches.captures"])


def _subscription(of: Values) -> Any:
    more = [of[f"subscriptions.{name}"] > of[f"deliveries.{name}"] for name in ("delivered", "acked", "nacked", "unsettled")]
    parts = [of[f"subscriptions.{name}"] != of[f"deliveries.{name}"] for name in ("acked", "nacked", "unsettled")]
    same = of["subscriptions.delivered"] == of["deliveries.delivered"]
    return (of["subscriptions.rows"] > 0) & np.logical_or.reduce([*more, *(part & same for part in parts)])


def _unmeasured(of: Values) -> Any:
    counted = [of[name] for name in UNMEASURED]
    return (of["sessions.rows"] > 0) & (of["sessions.unmeasured"] != sum(counted))


def _in_flight(of: Values) -> Any:
    return (of["subscriptions.rows"] > 0) & (of["subscriptions.max_in_flight"] > of["deliveries.asking"])


def _transaction(of: Values) -> Any:
    more = [of[f"transactions.{name}"] > of[f"frames.{name}"] for name in ("sends", "acks", "nacks", "body_octets")]
    bodies = (of["transactions.sends"] == of["frames.sends"]) & (of["transactions.body_octets"] != of["frames.body_octets"])
    return (of["transactions.rows"] > 0) & np.logical_or.reduce([*more, bodies])


BALANCES: tuple[Balance, ...] = (
    *(_exist("streams", table, "expect_rows_to_belong_to_streams", "streams", "Every row belongs to a row of streams")
      for table in OF_STREAMS),
    *(_exist("streams", table, "expect_rows_to_belong_to_sessions", "sessions", "Every row belongs to a row of sessions")
      for table in OF_SESSIONS),
    *(_exist("captures", table, "expect_first_packets_to_be_of_captures", "captures", "Every capture of a packet is in captures", "of")
      for table in ("segments", "raw_frames", "frames")),
    *(_exist("captures", table, "expect_last_packets_to_be_of_captures", "captures", "Every capture of a last packet is in captures",
             "ended") for table in ("raw_frames", "frames")),
    Balance("batches", "captures", "expect_batches_to_be_whole", "A batch that is in captures has all its captures there",
            ("captures.rows", "batches.rows", "batches.captures"), _batch),
    _equal("sessions", "expect_sessions_to_match_streams",
           "Endpoints, transport, first and last packet of a session are those of its stream",
           ("sessions.endpoints", "streams.endpoints"), ("sessions.opened_ns", "streams.first_ns"), ("sessions.last_ns", "streams.last_ns"),
           given=("sessions.rows", "streams.rows")),
    _equal("sessions", "expect_complete_ends_to_match_streams",
           "complete_start and complete_end of a session are whether its stream's handshake and end were captured",
           ("sessions.complete_start", "streams.handshakes"), ("sessions.complete_end", "streams.closed"),
           given=("sessions.rows", "streams.rows")),
    Balance("streams", "sessions", "expect_gap_octets_to_match_streams", "gap_octets of a session are those of both directions",
            ("sessions.gap_octets", "sessions.rows", "streams.stomp", *(f"streams.{name}_{way}" for way in WAYS for name in MISSING)),
            lambda of: (of["streams.stomp"] > 0) & (of["sessions.rows"] > 0) & (
                of["sessions.gap_octets"] != sum(_missing(of, way) for way in WAYS))),
    Balance("streams", "segments", "expect_segments_to_bring_octets",
            "The new bytes of a STOMP stream's segments are those of the stream, without those missing",
            ("streams.stomp", *(f"{part}_{way}" for way in WAYS for part in (
                "segments.new_octets", "segments.rows", "streams.octets", "streams.segments", *(f"streams.{name}" for name in MISSING)))),
            _segments),
    Balance("streams", "raw_frames", "expect_gaps_to_match_streams",
            "The gaps of a stream are as long as streams.gap_octets says, or inner_gap_octets inside other layers",
            ("streams.stomp", "raw_frames.rows", *(f"{name}_{way}" for way in WAYS for name in (
                "raw_frames.gap", *(f"streams.{one}" for one in MISSING)))),
            _gaps),
    _inside("streams", "raw_frames", "expect_times_within_streams", "A row's times are those of packets of its stream",
            "streams", "raw_frames.first", "raw_frames.last"),
    _inside("streams", "segments", "expect_times_within_streams",
            "A segment's time is between those of the first and last packet of its stream",
            "streams", "segments.first", "segments.last"),
    _inside("streams", "deliveries", "expect_settled_ns_within_streams",
            "settled_ns is between those of the first and last packet of the stream",
            "streams", "deliveries.first", "deliveries.last"),
    _inside("captures", "segments", "expect_times_within_captures",
            "A segment's time is between those of the first and last packet of its capture",
            "captures", "segments.first", "segments.last"),
    *(_inside("captures", table, "expect_times_within_captures",
            "A row's times are between those of the first and last packet of their captures",
              "captures", *(f"{table}.{name}" for name in ("first", "begins", "ends", "last"))) for table in ("raw_frames", "frames")),
    _equal("frames", "expect_frames_to_be_as_raw_frames", "Times and lengths of a stream's frames are those of its raw frames",
           *((f"frames.{name}", f"raw_frames.frames_{name}") for name in ("first_ns", "last_ns", "length_octets"))),
    _equal("deliveries", "expect_deliveries_to_be_as_messages",
            "delivered_ns is the last byte of the MESSAGE, body_octets are those of its body",
           ("deliveries.delivered_ns", "frames.messages_last_ns"), ("deliveries.body_octets", "frames.messages_body_octets")),
    _equal("sends", "expect_sends_to_be_as_frames",
           "A stream that has sends has one for each SEND: first_ns and sent_ns are its first and last byte, lengths are its own",
           ("sends.rows", "frames.sends"), ("sends.first_ns", "frames.sends_first_ns"), ("sends.sent_ns", "frames.sends_last_ns"),
           *((f"sends.{name}", f"frames.sends_{name}") for name in ("length_octets", "body_octets")), given=("sends.rows",)),
    _equal("receipts", "expect_requested_ns_to_be_of_requests", "requested_ns is the first byte of the frame that asks for the receipt",
           ("receipts.requested_ns", "frames.asked_ns")),
    _equal("subscriptions", "expect_subscribed_ns_to_be_of_subscribes", "subscribed_ns is the first byte of the SUBSCRIBE",
           ("subscriptions.subscribed_ns", "frames.subscribe_ns")),
    _equal("transactions", "expect_begun_ns_to_be_of_begins", "begun_ns is the first byte of the BEGIN",
           ("transactions.begun_ns", "frames.begin_ns")),
    Balance("streams", "deliveries", "expect_settled_ns_where_settled",
            "A settled delivery has settled_ns, unless frames of its stream have no time",
            ("deliveries.settled", "deliveries.settled_timed", "frames.rows", "frames.timed"),
            lambda of: (of["deliveries.settled"] > of["deliveries.settled_timed"]) & (of["frames.rows"] == of["frames.timed"])),
    Balance("subscriptions", "subscriptions", "expect_subscriptions_to_count_deliveries",
            "delivered, acked, nacked and unsettled of a subscription are those of its deliveries",
            ("subscriptions.rows", *(f"{table}.{name}" for table in ("subscriptions", "deliveries")
                                     for name in ("delivered", "acked", "nacked", "unsettled"))), _subscription),
    Balance("subscriptions", "subscriptions", "expect_deliveries_in_flight_to_ask_for_an_ack",
            "No more deliveries of a subscription were in flight than ask for an ACK",
            ("subscriptions.rows", "subscriptions.max_in_flight", "deliveries.asking"), _in_flight),
    Balance("streams", "sessions", "expect_unmeasured_to_count_durations",
            "unmeasured of a session is the number of its latencies and durations that are null though both their frames are there",
            ("sessions.rows", "sessions.unmeasured", *UNMEASURED), _unmeasured),
    Balance("streams", "subscriptions", "expect_subscriptions_to_count_all_deliveries",
            "Where a session was captured without a gap and every MESSAGE passed MS-04, its subscriptions count all deliveries",
            ("compliance.MS-04_passed", "frames.messages", "sessions.complete_start", "sessions.gap_octets", "sessions.given_up",
             "subscriptions.delivered", "deliveries.subscribed"), _delivered),
    Balance("transactions", "transactions", "expect_transactions_to_count_frames",
            "sends, acks, nacks and body_octets of a transaction are those of frames that name it",
            ("transactions.rows", *(f"{table}.{name}" for table in ("transactions", "frames")
                                    for name in ("sends", "acks", "nacks", "body_octets"))), _transaction),
    Balance("streams", "transactions", "expect_transactions_to_count_all_frames",
            "Where every SEND, ACK and NACK in a transaction passed SN-02 and TX-05, the stream's transactions count them all",
            ("compliance.SN-02_passed", "compliance.TX-05_passed", "frames.sends_in", "frames.answers_in", "frames.bodies_in",
             *(f"transactions.{name}" for name in ("sends", "acks", "nacks", "body_octets"))), _within_transactions),
    Balance("streams", "heartbeats", "expect_heartbeats_for_negotiated_intervals",
            "Every direction with a negotiated interval is in heartbeats, with the interval that sessions has",
            tuple(f"{part}" for way in WAYS for part in (f"heartbeats.interval_{way}", f"sessions.heartbeat_{way}_ms")), _intervals),
    _equal("heartbeats", "expect_heartbeats_to_count_severities",
            "late, violations and dead are the rows of heartbeat_violations of that severity",
           *((f"heartbeats.{name}", f"heartbeat_violations.{name}") for name in ("late", "violations", "dead"))),
    Balance("streams", "heartbeat_violations", "expect_gaps_up_to_the_longest", "No gap is longer than max_gap_ms",
            ("heartbeats.rows", "heartbeats.max_gap_ms", "heartbeat_violations.gap_ms"),
            lambda of: (of["heartbeats.rows"] > 0) & (of["heartbeat_violations.gap_ms"] > of["heartbeats.max_gap_ms"])),
    Balance("streams", "compliance", "expect_opened_ts_to_be_of_sessions", "opened_ts is that of the session",
            ("sessions.rows", "sessions.opened_ts", "compliance.opened_first", "compliance.opened_last"), _opened),
)  # fmt: skip


def among(tables: Sequence[str]) -> tuple[Balance, ...]:
    """The checks that read these tables only."""
    return tuple(one for one in BALANCES if {use.partition(".")[0] for use in one.uses} <= set(tables))
