"""Views of the lake: the joins that most questions need, declared once for DuckDB, Spark and a metastore.

Most have all columns of one table and add those of the session, the frame, the rule or the capture that a row belongs to; they have exactly
the rows of that table. Others, of stompcap.answers, have some of its rows. In the SQL a table stands in braces, because its full name
depends on where the view is made.
"""

from __future__ import annotations

from dataclasses import dataclass

from stompcap.tables.outcomes import MEASURED, NOT_SETTLED

SESSION = (
    "client_ip", "client_port", "server_ip", "server_port", "host", "login", "client_product", "server_product", "version",
    "opened_ts",
)  # fmt: skip
"""What a view adds of a row's session."""


@dataclass(frozen=True)
class View:
    """A view: what it adds to which table, the tables it reads (that one first), its SQL with these in braces."""

    name: str
    comment: str
    tables: tuple[str, ...]
    sql: str

    def of(self, names: dict[str, str] | None = None) -> str:
        """The SQL over tables that are known by these names, by their own otherwise."""
        return self.sql.format(**{table: (names or {}).get(table, table) for table in self.tables})


def _session(without: tuple[str, ...] = ()) -> str:
    return ", ".join(f"s.{name}" for name in SESSION if name not in without)


def _by_session(name: str, table: str, rows: str, more: str = "") -> View:
    sql = (
        f"SELECT t.*, {_session()}, p.source{more} FROM {{{table}}} t LEFT JOIN {{sessions}} s ON s.stream_id = t.stream_id "  # noqa: S608  our names
        "LEFT JOIN {streams} p ON p.stream_id = t.stream_id"
    )
    comment = f"{rows} with client, broker, login and version of the session, and the capture point"
    return View(name, comment, (table, "sessions", "streams"), sql)


_FRAME = "{name}.stream_id = t.stream_id AND {name}.direction = t.direction AND {name}.stream_offset = t.stream_offset"

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
    f"SELECT t.*, {_session(('version',))}, c.path AS first_path, p.source FROM {{frames}} t "  # noqa: S608
    "LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {captures} c ON c.capture_id = t.first_capture_id "
    "LEFT JOIN {streams} p ON p.stream_id = t.stream_id",
)
FINDING_DETAILS = View(
    "finding_details",
    "Findings with the rule, the session, the capture point, the frame, and the capture and packet that brought its first byte",
    ("compliance_findings", "rules", "sessions", "frames", "raw_frames", "captures", "streams"),
    f"SELECT t.*, k.title, k.clause, {_session()}, p.source, f.command, f.destination, r.kind, c.path AS first_path, r.first_packet "  # noqa: S608
    "FROM {compliance_findings} t LEFT JOIN {rules} k ON k.id = t.rule_id "
    f"LEFT JOIN {{sessions}} s ON s.stream_id = t.stream_id LEFT JOIN {{frames}} f ON {_FRAME.format(name='f')} "
    f"LEFT JOIN {{raw_frames}} r ON {_FRAME.format(name='r')} LEFT JOIN {{captures}} c ON c.capture_id = r.first_capture_id "
    "LEFT JOIN {streams} p ON p.stream_id = t.stream_id",
)

RECEIPT_DETAILS = View(
    "receipt_details",
    "Receipts with destination and content-type of the frame that asks, client, broker, login and version of the session, and the capture point",
    ("receipts", "sessions", "streams", "frames"),
    f"SELECT t.*, f.destination, f.content_type, f.body_octets, {_session()}, p.source FROM {{receipts}} t "  # noqa: S608
    "LEFT JOIN {frames} f ON f.stream_id = t.stream_id AND f.direction = 'c2s' AND f.stream_offset = t.request_offset "
    "LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {streams} p ON p.stream_id = t.stream_id",
)

