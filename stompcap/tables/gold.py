"""Gold: answers to users' questions."""

from stompcap.tables import words
from stompcap.tables.bronze import DIRECTION, STREAM_ID
from stompcap.tables.incidents import INCIDENTS
from stompcap.tables.schema import Table, big, date, flag, moment, real, text

RULE_ID = text("rule_id", "The rule, as in the table rules", nullable=False)
SOURCE = text("source", "The capture point: a connection seen at two of them counts at each, so sums over sources count it twice")

ACK_LATENCY = Table(
    "ack_latency",
    "gold",
    "Ack latency per hour of delivery and capture point, without deliveries of mode auto",
    (
        moment("hour_ts", "The hour of delivery, UTC"),
        SOURCE,
        text("destination", "Destination of the MESSAGEs"),
        text("ack_mode", "Ack mode of the subscriptions"),
        text("settled_by", "direct or cumulative; null for deliveries that are not settled, voided ones too", *words.SETTLED_BY),
        text("server_product", "The broker"),
        big("deliveries", "MESSAGEs delivered", nullable=False),
        big("settled", "of them settled", nullable=False),
        big("uncertain", "of the settled, those whose latency is in no figure: octets_missing is true or it is null", nullable=False),
        big("unsettled", "of them not settled: unsettled at the close, still open, or voided", nullable=False),
        big("unknown", "of them those with status unknown", nullable=False),
        big("p50_us", "Exact median of ack_latency_us of the settled, without the uncertain"),
        big("p90_us", "Exact 90th percentile"),
        big("p95_us", "Exact 95th percentile"),
        big("p99_us", "Exact 99th percentile"),
        big("max_us", "Largest"),
        big("mean_us", "Mean"),
    ),
    key=("hour_ts", "source", "destination", "ack_mode", "settled_by", "server_product"),
    statistics=("hour_ts", "source", "destination"),
    ascending=(
        ("uncertain", "settled", "deliveries"),
        ("unsettled", "deliveries"),
        ("p50_us", "p90_us", "p95_us", "p99_us", "max_us"),
        ("mean_us", "max_us"),
    ),
)

JOURNEYS = Table(
    "journeys",
    "gold",
    "From SEND to MESSAGE: one row per MESSAGE, and one per SEND that no MESSAGE was found for. A later run replaces a row where what "
    "it brings completes it",
    (
        SOURCE,
        moment("ts", "deliveries.delivered_ts of the MESSAGE; sends.sent_ts where there is none"),
        text("send_stream_id", "Connection of the SEND; null where it is not known"),
        big("send_offset", "sends.stream_offset"),
        big("send_ns", "Last octet of the SEND"),
        big("effective_ns", "When it counted: in a transaction the last octet of the COMMIT, else send_ns; null where that is not known, "
            "or the transaction was aborted"),
        text("message_stream_id", "Connection of the MESSAGE; null for a SEND without one"),
        big("message_offset", "deliveries.stream_offset"),
        big("message_ns", "First octet of the MESSAGE"),
        text("destination", "Destination of the SEND"),
        text("delivered_destination", "Destination of the MESSAGE"),
        text("destination_name", "One name whatever the broker's spelling: of the MESSAGE, else of the SEND"),
        text("moved_from", "deliveries.moved_from: the destination that the SEND had where the MESSAGE is a dead letter"),
        text("server_product", "The broker, as the connection of the MESSAGE shows it, else that of the SEND"),
        text("subscription", "Subscription of the MESSAGE"),
        text("joined_by", "How the SEND is known. identity: the message-id names it; unique: no other SEND that was captured can be it, "
             "and no hole in the capture has room for one; ordered: as many equal SENDs as MESSAGEs, in order, exact only where the broker "
             "keeps the order; timestamp: no SEND, but the broker's time; ambiguous: several can be it",
             *words.JOINED_BY, nullable=False),
        text("reason", "Why there is no journey, of ambiguous and none: aborted, refused (ERROR with its receipt), no_consumer (no MESSAGE "
             "of the destination was captured in the hour of the SEND and the next), no_send, octets_lost, not_yet (the capture ends "
             "within an hour)", *words.NOT_JOINED),
        big("residence_us", "message_ns - effective_ns: how long it was in the broker; of timestamp, since broker_timestamp_us, by the "
            "broker's clock. Null of a redelivery, where moved_from is not, and where clocks of the directions of a connection differ"),
        big("receipt_us", "SEND to its RECEIPT"),
        big("copy", "1, 2, ... of the MESSAGEs of one SEND, by time: fan-out; null of a redelivery, and without SEND"),
        flag("redelivery", "It was delivered before: the broker marks it, its id was there within an hour before, or it was moved "
             "(moved_from) after a MESSAGE that its consumer did not ACK", nullable=False),
        big("broker_timestamp_us", "When the broker took the message, or its producer sent it, as header timestamp says; microseconds "
            "since the epoch"),
        big("body_octets", "Octets of the body", nullable=False),
        big("body_hash", "frames.body_hash"),
        big("content_hash", "frames.content_hash"),
    ),
    key=("message_stream_id", "message_offset", "send_stream_id", "send_offset"),
    statistics=("source", "ts", "destination_name", "joined_by", "reason", "residence_us"),
)

