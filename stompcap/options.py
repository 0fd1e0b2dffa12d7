"""The options of a run: one frozen record that is sent to Spark's workers."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from stompcap.settings import Settings

# RFC 6335 registers none; these are the default ports of brokers: STOMP, STOMP over TLS, Artemis (all protocols), Apollo,
# and STOMP inside WebSocket on RabbitMQ and ActiveMQ.
STOMP_PORTS = frozenset({61613, 61614, 61616, 61612, 61617, 61623, 61624, 15673, 15674})

LIMIT_VARIABLE = "STOMPCAP_MAX_DECOMPRESSED_OCTETS"
"""Environment variable: the octets that a compressed capture may decompress to, where no option sets it."""

KEYLOG_VARIABLE = "STOMPCAP_KEYLOG"
"""Environment variable: the key logs of TLS, where no option names any."""

HASH_KEY_VARIABLE = "STOMPCAP_HASH_KEY"
"""Environment variable: the key of body_hash and content_hash, 32 hexadecimal digits, instead of the lake's own."""

ACK_SCOPES = ("auto", "subscription", "connection")
"""What a cumulative ACK settles: `subscription` (the specification), `connection` (RabbitMQ); `auto` goes by product."""

OVERLAPS = ("first", "last")
"""Which octets are kept where captured segments differ: those captured first or last."""


def one_of(words: Sequence[str]) -> str:
    """Words that may be chosen, as messages have them: `a, b or c`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _given_key() -> bytes:
    """The key that the environment has, empty if none; a wrong one is told by `stompcap.lake.hash_key`."""
    given = os.environ.get(HASH_KEY_VARIABLE, "")
    return bytes.fromhex(given) if re.fullmatch("[0-9A-Fa-f]{32}", given) else b""


@dataclass(frozen=True)
class Options:
    """Options that change the content of tables; their defaults are here and nowhere else.

    Except `split_octets`, how much of a capture one task reads, `max_decompressed`, the size beyond which a compressed one is
    refused (None: the default of `stompcap.capture.compressed`), and `keylog`: with more keys more can be read.

    `ports` are those of servers on which a command's line shows STOMP where a frame may begin, or EOLs alone do; `all_ports` searches
    further for a whole frame. A connection that begins with STOMP is found on any port. `body_preview` counts octets.
    `ack_scope` is one of ACK_SCOPES, `overlap` one of OVERLAPS. `settings` are severities and thresholds.
    `idle_timeout`: seconds of silence after which packets of the same endpoints are another connection.
    `vlan`: VLAN ids separate connections. `tunnels`: the innermost packet of a tunnel counts, not the outer one.
    `keylog` names key logs of TLS (RFC 9850): files, folders or globs, never what is in them. Each task reads them.
    `hash_key` is the key of body_hash and content_hash, which are null without one: nothing shows or records it.
    """

    source: str = "default"
    ports: frozenset[int] = field(default=STOMP_PORTS)
    all_ports: bool = False
    body_preview: int = 256
    keep_credentials: bool = False
    ack_scope: str = "auto"
    overlap: str = "first"
    split_octets: int = 1 << 26
    settings: Settings = field(default_factory=Settings)
    vlan: bool = False
    tunnels: bool = True
    max_decompressed: int | None = None
    idle_timeout: int = 86_400
    keylog: tuple[str, ...] = ()
    hash_key: bytes = field(default_factory=_given_key, repr=False)

    @property
    def idle_ns(self) -> int:
        """`idle_timeout` in nanoseconds."""
        return self.idle_timeout * 10**9
