"""The invariants that join tables, as data: what to sum per stream direction, and what may not be true of the sums.

A measure sums over the rows of one table; an invariant is a condition, in SQL over those sums, that finds broken directions. The
tables that a proof covers have unique keys wherever it holds (stompcap.quality.facts tells why), so that the keys of the lake's
large tables need no sort.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BOTH = "both"
"""The direction of a row that speaks of both: it counts in each."""


def hashed(offset: str) -> str:
    """SQL: an offset's share in a sum that tells multisets apart; 31 bits, so that sums of billions fit."""
    return f"(xxhash64(CAST({offset} AS BIGINT)) & 2147483647)"


@dataclass(frozen=True)
class Measure:
    """Sums over one table per stream direction: column `{name}_{kind}` for each of `sums`, over the rows that `where` admits."""

    name: str
    table: str
    direction: str
    sums: Mapping[str, str]
    where: str | None = None

    def over(self, sql: str) -> str:
        """SQL: what a row adds to a sum."""
        return sql if self.where is None else f"IF({self.where}, {sql}, 0)"


@dataclass(frozen=True)
class Invariant:
    """A rule over the sums: `broken` is the SQL condition of a direction that breaks it, `shown` the sums that tell how."""

    name: str
    table: str
    needs: tuple[str, ...]
    says: str
    broken: str
    shown: tuple[str, ...]

    @property
    def query(self) -> str:
        """SQL: the directions that break the rule; `{batch}` stands for the sums, as Great Expectations writes it."""
        return f"SELECT stream_id, direction, {', '.join(self.shown)} FROM {{batch}} WHERE {self.broken}"  # noqa: S608 (our own words)


def _set(offset: str) -> dict[str, str]:
    """What tells a set of rows, each named by an offset: how many, and the sum of the offsets' hashes."""
    return {"rows": "1", "starts": hashed(offset)}


def _tiles(offset: str, length: str) -> dict[str, str]:
    """What tells whether intervals meet end to start."""
    return _set(offset) | {
        "octets": length, "ends": hashed(f"{offset} + {length}"), "empty": f"CAST({length} < 1 AS BIGINT)"
    }


CLIENTS, SERVERS = "'c2s'", "'s2c'"
ASKS = "direction = 'c2s' AND receipt IS NOT NULL AND command NOT IN ('CONNECT', 'STOMP')"

MEASURES = (
    Measure("streams", "streams", BOTH, {
        "rows": "1", "octets": "IF(direction = 'c2s', octets_c2s, octets_s2c)", "stomp": "CAST(protocol = 'stomp' AS BIGINT)",
        "end": hashed("IF(direction = 'c2s', octets_c2s, octets_s2c)"),
    }),
    Measure("raw", "raw_frames", "direction", _tiles("stream_offset", "length_octets")),
    Measure("units", "raw_frames", "direction", _set("stream_offset"), "kind = 'frame'"),
    Measure("segments", "segments", "direction", _tiles("stream_offset", "new_octets")),
    Measure("frames", "frames", "direction", _set("stream_offset")),
    Measure("message", "frames", "direction", _set("stream_offset"), "direction = 's2c' AND command = 'MESSAGE'"),
    Measure("begin", "frames", "direction", _set("stream_offset"), "direction = 'c2s' AND command = 'BEGIN'"),
    Measure("subscribe", "frames", "direction", _set("stream_offset"), "direction = 'c2s' AND command = 'SUBSCRIBE'"),
    Measure("asking", "frames", "direction", _set("stream_offset"), ASKS),
    Measure("sessions", "sessions", BOTH, {"rows": "1"}),
    Measure("deliveries", "deliveries", SERVERS, _set("stream_offset")),
    Measure("transactions", "transactions", CLIENTS, _set("begin_offset")),
    Measure("subscriptions", "subscriptions", CLIENTS, _set("subscribe_offset")),
    Measure("receipts", "receipts", CLIENTS, _set("request_offset")),
    Measure("heartbeats", "heartbeats", "direction", {"gaps": "late + violations + dead"}),
    Measure("violations", "heartbeat_violations", "direction", {"rows": "1"}),
    Measure("compliance", "compliance", BOTH, {
        "failed": "failed", "unbalanced": "CAST(applicable <> passed + failed + not_evaluable AS BIGINT)"}),
    Measure("findings", "compliance_findings", BOTH, {"rows": "1"}),
)