DESTINATION_MINUTES = Table(
    "destination_minutes",
    "gold",
    "What came and went at a destination, by minute, capture point and broker",
    (
        moment("minute_ts", "The minute, UTC"),
        SOURCE,
        text("destination_name", "The destination, as deliveries.destination_name"),
        text("server_product", "The broker"),
        big("sends", "SENDs", nullable=False),
        big("messages", "MESSAGEs", nullable=False),
        big("acks", "of the MESSAGEs those that an ACK settled, whenever it came", nullable=False),
        big("nacks", "of the MESSAGEs those that a NACK settled", nullable=False),
        big("redeliveries", "of the MESSAGEs those that were delivered before, as journeys.redelivery", nullable=False),
        big("sent_octets", "Octets of the bodies of the SENDs", nullable=False),
        big("delivered_octets", "Octets of the bodies of the MESSAGEs", nullable=False),
        big("producers", "Connections that sent", nullable=False),
        big("consumers", "Connections that were delivered to", nullable=False),
        big("backlog_change", "SENDs that count (none of an aborted transaction) less the first MESSAGE of each", nullable=False,
            least=None),
        flag("backlog_incomplete", "MESSAGEs came whose SENDs were not captured: backlog_change, and sums of it, are lower bounds",
             nullable=False),
        big("residence_p50_us", "Median of journeys.residence_us of these MESSAGEs, where it is exact (identity, unique)"),
        big("residence_p95_us", "95th percentile"),
        big("residence_p99_us", "99th percentile"),
        big("ack_p50_us", "Median of deliveries.ack_latency_us of these MESSAGEs, as in ack_latency"),
        big("ack_p95_us", "95th percentile"),
        big("ack_p99_us", "99th percentile"),
        big("receipt_p95_us", "95th percentile of the time from these SENDs to their RECEIPTs"),
    ),
    key=("minute_ts", "source", "destination_name", "server_product"),
    statistics=("minute_ts", "source", "destination_name"),
    ascending=(
        ("acks", "messages"), ("nacks", "messages"), ("redeliveries", "messages"),
        ("residence_p50_us", "residence_p95_us", "residence_p99_us"), ("ack_p50_us", "ack_p95_us", "ack_p99_us"),
    ),
)  # fmt: skip

HEARTBEATS = Table(
    "heartbeats",
    "gold",
    "One row per session direction with a negotiated heart-beat interval",
    (
        STREAM_ID,
        DIRECTION,
        big("interval_ms", "The negotiated interval", nullable=False),
        big("beats", "EOL runs standing alone", nullable=False),
        big("max_gap_ms", "Longest time without a new octet"),
        big("gaps", "Times between arrivals of new octets that were judged", nullable=False),
        big("late", "of them late, no worse", nullable=False),
        big("violations", "of them violations, no worse", nullable=False),
        big("dead", "of them dead", nullable=False),
        real("mean_gap_ms", "Mean of the times between arrivals, that to the end of the connection apart"),
        real("sd_gap_ms", "Their standard deviation"),
        real("p99_gap_ms", "Their 99th percentile, by a histogram of four buckets an octave: within a fifth, never above the longest"),
        real("cut_off_after_intervals",
             "Intervals of silence after which the waiting side closed the connection; null where it did not, or had another reason: "
             "a DISCONNECT, an ERROR from before the silence was late"),
        big("observed_ms", "How long the direction was observed; null without times"),
        text("verdict", "The worst", *words.HEARTBEAT_VERDICTS, nullable=False),
    ),
    key=("stream_id", "direction"),
    statistics=("stream_id", "direction", "max_gap_ms"),
    ascending=(("late", "gaps"), ("violations", "gaps"), ("dead", "gaps"), ("max_gap_ms", "observed_ms")),
)

