"""The invariants that join tables, as data: each states that two multisets of points, made from rows, are equal.

A point is a stream, a direction, an offset and, for some, a word; a row adds one or several points, or one point several times. This
covers tables with the same rows, counters that agree with the rows they count, and intervals that tile. Intervals
tile [0, octets) if and only if none is empty, and their starts plus `octets` equal, as multisets, their ends plus 0: at every point one
more has begun than has ended. Tiling therefore proves keys unique as well.

Equal multisets have equal sums of hashes (stompcap.quality.sums), which need no sort, no join and no shuffle. Where sums differ, the
same data produce the query that finds the points (stompcap.quality.exact).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CLIENTS, SERVERS = "c2s", "s2c"


@dataclass(frozen=True)
class Condition:
    """A condition on a row: its column is not null, or is where `null`; given `words`, it is among them, or not if `negated`.

    Given `least`, it is not below that.
    """

    column: str
    words: tuple[str, ...] = ()
    negated: bool = False
    least: int | None = None
    null: bool = False

    @property
    def sql(self) -> str:
        """The condition in SQL; never null."""
        if self.least is not None:
            return f"coalesce({self.column}, 0) >= {self.least}"
        if not self.words:
            return f"{self.column} IS {'' if self.null else 'NOT '}NULL"
        among = ", ".join(f"'{word}'" for word in self.words)
        return f"coalesce({self.column} {'NOT ' if self.negated else ''}IN ({among}), false)"


def where(column: str, *words: str, negated: bool = False) -> Condition:
    """The condition that a column has one of these words, or none of them."""
    return Condition(column, words, negated)


@dataclass(frozen=True)
class Points:
    """The points of a table's rows.

    Stream: the row's. Direction: the row's column `direction`, or `side` where the table has none. Offset: the sum of the columns
    `at`, 0 without any. `word`: a further column of the point. The row counts as often as the sum of `times`, or once without it.
    `kept` admits only streams whose octets the lake keeps: those of protocol stomp, and others with rows in raw_frames.
    """

    table: str
    at: tuple[str, ...] = ()
    side: str | None = None
    word: str | None = None
    times: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    kept: bool = False

    @property
    def strings(self) -> set[str]:
        """The columns of few distinct strings that are read."""
        found = {"stream_id", *(c.column for c in self.where if c.words)}
        return found | ({"direction"} if self.side is None else set()) | ({self.word} if self.word else set())

    @property
    def columns(self) -> set[str]:
        """All columns that are read."""
        return self.strings | {*self.at, *self.times} | {c.column for c in self.where}


@dataclass(frozen=True)
class Invariant:
    """Two multisets of points that must be equal; `names` are what each counts; `table` is the one at fault if they differ."""

    name: str
    table: str
    statement: str
    left: tuple[Points, ...]
    right: tuple[Points, ...]
    names: tuple[str, str]

    @property
    def needs(self) -> set[str]:
        """The tables it reads."""
        needed = {points.table for points in self.left + self.right}
        return needed | ({"raw_frames"} if any(points.kept for points in self.left + self.right) else set())


TILING, OCTETS, FRAMES = (
    "expect_raw_frames_to_tile_directions", "expect_raw_frames_to_hold_octets", "expect_frames_to_match_raw_frames"
)
AT = ("stream_offset",)
EITHER = ((CLIENTS, "octets_c2s"), (SERVERS, "octets_s2c"))
ASKS = (Condition("direction", (CLIENTS,)), Condition("receipt"), Condition("command", ("CONNECT", "STOMP"), negated=True))


def _sent(side: str, command: str) -> tuple[Condition, ...]:
    """Frames of one command, from the side that may send it."""
    return (Condition("direction", (side,)), Condition("command", (command,)))


def _twins(name: str, table: str, at: str, side: str, where: tuple[Condition, ...], statement: str) -> Invariant:
    """The rows of a silver table correspond to certain frames, each once."""
    return Invariant(name, table, statement, (Points(table, (at,), side),), (Points("frames", AT, where=where),), (table, "frames"))


TWINS = (
    _twins("expect_deliveries_to_match_messages", "deliveries", "stream_offset", SERVERS, _sent(SERVERS, "MESSAGE"),
           "Every MESSAGE of a server is in deliveries once"),
    _twins("expect_transactions_to_match_begins", "transactions", "begin_offset", CLIENTS, _sent(CLIENTS, "BEGIN"),
           "Every BEGIN of a client is in transactions once"),
    _twins("expect_subscriptions_to_match_subscribes", "subscriptions", "subscribe_offset", CLIENTS, _sent(CLIENTS, "SUBSCRIBE"),
           "Every SUBSCRIBE of a client is in subscriptions once"),
    _twins("expect_receipts_to_match_requests", "receipts", "request_offset", CLIENTS, ASKS,
           "Every receipt that a client's frame asks for, except CONNECT and STOMP, is in receipts once"),
)

INVARIANTS = (
    Invariant(
        TILING, "raw_frames", "Sorted by offset, the rows of a stream direction meet end to end from 0 to the direction's bytes",
        (Points("raw_frames", AT), *(Points("streams", (octets,), side, kept=True) for side, octets in EITHER)),
        (Points("raw_frames", (*AT, "length_octets")), *(Points("streams", (), side, kept=True) for side, _ in EITHER)),
        ("begin", "end"),
    ),
    Invariant(
        OCTETS, "raw_frames", "No row is empty", (Points("raw_frames", AT),),
        (Points("raw_frames", AT, where=(Condition("length_octets", least=1),)),), ("rows", "not_empty"),
    ),
    Invariant(
        FRAMES, "frames", "Every raw frame of kind frame is in frames once, and nothing else is",
        (Points("frames", AT),), (Points("raw_frames", AT, where=(Condition("kind", ("frame",)),)),), ("frames", "raw_frames"),
    ),
    Invariant(
        "expect_one_session_per_stream_with_frames", "sessions",
        "Every stream with a frame has one session, which counts the frames of each side",
        (Points("sessions", side=CLIENTS, times=("frames_c2s",)), Points("sessions", side=SERVERS, times=("frames_s2c",))),
        (Points("frames"),), ("sessions", "frames"),
    ),
    *TWINS,
    Invariant(
        "expect_heartbeat_violations_to_match_heartbeats", "heartbeat_violations",
        "The gaps that heartbeats counts as late, violations and dead are the rows of heartbeat_violations",
        (Points("heartbeats", times=("late", "violations", "dead")),), (Points("heartbeat_violations"),),
        ("heartbeats", "heartbeat_violations"),
    ),
    Invariant(
        "expect_compliance_to_add_up", "compliance", "applicable is passed + failed + not_evaluable",
        (Points("compliance", side="", word="rule_id", times=("applicable",)),),
        (Points("compliance", side="", word="rule_id", times=("passed", "failed", "not_evaluable")),), ("applicable", "judged"),
    ),
    Invariant(
        "expect_findings_to_match_compliance", "compliance_findings",
        "The failures that compliance counts are the rows of compliance_findings",
        (Points("compliance", side="", word="rule_id", times=("failed",)),),
        (Points("compliance_findings", side="", word="rule_id"),), ("compliance", "compliance_findings"),
    ),
)

PROOFS: dict[str, tuple[str, ...]] = {
    "raw_frames": (TILING, OCTETS),
    "frames": (TILING, OCTETS, FRAMES),
    **{twin.table: (TILING, OCTETS, FRAMES, twin.name) for twin in TWINS},
}
"""Per table, the invariants that together prove its keys unique."""


def among(tables: Sequence[str]) -> tuple[Invariant, ...]:
    """The invariants that read these tables only."""
    return tuple(rule for rule in INVARIANTS if rule.needs <= set(tables))


def provable(tables: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The tables whose keys are proved unique by invariants among them, with the names of these invariants."""
    known = {rule.name for rule in among(tables)}
    return {table: names for table, names in PROOFS.items() if table in tables and known.issuperset(names)}