def _untiled(name: str) -> str:
    """SQL: the intervals of a measure do not tile [0, octets of the stream direction), of which there must be one."""
    return (
        f"(streams_rows <> 1 OR {name}_empty > 0 OR {name}_octets <> streams_octets"
        f" OR {name}_starts + streams_end <> {name}_ends + {hashed('0')})"
    )


def _differ(some: str, others: str) -> str:
    """SQL: two measures do not hold the same offsets."""
    return f"({some}_rows <> {others}_rows OR {some}_starts <> {others}_starts)"


RAW_BROKEN = f"((raw_rows > 0 OR streams_stomp > 0) AND {_untiled('raw')})"


def _twins(name: str, table: str, frames: str, says: str) -> Invariant:
    """The rows of a silver table are those frames, each once."""
    return Invariant(name, table, ("frames", table), says, _differ(table, frames), (f"{frames}_rows", f"{table}_rows"))


INVARIANTS = (
    Invariant(
        "expect_raw_frames_to_tile_directions", "raw_frames", ("streams", "raw_frames"),
        "Sorted by offset, the rows of a stream direction meet end to start from 0 to the direction's octets",
        RAW_BROKEN, ("streams_rows", "streams_octets", "raw_rows", "raw_octets"),
    ),
    Invariant(
        "expect_frames_to_match_raw_frames", "frames", ("raw_frames", "frames"),
        "Every raw frame of kind frame is in frames once, and nothing else is",
        _differ("frames", "units"), ("units_rows", "frames_rows"),
    ),
    Invariant(
        "expect_one_session_per_stream_with_frames", "sessions", ("frames", "sessions"),
        "Every stream with a frame has one session",
        "(sessions_rows > 1 OR (frames_rows > 0 AND sessions_rows <> 1))", ("frames_rows", "sessions_rows"),
    ),
    _twins("expect_deliveries_to_match_messages", "deliveries", "message", "Every MESSAGE of a server is in deliveries once"),
    _twins("expect_transactions_to_match_begins", "transactions", "begin", "Every BEGIN of a client is in transactions once"),
    _twins("expect_subscriptions_to_match_subscribes", "subscriptions", "subscribe",
           "Every SUBSCRIBE of a client is in subscriptions once"),
    _twins("expect_receipts_to_match_requests", "receipts", "asking",
           "Every receipt a client's frame asks for, CONNECT and STOMP apart, is in receipts once"),
    Invariant(
        "expect_heartbeat_violations_to_match_heartbeats", "heartbeat_violations", ("heartbeats", "heartbeat_violations"),
        "The gaps that heartbeats counts as late, violations and dead are the rows of heartbeat_violations",
        "heartbeats_gaps <> violations_rows", ("heartbeats_gaps", "violations_rows"),
    ),
    Invariant(
        "expect_compliance_to_add_up", "compliance", ("compliance",),
        "applicable is passed + failed + not_evaluable", "compliance_unbalanced > 0", ("compliance_unbalanced",),
    ),
    Invariant(
        "expect_findings_to_match_compliance", "compliance_findings", ("compliance", "compliance_findings"),
        "The failures that compliance counts are the rows of compliance_findings",
        "compliance_failed <> findings_rows", ("compliance_failed", "findings_rows"),
    ),
)

PROOFS: dict[str, tuple[tuple[str, ...], str]] = {
    "raw_frames": (("streams",), RAW_BROKEN),
    "segments": (("streams",), f"(segments_rows > 0 AND {_untiled('segments')})"),
    "frames": (("streams", "raw_frames"), f"({RAW_BROKEN} OR {_differ('frames', 'units')})"),
    **{
        table: (("streams", "raw_frames", "frames"), f"({RAW_BROKEN} OR {_differ('frames', 'units')} OR {_differ(table, twin)})")
        for table, twin in (
            ("deliveries", "message"), ("transactions", "begin"), ("subscriptions", "subscribe"), ("receipts", "asking")
        )
    },
}
"""Per table: the other tables the proof of its keys needs, and the condition of a direction in which it fails."""