HEARTBEAT_VIOLATIONS = Table(
    "heartbeat_violations",
    "gold",
    "One row per gap that is late or worse",
    (
        STREAM_ID,
        DIRECTION,
        big("gap_start_ns", "Arrival of the last new octet before it"),
        big("gap_end_ns", "When it ended"),
        moment("gap_start_ts", "gap_start_ns in microseconds, UTC"),
        big("gap_ms", "Its length", nullable=False),
        big("interval_ms", "The negotiated interval", nullable=False),
        real("ratio", "gap_ms / interval_ms, which the severity goes by"),
        text("severity", "late above 1.1, violation above 1.5, dead above 3 times the interval",
             *words.HEARTBEAT_SEVERITIES, nullable=False),
        text("ended_by", "What ended it", *words.GAP_ENDERS, nullable=False),
        text("excused", "Why it is not the sender's fault; null if it is the sender's", *words.EXCUSES),
    ),
    key=("stream_id", "direction", "gap_start_ns"),
    statistics=("stream_id", "direction", "gap_start_ns", "gap_start_ts", "ratio"),
    ascending=(("gap_start_ns", "gap_end_ns"),),
)

COMPLIANCE = Table(
    "compliance",
    "gold",
    "Per session and rule, where the rule applied at least once",
    (
        STREAM_ID,
        RULE_ID,
        big("applicable", "passed + failed + not_evaluable", nullable=False),
        big("passed", "Opportunities kept", nullable=False),
        big("failed", "Opportunities broken: the number of findings", nullable=False),
        big("not_evaluable", "Opportunities that cannot be judged from the capture", nullable=False),
        moment("opened_ts", "sessions.opened_ts: when the session began"),
    ),
    key=("stream_id", "rule_id"),
    statistics=("stream_id", "rule_id", "opened_ts"),
)

COMPLIANCE_FINDINGS = Table(
    "compliance_findings",
    "gold",
    "One row per broken rule and opportunity",
    (
        RULE_ID,
        text("level", "M MUST, S SHOULD, I INFO, in the session's version", *words.LEVELS, nullable=False),
        text("side", "Who broke it", *words.SIDES, nullable=False),
        STREAM_ID,
        DIRECTION,
        big("stream_offset", "Where, in the direction's byte stream", nullable=False),
        big("ts_ns", "Capture time"),
        moment("found_ts", "ts_ns in microseconds, UTC"),
        text("evidence", "What was observed, secrets removed"),
    ),
    key=("rule_id", "stream_id", "direction", "stream_offset", "ts_ns", "evidence"),
    statistics=("rule_id", "level", "side", "stream_id", "ts_ns", "found_ts"),
)

COMPLIANCE_SUMMARY = Table(
    "compliance_summary",
    "gold",
    "Compliance per day, capture point, rule, broker, client library and version",
    (
        date("day", "The day on which the sessions began, UTC"),
        SOURCE,
        RULE_ID,
        text("server_product", "The broker"),
        text("client_product", "The client library"),
        text("version", "Protocol version"),
        big("sessions", "Sessions in which the rule applied", nullable=False),
        big("applicable", "passed + failed + not_evaluable", nullable=False),
        big("passed", "Opportunities kept", nullable=False),
        big("failed", "Opportunities broken", nullable=False),
        big("not_evaluable", "Opportunities that cannot be judged from the capture", nullable=False),
        real("failure_rate", "failed / (passed + failed)", most=1),
    ),
    key=("day", "source", "rule_id", "server_product", "client_product", "version"),
    statistics=("day", "source", "rule_id"),
    ascending=(("passed", "applicable"), ("failed", "applicable"), ("not_evaluable", "applicable"), ("sessions", "applicable")),
)

RULES = Table(
    "rules",
    "gold",
    "The rule catalogue",
    (
        text("id", "The rule", nullable=False),
        text("versions", "Protocol versions it applies to, comma-separated", nullable=False),
        text("side", "Who must obey: client, server or both", "client", "server", "both", nullable=False),
        text("level", "M MUST, S SHOULD, I INFO; per version where they differ; off: disabled", nullable=False),
        text("clause", "Clause of the specification", nullable=False),
        text("title", "The rule in one line", nullable=False),
        text("explanation", "The rule in a paragraph, pitfalls included", nullable=False),
    ),
    key=("id",),
    statistics=("id",),
)

TABLES = (
    ACK_LATENCY, JOURNEYS, DESTINATION_MINUTES, HEARTBEATS, HEARTBEAT_VIOLATIONS, COMPLIANCE, COMPLIANCE_FINDINGS, COMPLIANCE_SUMMARY,
    RULES, INCIDENTS,
)  # fmt: skip
