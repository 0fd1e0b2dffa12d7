"""Views of the lake: the joins that most questions need, declared once for DuckDB, Spark and a metastore.

Most have all columns of one table and add those of the session, the frame, the rule or the capture that a row belongs to; they have
exactly the rows of that table. Those of stompcap.tables.answers have some of its rows. In the SQL a table stands in braces, because its
full name depends on where the view is made.
"""

from __future__ import annotations

from stompcap.tables.answers import ANSWERS
from stompcap.tables.consumers import CONSUMERS
from stompcap.tables.outcomes import MEASURED, NOT_SETTLED
from stompcap.tables.session_ends import SESSION_ENDS
from stompcap.tables.view import SESSION_COLUMNS, View, frame_is, of_session

__all__ = ["SESSION_COLUMNS", "VIEWS", "View"]


def _by_session(name: str, table: str, rows: str, more: str = "") -> View:
    sql = (
        f"SELECT t.*, {of_session()}, p.source{more} FROM {{{table}}} t LEFT JOIN {{sessions}} s ON s.stream_id = t.stream_id "  # noqa: S608  our names
        "LEFT JOIN {streams} p ON p.stream_id = t.stream_id"
    )
    comment = f"{rows} with client, broker, login and version of the session, and the capture point"
    return View(name, comment, (table, "sessions", "streams"), sql)


SESSION_DETAILS = View(
    "session_details",
    "Sessions with the TCP connection: capture point, bytes, retransmissions, what closed it",
    ("sessions", "streams"),
    "SELECT t.*, c.source, c.community_id, c.vlan, c.encapsulation, c.history, c.close_kind, c.closed_by, c.rst_by, c.rst_ns, "
    "c.octets_c2s, c.octets_s2c, c.retransmitted_octets_c2s, c.retransmitted_octets_s2c "
    "FROM {sessions} t LEFT JOIN {streams} c ON c.stream_id = t.stream_id",
)
FRAME_DETAILS = View(
    "frame_details",
    "Frames with the session, and the capture and packet that brought the first byte",
    ("frames", "sessions", "captures", "streams"),
    f"SELECT t.*, {of_session(('version',))}, c.path AS first_path, p.source FROM {{frames}} t "  # noqa: S608
    "LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {captures} c ON c.capture_id = t.first_capture_id "
    "LEFT JOIN {streams} p ON p.stream_id = t.stream_id",
)
FINDING_DETAILS = View(
    "finding_details",
    "Findings with the rule, the session, the capture point, the frame, and the capture and packet that brought its first byte",
    ("compliance_findings", "rules", "sessions", "frames", "raw_frames", "captures", "streams"),
    f"SELECT t.*, k.title, k.clause, {of_session()}, p.source, f.command, f.destination, r.kind, c.path AS first_path, r.first_packet "  # noqa: S608
    "FROM {compliance_findings} t LEFT JOIN {rules} k ON k.id = t.rule_id "
    f"LEFT JOIN {{sessions}} s ON s.stream_id = t.stream_id LEFT JOIN {{frames}} f ON {frame_is('f')} "
    f"LEFT JOIN {{raw_frames}} r ON {frame_is('r')} LEFT JOIN {{captures}} c ON c.capture_id = r.first_capture_id "
    "LEFT JOIN {streams} p ON p.stream_id = t.stream_id",
)
RECEIPT_DETAILS = View(
    "receipt_details",
    "Receipts with destination and content-type of the frame that asks, client, broker, login and version of the session, and the "
    "capture point",
    ("receipts", "sessions", "streams", "frames"),
    f"SELECT t.*, f.destination, f.content_type, f.body_octets, {of_session()}, p.source FROM {{receipts}} t "  # noqa: S608
    "LEFT JOIN {frames} f ON f.stream_id = t.stream_id AND f.direction = 'c2s' AND f.stream_offset = t.request_offset "
    "LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {streams} p ON p.stream_id = t.stream_id",
)

_ENDS = ("client_ip", "client_port", "login", "client_product")
JOURNEY_DETAILS = View(
    "journey_details",
    "Journeys with address, login and library of producer and consumer, whether they are `measured`: their residence is exact",
    ("journeys", "sessions"),
    f"SELECT t.*, {', '.join(f'p.{name} AS producer_{name}' for name in _ENDS)}, "  # noqa: S608
    f"{', '.join(f'c.{name} AS consumer_{name}' for name in _ENDS)}, "
    "t.joined_by IN ('identity', 'unique') AND t.residence_us IS NOT NULL AS measured "
    "FROM {journeys} t LEFT JOIN {sessions} p ON p.stream_id = t.send_stream_id "
    "LEFT JOIN {sessions} c ON c.stream_id = t.message_stream_id",
)

VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        SESSION_DETAILS,
        SESSION_ENDS,
        FRAME_DETAILS,
        _by_session(
            "delivery_details", "deliveries", "Deliveries, whether they are `not_settled`, or `measured` (their latency counts),",
            f", ({NOT_SETTLED.sql('t')}) AS not_settled, ({MEASURED.sql('t')}) AS measured",
        ),
        _by_session("subscription_details", "subscriptions", "Subscriptions"),
        _by_session("transaction_details", "transactions", "Transactions"),
        RECEIPT_DETAILS,
        JOURNEY_DETAILS,
        _by_session("heartbeat_details", "heartbeats", "Heart-beats of a direction"),
        _by_session("heartbeat_gap_details", "heartbeat_violations", "Gaps between heart-beats"),
        FINDING_DETAILS,
        *ANSWERS,
        *CONSUMERS,
    )
}
