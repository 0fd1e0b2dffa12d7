"""The options of a run: one frozen record that is sent to Spark's workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from stompcap.settings import Settings

# RFC 6335 registers none; these are the default ports of brokers: STOMP, STOMP over TLS, Artemis (all protocols), Apollo,
# and STOMP inside WebSocket on RabbitMQ and ActiveMQ.
STOMP_PORTS = frozenset({61613, 61614, 61616, 61612, 61617, 61623, 61624, 15673, 15674})

SPLIT_OCTETS = 1 << 26

LIMIT_VARIABLE = "STOMPCAP_MAX_DECOMPRESSED_OCTETS"
"""Environment variable: the octets that a compressed capture may decompress to, where no option sets it."""


@dataclass(frozen=True)
class Options:
    """Options that change the content of tables.

    Except `split_octets`, how much of a capture one task reads, and `max_decompressed`, the size beyond which a compressed one is
    refused (None: the default of `stompcap.capture.compressed`).

    `ports` are those of servers on which a command's line shows STOMP where a frame may begin, or EOLs alone do; `all_ports` searches
    further for a whole frame. A connection that begins with STOMP is found on any port. `body_preview` counts octets.
    `ack_scope` is auto, subscription or connection. `overlap` is first or last. `settings` are severities and thresholds.
    `idle_timeout`: seconds of silence after which packets of the same endpoints are another connection.
    `vlan`: VLAN ids separate connections. `tunnels`: the innermost packet of a tunnel counts, not the outer one.
    """

    source: str = "default"
    ports: frozenset[int] = field(default=STOMP_PORTS)
    all_ports: bool = False
    body_preview: int = 256
    keep_credentials: bool = False
    ack_scope: str = "auto"
    overlap: str = "first"
    split_octets: int = SPLIT_OCTETS
    settings: Settings = field(default_factory=Settings)
    vlan: bool = False
    tunnels: bool = True
    max_decompressed: int | None = None
    idle_timeout: int = 86_400

    @property
    def idle_ns(self) -> int:
        """`idle_timeout` in nanoseconds."""
        return self.idle_timeout * 10**9
