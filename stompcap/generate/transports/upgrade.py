"""The HTTP/1.1 request that asks for WebSocket, and the answer that grants it (RFC 6455, 4), as browsers and RabbitMQ write them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
HOST = "broker.example"
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True)
class Upgrade:
    """What is asked for: a path, STOMP in one of these versions, and an extension; `extension` is what the server grants of it.

    `forwarded_for` is the client's address as a proxy tells it.
    """

    path: str
    versions: Sequence[str]
    version: str
    offer: str = ""
    extension: str = ""
    forwarded_for: str = ""

    @property
    def subprotocol(self) -> str:
        """The one that the server chooses: as STOMP's versions are called in WebSocket."""
        return protocol(self.version)

    def request(self, dice: Random) -> tuple[bytes, bytes]:
        """The request and its key. The token and the cookie are made up: they must be found nowhere."""
        key = base64.b64encode(dice.randbytes(16))
        lines = [
            f"GET {self.path}?access_token=generated-{dice.getrandbits(64):016x} HTTP/1.1",
            f"Host: {HOST}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            f"Origin: https://{HOST}",
            f"User-Agent: {AGENT}",
            "Sec-WebSocket-Version: 13",
            f"Cookie: session=generated-{dice.getrandbits(64):016x}",
            f"Sec-WebSocket-Key: {key.decode()}",
            f"Sec-WebSocket-Protocol: {', '.join(map(protocol, self.versions))}",
        ]
        lines += [f"Sec-WebSocket-Extensions: {self.offer}"] * bool(self.offer)
        lines += [f"X-Forwarded-For: {self.forwarded_for}"] * bool(self.forwarded_for)
        return _head(lines), key

    def answer(self, key: bytes) -> bytes:
        """The answer to a request with this key."""
        accept = base64.b64encode(hashlib.sha1(key + GUID, usedforsecurity=False).digest())
        lines = [
            "HTTP/1.1 101 Switching Protocols",
            "connection: Upgrade",
            "date: Mon, 21 Sep 2026 14:13:20 GMT",
            f"sec-websocket-accept: {accept.decode()}",
            f"sec-websocket-protocol: {self.subprotocol}",
            "server: Cowboy",
            "upgrade: websocket",
        ]
        lines += [f"sec-websocket-extensions: {self.extension}"] * bool(self.extension)
        return _head(lines)


def protocol(version: str) -> str:
    """The sub-protocol of a version of STOMP: v12.stomp (IANA's WebSocket Subprotocol Name Registry)."""
    return f"v{version.replace('.', '')}.stomp"


def sockjs_path(dice: Random) -> str:
    """The path of a SockJS session over WebSocket: of its server and of itself, both by chance."""
    name = "".join(dice.choice(LETTERS) for _ in range(8))
    return f"/stomp/{dice.randrange(1_000):03}/{name}/websocket"


def _head(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()
