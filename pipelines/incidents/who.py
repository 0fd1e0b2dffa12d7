"""Who a session's client is: the first name that it has; a login that is masked is none."""

from __future__ import annotations

_LOGIN = "CASE WHEN s.login LIKE '%***%' THEN NULL ELSE nullif(s.login, '') END"
SUBJECT = f"coalesce({_LOGIN}, nullif(s.client_id, ''), nullif(s.user_agent, ''), s.client_ip, '')"
SUBJECT_KIND = f"CASE WHEN ({_LOGIN}) IS NOT NULL THEN 'login' ELSE 'client' END"
BROKER = "concat(s.server_ip, ':', CAST(s.server_port AS STRING))"
