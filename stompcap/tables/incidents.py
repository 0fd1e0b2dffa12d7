"""Table incidents: what happened, to whom, since when, as a sentence with its numbers and the way to the packets."""

import pyarrow as pa

from stompcap.tables.schema import Column, Table, big, moment, text

KINDS = (
    "capture_damaged", "capture_loss", "capture_cut", "capture_one_way", "capture_clocks", "capture_tls", "broker_stop", "broker_slow",
    "broker_still", "cut_together", "no_consumer", "consumers_left", "consumer_gone", "consumer_stalled", "consumer_slow", "instance_slow",
    "producer_faster", "backlog", "late_messages", "slow_confirms", "uncommitted", "rolled_back", "nacked", "left_unacknowledged",
    "redelivery_loop", "poison_message", "refused", "unanswered", "connect_refused", "reconnect_loop", "storm", "errors", "vanished",
    "heartbeat_missed", "heartbeat_late", "idle_cut", "retransmissions", "window_closed", "long_way", "protocol",
)  # fmt: skip
SUBJECT_KINDS = ("login", "client", "connection", "destination", "broker", "network", "capture")
LEVELS = ("critical", "warning", "note")
CONFIDENCES = ("proven", "likely")

STANDING = ("broker_stop", "broker_still", "cut_together", "consumer_gone", "consumer_stalled", "consumers_left")
"""Kinds in which nothing goes on at all; while they last they hurt more than what is slow, however much of that there is."""

_STANDS = f"end_ns IS NULL AND kind IN ({', '.join(repr(kind) for kind in STANDING)})"
ORDER = (
    "CASE WHEN subject_kind = 'capture' AND level <> 'note' THEN 0 ELSE 1 END, "
    f"CASE level WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, CASE WHEN {_STANDS} THEN 0 ELSE 1 END, messages DESC, "
    "begin_ns, kind, subject, incident_id"
)
"""The order in which incidents are said, as SQL: what hurts most first, behind captures that limit what can be known."""

NUMBERS = pa.list_(pa.struct([("what", pa.string()), ("unit", pa.string()), ("before", pa.float64()), ("during", pa.float64())]))
FRAMES = pa.list_(pa.struct([("stream_id", pa.string()), ("direction", pa.string()), ("stream_offset", pa.int64())]))
PACKETS = pa.list_(pa.struct([("capture", pa.string()), ("packet", pa.int64())]))

INCIDENTS = Table(
    "incidents",
    "gold",
    "What happened, to whom, since when: one row per incident, as docs/incidents.md says of each kind. A later run replaces what it knows "
    "better",
    (
        text("incident_id", "Digest of kind, subject, what tells it from others, source and first minute: it stays while it lasts",
             nullable=False),
        text("kind", "What it is", *KINDS, nullable=False),
        text("subject_kind", "What the subject is: of a client its login, else client (client-id, user-agent or address)", *SUBJECT_KINDS,
             nullable=False),
        text("subject", "Whose it is: the name of the login, client, destination or capture point, address and port of the broker",
             nullable=False),
        text("source", "The capture point", nullable=False),
        text("destination_name", "The destination that it is about, if it is about one"),
        text("server_product", "The broker; null if unknown or none"),
        big("begin_ns", "When it began", nullable=False),
        moment("begin_ts", "begin_ns in microseconds, UTC"),
        big("end_ns", "When it ended; null: it was still so where the capture ends"),
        text("level", "critical: messages or connections are hurt; warning: someone should look; note", *LEVELS, nullable=False),
        text("confidence", "proven, or likely where bytes are missing or another cause is possible", *CONFIDENCES, nullable=False),
        text("would_change", "What would change it, of likely"),
        Column("numbers", NUMBERS, "Its numbers: what, unit, before the incident, during it"),
        big("messages", "How many messages it hurts", nullable=False),
        text("sentence", "All this for people, in one sentence; characters that do not print are escapes", nullable=False),
        Column("streams", pa.list_(pa.string()), "Connections that show it, at most 10"),
        Column("frames", FRAMES, "Frames that show it, at most 10"),
        Column("packets", PACKETS, "Packets that brought these frames, with the names of their captures' files"),
    ),
    key=("incident_id",),
    statistics=("incident_id", "kind", "subject", "source", "begin_ns", "begin_ts", "level"),
    ascending=(("begin_ns", "end_ns"),),
)  # fmt: skip
