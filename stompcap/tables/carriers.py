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


LAYERS = SPELLED | {"proxy": "PROXY", "http": "HTTP"}
"""The words of transports.kind and of events' layers."""

EVENTS = {
    "handshake": "handshake", "ping": "ping", "pong": "pong", "close": "close", "alert": "alert", "key_update": "key update",
    "sockjs_heartbeat": "heart-beat of its own", "unreadable": "cannot be read",
}  # fmt: skip
"""The words of transport_events.kind."""


def described(layer: Mapping[str, Any]) -> str:
    """A row of table transports in words: `TLS 1.3 TLS_AES_128_GCM_SHA256 (resumed)`."""
    name = LAYERS[layer["kind"]]
    said = [layer["tls_version"] or name, layer["cipher_suite"], layer["http_path"], layer["subprotocol"], layer["extensions"]]
    more = [
        layer["server_name"] and f"server name {layer['server_name']}", layer["alpn"] and f"ALPN {layer['alpn']}",
        layer["resumed"] and "resumed", layer["user_agent"] and f"user agent {layer['user_agent']}", _closed(layer),
        layer["status"] != "read" and f"{layer['status'].replace('_', ' ')}: {layer['reason']}",
    ]  # fmt: skip
    notes = "; ".join(filter(None, more))
    first = said[0] if said[0].startswith(name) else f"{name} {said[0]}"
    return " ".join(filter(None, [first, *said[1:], f"({notes})" if notes else ""]))


def _closed(layer: Mapping[str, Any]) -> str:
    by = layer["closed_by"] and f"by the {layer['closed_by']}"
    said = " ".join(filter(None, [by, None if layer["close_code"] is None else str(layer["close_code"]), layer["close_reason"]]))
    return f"closed {said}" if said else ""
