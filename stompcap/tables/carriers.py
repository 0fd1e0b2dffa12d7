"""What carries STOMP, and who opened a connection, as people write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stompcap.units import endpoint

SPELLED = {"tls": "TLS", "websocket": "WebSocket", "wss": "WebSocket over TLS", "sockjs": "SockJS"}
"""The words of streams.transport; TCP alone is not mentioned."""

ORIGINS = {"proxy": "PROXY", "x_forwarded_for": "X-Forwarded-For, not proven", "forwarded": "Forwarded, not proven"}
PROBE = "proxy_local"


def carried(transport: str | None) -> str:
    """`over TLS`; empty for plain TCP."""
    name = SPELLED.get(transport or "")
    return f"over {name}" if name else ""


def opened_by(row: Mapping[str, Any]) -> str:
    """Who opened the connection of a row with the columns of an origin, and what says so; empty where nothing does."""
    if row["origin_source"] == PROBE:
        return "a probe of the balancer"
    if row["origin_ip"] is None:
        return ""
    port = row["origin_port"]
    end = row["origin_ip"] if port is None else endpoint(row["origin_ip"], port)
    return f"for {end} ({ORIGINS[row['origin_source']]})"
