"""Which kinds of incidents can be in a lake at all, told by one look at each table: the others are not asked for.

Most traffic is well, and a run over it is not to pay for the questions of what may go wrong.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from pipelines.incidents import connection_events as connections
from pipelines.incidents import consumer_events as consumers
from pipelines.incidents import end_events as ends
from pipelines.incidents import instance_events as instances
from pipelines.incidents import rule_events as rules
from pipelines.incidents import silent_brokers as silent
from pipelines.incidents import unread_events as unread
from pipelines.incidents import wire_events as wire
from pipelines.incidents.consumer_minutes import AGAIN, LEAST_MESSAGES, LEAST_MINUTES, SLOWER_US
from pipelines.incidents.cut_events import CUT_CAUSES, CUT_CLIENTS
from pipelines.incidents.flagged import SECOND_NS
from pipelines.incidents.young_minutes import MORE_AT_ONCE, SLOW_SLOTS
from stompcap.lake.query import Query

if TYPE_CHECKING:
    import pyarrow as pa

    from pipelines.incidents.kinds import Kind


class Needs(NamedTuple):
    """So many rows of a table that meet a condition, or more; without them there is no incident of the kind."""

    table: str
    condition: str
    least: int = 1


_OF_STREAMS = "protocol = 'stomp'"
_MINUTES = Needs("destination_minutes", "messages > 0", LEAST_MINUTES + 1)
NEEDS = {
    "broker_slow": Needs("destination_minutes", "messages > 0", 2),
    "broker_still": Needs("sends", "transaction IS NULL", silent.OWED),
    "consumer_slow": Needs("deliveries", f"coalesce(service_us, ack_latency_us) >= {SLOWER_US}", LEAST_MESSAGES),
    "instance_slow": Needs("deliveries", f"coalesce(service_us, ack_latency_us) >= {SLOWER_US}", instances.LEAST_OF_ONE),
    "cut_together": Needs("sessions", f"close_cause IN ({CUT_CAUSES})", CUT_CLIENTS),
    "uncommitted": Needs("transactions", "outcome IN ('open', 'implicitly_aborted') AND sends + acks + nacks > 0"),
    "rolled_back": Needs("transactions", "outcome = 'aborted'", AGAIN),
    "producer_faster": Needs("sends", "true", SLOW_SLOTS * MORE_AT_ONCE),
    "late_messages": _MINUTES,
    "backlog": _MINUTES,
    "slow_confirms": Needs("destination_minutes", "receipt_p95_us IS NOT NULL", LEAST_MINUTES + 1),
    "no_consumer": Needs("sends", "true", unread.UNREAD),
    "consumers_left": _MINUTES,
    "consumer_gone": Needs("sessions", "close_cause = 'heartbeat_client'"),
    "consumer_stalled": Needs("subscriptions", "max_in_flight > 0"),
    "left_unacknowledged": Needs("subscriptions", "unsettled > 0", consumers.LEFT_SESSIONS),
    "nacked": Needs("deliveries", "settlement = 'nack'"),
    "redelivery_loop": Needs("deliveries", "redelivered", AGAIN),
    "poison_message": Needs("deliveries", "redelivered", AGAIN),
    "broker_stop": Needs("sessions", "close_cause IN ('unknown', 'reset', 'error')", 3),
    "refused": Needs("sessions", "outcome = 'refused'"),
    "unanswered": Needs("sessions", "outcome = 'unanswered'", connections.EQUAL),
    "connect_refused": Needs("streams", "synack_seen IS NOT TRUE AND close_kind = 'rst'", connections.EQUAL),
    "reconnect_loop": Needs("sessions", f"close_cause NOT IN ({connections.OWN_KINDS})", connections.LOOPS),
    "storm": Needs("sessions", "outcome = 'connected'", connections.STORM),
    "errors": Needs("sessions", "error_message IS NOT NULL AND outcome <> 'refused'"),
    "heartbeat_missed": Needs("sessions", "close_cause IN ('heartbeat_client', 'heartbeat_server')"),
    "vanished": Needs("sessions", "close_cause = 'vanished'"),
    "heartbeat_late": Needs("heartbeat_violations", "severity <> 'late'", ends.LATE),
    "idle_cut": Needs("sessions", "close_cause IN ('unknown', 'idle_cut')"),
    "retransmissions": Needs("stalls", "kind = 'retransmission'", wire.AGAIN),
    "window_closed": Needs("stalls", f"kind = 'zero_window' AND end_ns - begin_ns >= {wire.CLOSED_S * SECOND_NS}"),
    "long_way": Needs("streams", f"rtt_client_us >= {wire.FAR_US}", wire.FAR_CONNECTIONS),
    "protocol": Needs("compliance_findings", "level = 'M'"),
    "capture_loss": Needs("streams", f"{_OF_STREAMS} AND coalesce(gap_octets_c2s, 0) + coalesce(gap_octets_s2c, 0) > 0"),
    "capture_cut": Needs("streams", f"{_OF_STREAMS} AND coalesce(truncated_octets_c2s, 0) + coalesce(truncated_octets_s2c, 0) > 0"),
    "capture_one_way": Needs("streams", f"{_OF_STREAMS} AND history IN (upper(history), lower(history))"),
    "capture_clocks": Needs("streams", f"{_OF_STREAMS} AND acks_against_time > 0"),
    "capture_damaged": Needs("captures", rules.IS_DAMAGED),
    "capture_tls": Needs("transports", "status = 'not_decrypted'"),
}


def questions(kinds: Iterable[Kind]) -> list[Query]:
    """A query of each table that tells, of some kinds."""
    asked: dict[str, list[str]] = {}
    for kind in kinds:
        if need := NEEDS.get(kind.name):
            asked.setdefault(need.table, []).append(f"count_if({need.condition}) AS {kind.name}")
    return [Query(table, (table,), f"SELECT {', '.join(counts)} FROM {table}") for table, counts in asked.items()]


def possible(kinds: Iterable[Kind], answers: Iterable[pa.Table]) -> list[Kind]:
    """Those of some kinds that the answers leave; one of which `NEEDS` says nothing is among them."""
    found = {name: number or 0 for answer in answers for name, number in answer.to_pylist()[0].items()}
    return [kind for kind in kinds if kind.name not in NEEDS or found[kind.name] >= NEEDS[kind.name].least]
