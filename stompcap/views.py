"""Views of the lake: the joins that most questions need, declared once for DuckDB, Spark and a metastore.

Each has all columns of one table and adds those of the session, the frame, the rule or the capture that a row belongs to; it has exactly
the rows of that table. In its SQL a table stands in braces, because its full name depends on where the view is made.
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
        FRAME_DETAILS,
        _by_session(
            "delivery_details", "deliveries", "Deliveries, whether they are `not_settled`, or `measured` (their latency counts),",
            f", ({NOT_SETTLED.sql('t')}) AS not_settled, ({MEASURED.sql('t')}) AS measured",
        ),
        _by_session("subscription_details", "subscriptions", "Subscriptions"),
        _by_session("transaction_details", "transactions", "Transactions"),
        _by_session("receipt_details", "receipts", "Receipts"),
        JOURNEY_DETAILS,
        _by_session("heartbeat_details", "heartbeats", "Heart-beats of a direction"),
        _by_session("heartbeat_gap_details", "heartbeat_violations", "Gaps between heart-beats"),
        FINDING_DETAILS,
    )
}
