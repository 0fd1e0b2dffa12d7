"""Who a session's client is: the first name that it has; a login that is masked is none.

Relation `clients` has that told once for each session, as `s` in the SQL of incidents, and `ends` also why the session ended.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from stompcap.views import VIEWS

SUBJECT, SUBJECT_KIND, BROKER = "s.subject", "s.subject_kind", "s.broker"
_LOGIN = "CASE WHEN s.login LIKE '%***%' THEN NULL ELSE nullif(s.login, '') END"
_OF_SESSION = (
    "stream_id", "server_product", "client_product", "client_ip", "client_port", "server_ip", "server_port", "opened_ns", "opened_ts",
    "closed_ns", "last_ns", "outcome", "end_kind", "ended_by", "close_cause", "error_message", "error_detail", "gap_octets",
    "heartbeat_c2s_ms", "heartbeat_s2c_ms",
)  # fmt: skip

CLIENTS = f"""
    SELECT {", ".join(f"s.{name}" for name in _OF_SESSION)}, p.source, p.closed_by, p.octets_s2c, p.rtt_client_us,
           CASE WHEN ({_LOGIN}) IS NOT NULL THEN 'login' ELSE 'client' END AS subject_kind,
           coalesce({_LOGIN}, nullif(s.client_id, ''), nullif(s.user_agent, ''), s.client_ip, '') AS subject,
           concat(s.server_ip, ':', CAST(s.server_port AS STRING)) AS broker
    FROM sessions s JOIN streams p ON p.stream_id = s.stream_id"""

ENDS = f"""
    SELECT s.*, e.cause, e.cause_evidence FROM ({VIEWS["session_ends"].of()}) e JOIN clients s ON s.stream_id = e.stream_id"""

CTES = {"clients": CLIENTS, "ends": ENDS}
