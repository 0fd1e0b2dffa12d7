"""What carries generated conversations: writers between them and TCP, whose chance comes from the numbers of the connection."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from stompcap.generate.transports.packing import Deflate
from stompcap.generate.transports.proxy import Proxy
from stompcap.generate.transports.upgrade import Upgrade, sockjs_path
from stompcap.generate.transports.websocket import Habits, WebSocket
from stompcap.generate.transports.wire import CarriedWire
from stompcap.generate.transports.writer import Writer
from stompcap.generate.wire import STOMP_PORT

KEPT = "permessage-deflate"
NOT_KEPT = ("permessage-deflate; client_no_context_takeover", "permessage-deflate; server_no_context_takeover")
OFFER = "permessage-deflate; client_max_window_bits"
FRAGMENTS = 0.0, 0.2
"""How often a message is cut into fragments: by some clients and servers never."""
FORWARDED = 0.3
"""The share of WebSockets that come through a proxy."""
HTTP = "http/1.1"
PROBE = "health-check"
"""What carries nothing: a balancer's own connection."""


def carried_by(over: str, port: int, initial: tuple[int, int], version: str) -> CarriedWire:
    """A connection over the transport of that name, of a client that offers versions of STOMP up to `version`."""
    dice = Random(f"{over} {port} {initial}")  # noqa: S311 - traffic that anyone can make again is wanted
    server_port, writers = ALL[over]
    return CarriedWire(port, initial, server_port, writers(dice, version))


def _upgrade(dice: Random, version: str, path: str, deflated: bool) -> tuple[Upgrade, tuple[Deflate, Deflate] | None]:
    versions = [one for one in ("1.2", "1.1", "1.0") if one <= version]
    client = f"198.51.100.{dice.randrange(1, 255)}" if dice.random() < FORWARDED else ""
    if not deflated:
        return Upgrade(path, versions, version, forwarded_for=client), None
    extension = dice.choice((KEPT, KEPT, *NOT_KEPT))
    upgrade = Upgrade(path, versions, version, OFFER, extension, client)
    return upgrade, (Deflate("client_no" not in extension), Deflate("server_no" not in extension))


def _websocket(dice: Random, version: str, deflated: bool = False) -> list[Writer]:
    upgrade, deflate = _upgrade(dice, version, "/ws", deflated)
    return [WebSocket(dice, upgrade, Habits(dice.choice(FRAGMENTS), text=dice.random() < 0.7), deflate)]


def _sockjs(dice: Random, version: str) -> list[Writer]:
    upgrade, deflate = _upgrade(dice, version, sockjs_path(dice), dice.random() < 0.3)
    return [WebSocket(dice, upgrade, Habits(dice.choice(FRAGMENTS)), deflate, in_sockjs=True)]


def _tls(dice: Random, version: str, application: str = "") -> list[Writer]:
    # These import what only they need.
    if version == "1.2":
        from stompcap.generate.transports.tls12 import Tls12

        return [Tls12(dice, application)]
    from stompcap.generate.transports.tls13 import Tls13

    return [Tls13(dice, application)]


def _wss(dice: Random, version: str) -> list[Writer]:
    return [*_tls(dice, dice.choice(("1.2", "1.3", "1.3")), HTTP), *_websocket(dice, version, dice.random() < 0.5)]


OVER: dict[str, tuple[int, Callable[[Random, str], list[Writer]]]] = {
    "websocket": (15674, _websocket),
    "deflate": (15674, lambda dice, version: _websocket(dice, version, True)),
    "sockjs": (8080, _sockjs),
    "tls12": (61614, lambda dice, _: _tls(dice, "1.2")),
    "tls13": (61614, lambda dice, _: _tls(dice, "1.3")),
    "wss": (15673, _wss),
    "proxy": (STOMP_PORT, lambda dice, _: [Proxy(dice, STOMP_PORT)]),
}
"""The port of the server and the writers of each transport, the outermost first. The clients' versions of STOMP are no business of TLS."""
ALL = OVER | {PROBE: (STOMP_PORT, lambda dice, _: [Proxy(dice, STOMP_PORT, probe=True)])}
