"""The kinds of incidents that come from connections: the SQL of each, and how far apart what happens may be to be of one incident."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.incidents import connection_events as connections
from pipelines.incidents import consumer_events as consumers
from pipelines.incidents import cut_events as cuts
from pipelines.incidents import destination_events as destinations
from pipelines.incidents import end_events as ends
from pipelines.incidents import instance_events as instances
from pipelines.incidents import rule_events as rules
from pipelines.incidents import transaction_events as transactions
from pipelines.incidents import unread_events as unread
from pipelines.incidents import wire_events as wire

MINUTE, DAY = 60, 86_400
CONNECT, ERROR, LAST = ("c2s", 0), ("s2c", None), ("", None)


@dataclass(frozen=True)
class Kind:
    """A kind: its name, the SQL of its events, and after how many quiet seconds the next one is of another incident.

    `lasts`: it is still so where the capture ends before it was quiet for as long as usual. `frame` shows it where its events name none:
    direction and offset, without an offset the ERROR, without a direction the connection's last one. `traffic`: its events have the columns
    OF_TRAFFIC, too.
    """

    name: str
    sql: str
    gap_s: int
    lasts: bool = False
    frame: tuple[str, int | None] | None = CONNECT
    traffic: bool = False


KINDS = (
    Kind("broker_stop", ends.BROKER_STOPPED, MINUTE, frame=LAST),
    Kind("broker_slow", "SELECT * FROM slow_brokers", 5 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("broker_still", "SELECT * FROM still_events", MINUTE, frame=None, traffic=True),
    Kind("cut_together", cuts.CUT_TOGETHER, MINUTE, frame=LAST),
    Kind("no_consumer", unread.NO_CONSUMER, 10 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("consumers_left", unread.LEFT_ALONE, 10 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("consumer_gone", "SELECT * FROM lost_consumers", MINUTE, frame=LAST, traffic=True),
    Kind("consumer_stalled", "SELECT * FROM stalled", MINUTE, frame=LAST, traffic=True),
    Kind("consumer_slow", consumers.SLOW, 5 * MINUTE, lasts=True, traffic=True),
    Kind("instance_slow", instances.SLOW_INSTANCE, 5 * MINUTE, lasts=True, traffic=True),
    Kind("producer_faster", destinations.PRODUCER_FASTER, 15 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("backlog", "SELECT * FROM backlogs", 15 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("late_messages", destinations.LATE_MESSAGES, 5 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("slow_confirms", destinations.SLOW_CONFIRMS, 5 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("uncommitted", transactions.UNCOMMITTED, MINUTE, frame=LAST, traffic=True),
    Kind("rolled_back", transactions.ROLLED_BACK, 5 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("nacked", consumers.NACKED, 5 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("left_unacknowledged", consumers.LEFT_UNACKNOWLEDGED, 60 * MINUTE, lasts=True, frame=LAST, traffic=True),
    Kind("redelivery_loop", consumers.REDELIVERY_LOOP, 5 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("poison_message", consumers.POISON_MESSAGE, 5 * MINUTE, lasts=True, frame=None, traffic=True),
    Kind("refused", connections.REFUSED, connections.EQUAL_WITHIN_S, lasts=True),
    Kind("unanswered", connections.UNANSWERED, connections.EQUAL_WITHIN_S, lasts=True),
    Kind("connect_refused", connections.CONNECT_REFUSED, connections.EQUAL_WITHIN_S, lasts=True, frame=None),
    Kind("reconnect_loop", connections.RECONNECT_LOOP, connections.LOOP_WITHIN_S, lasts=True, frame=LAST,
         traffic=True),
    Kind("storm", connections.STORMS, 5 * MINUTE),
    Kind("errors", connections.ERRORS, connections.EQUAL_WITHIN_S, lasts=True, frame=ERROR, traffic=True),
    Kind("heartbeat_missed", ends.HEARTBEATS, 10 * MINUTE, frame=LAST),
    Kind("vanished", ends.VANISHED, 10 * MINUTE, frame=LAST),
    Kind("heartbeat_late", ends.LATE_BEATS, ends.LATE_WITHIN_S, lasts=True),
    Kind("idle_cut", ends.IDLE_CUTS, 60 * MINUTE, frame=LAST),
    Kind("retransmissions", wire.RETRANSMISSIONS, 5 * MINUTE, lasts=True),
    Kind("window_closed", wire.CLOSED_WINDOWS, 5 * MINUTE, lasts=True),
    Kind("long_way", wire.ROUND_TRIPS, 60 * MINUTE),
    Kind("protocol", rules.BROKEN_RULES, DAY),
    Kind("capture_loss", rules.LOST, 10 * MINUTE),
    Kind("capture_cut", rules.CUT, DAY),
    Kind("capture_one_way", rules.ONE_WAY, DAY),
    Kind("capture_clocks", rules.CLOCKS, DAY),
    Kind("capture_damaged", rules.DAMAGED, DAY, frame=None),
    Kind("capture_tls", rules.CLOSED_TLS, DAY, frame=None),
)
TABLES = (
    "captures", "streams", "sessions", "subscriptions", "deliveries", "sends", "transactions", "frames", "raw_frames",
    "destination_minutes", "heartbeats", "heartbeat_violations", "stalls", "compliance", "compliance_findings", "rules", "transports",
)  # fmt: skip
"""Tables that these kinds are told by."""