LAYERS_SAID = (
    "SELECT stream_id, max(CASE WHEN kind = 'tls' THEN close_reason END) AS tls_alert, "
    "max(CASE WHEN kind IN ('websocket', 'sockjs') THEN close_code END) AS websocket_code, "
    "max(CASE WHEN kind IN ('websocket', 'sockjs') THEN closed_by END) AS websocket_closed_by FROM {transports} GROUP BY stream_id"
)
"""What the layers below STOMP said at their close."""

BY_LAYER = (
    "CASE WHEN close_cause NOT IN ('unknown', 'reset') THEN close_cause WHEN websocket_code = 1009 THEN 'size_limit' "
    "WHEN tls_alert IS NOT NULL AND websocket_code IS NOT NULL THEN 'unknown' WHEN tls_alert IS NOT NULL THEN 'tls_alert' "
    "WHEN websocket_code IS NOT NULL THEN 'websocket_close' ELSE close_cause END"
)
"""The cause of a session, where its own does not tell it: by what layers said; 1009 is `message too big` (RFC 6455, 7.4.1)."""

GOES_AWAY = (
    "closed_by = 'server' AND (by_layer IN ('unknown', 'reset') OR (by_layer = 'websocket_close' AND websocket_code = 1001) "
    "OR (by_layer = 'error' AND lower(concat(coalesce(error_message, ''), coalesce(error_detail, ''))) LIKE '%shutdown%'))"
)
"""A close by the broker for which the connection shows no reason of its own, or which says that the broker stops (1001, RabbitMQ's ERROR)."""

TOGETHER = 3
"""How many connections of a broker that end so within a second show that it stopped."""

SESSION_ENDS = View(
    "session_ends",
    "Sessions with `cause`: close_cause, and what only other tables show: tls_alert, websocket_close, broker_stop (three and more connections "
    "of a broker that it closed within a second, without another reason), and with `cause_evidence`",
    ("sessions", "streams", "transports"),
    "WITH seen AS (SELECT t.*, c.source, c.close_kind, c.closed_by, c.rst_by, l.tls_alert, l.websocket_code, l.websocket_closed_by "  # noqa: S608
    f"FROM {{sessions}} t LEFT JOIN {{streams}} c ON c.stream_id = t.stream_id LEFT JOIN ({LAYERS_SAID}) l ON l.stream_id = t.stream_id), "
    f"layered AS (SELECT *, {BY_LAYER} AS by_layer FROM seen), "
    f"gone AS (SELECT *, CASE WHEN {GOES_AWAY} THEN closed_ns END AS gone_ns FROM layered), "
    "counted AS (SELECT *, count(gone_ns) OVER (PARTITION BY source, server_ip ORDER BY coalesce(gone_ns, -2000000000) "
    "RANGE BETWEEN 1000000000 PRECEDING AND 1000000000 FOLLOWING) AS gone_together FROM gone), "
    f"told AS (SELECT *, CASE WHEN gone_ns IS NOT NULL AND gone_together >= {TOGETHER} THEN 'broker_stop' ELSE by_layer END AS cause FROM counted) "
    "SELECT *, CASE WHEN cause = 'broker_stop' THEN concat(CAST(gone_together AS STRING), "
    "' connections of the broker closed by it within a second; ', coalesce(close_evidence, '')) "
    "WHEN cause = 'tls_alert' THEN concat('alert ', tls_alert, '; ', coalesce(close_evidence, '')) "
    "WHEN cause <> close_cause AND websocket_code IS NOT NULL THEN concat('Close ', CAST(websocket_code AS STRING), ' of the ', "
    "coalesce(websocket_closed_by, 'side that is not known'), '; ', coalesce(close_evidence, '')) ELSE close_evidence END AS cause_evidence "
    "FROM told",
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
        _by_session("heartbeat_details", "heartbeats", "Heart-beats of a direction"),
        _by_session("heartbeat_gap_details", "heartbeat_violations", "Gaps between heart-beats"),
        FINDING_DETAILS,
    )
}
