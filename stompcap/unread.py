"""What connections carried that is not read, in words: TLS, WebSocket, SockJS over HTTP and other protocols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from stompcap.units import counted

NAMES = {
    "tls": "TLS", "http": "HTTP", "amqp": "AMQP", "mqtt": "MQTT", "openwire": "OpenWire", "core": "Artemis Core",
    "other": "an unknown protocol",
}  # fmt: skip
LAYERS = {"websocket": "WebSocket", "wss": "WebSocket", "sockjs": "SockJS over HTTP"}
WHY = {"TLS": "not decrypted"} | dict.fromkeys(LAYERS.values(), "not read")
NOT_KEPT = "not kept"


def kinds(rows: Iterable[Mapping[str, Any]], ports: Collection[int] | None = None) -> list[str]:
    """How many connections there were of each protocol and on which port, the most first; STOMP is left out.

    `rows` have protocol, transport, server_port and connections, and `refused` where the other side refused what was asked for: how it
    did. `ports` are those on which all are told of, None for all; on others only TLS, WebSocket and SockJS are, in which STOMP may be.
    """
    counts: Counter[tuple[str | None, int, str | None]] = Counter()
    for row in rows:
        name = LAYERS.get(row["transport"]) or NAMES.get(row["protocol"])
        if row["protocol"] != "stomp" and (ports is None or row["server_port"] in ports or name in WHY):
            counts[name, row["server_port"], row.get("refused")] += row["connections"]
    return [_line(name, n, port, refused) for (name, port, refused), n in counts.most_common()]


def refusals(transports: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """By stream, how a handshake of TLS or WebSocket was refused."""
    return {row["stream_id"]: row["reason"] for row in transports if row["status"] == "refused"}


def _line(name: str | None, number: int, port: int, refused: str | None) -> str:
    why = f"refused: {refused}" if refused else WHY.get(name or "", NOT_KEPT)
    return f"{counted(number, 'connection')} of {name} on port {port}, {why}"
