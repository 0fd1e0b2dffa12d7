"""A stage whose clients come by a route: layers upon their sockets, or a balancer on the way."""
from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.recorder.brokers import PORT
from data.recorder.client import Client, Connection, tcp
from data.recorder.scenario import Scenario, Stage
from data.recorder.transports.brokers import TLS_PORT, WS_PORT, WSS_PORT, HAProxy
from data.recorder.transports.tls import SClient, Tls, TlsSocket
from data.recorder.transports.websocket import WebSocket, WebSocketSocket
from data.recorder.truth import SessionLog
from data.recorder.users import User


@dataclass(frozen=True)
class Route:
    """How STOMP gets to the broker; `name` stands in the sessions' names.

    `proxy` is the version of the header, 0 for none; `at` the broker's port where it is not RabbitMQ's.
    """

    name: str
    tls: Tls | None = None
    websocket: WebSocket | None = None
    proxy: int = 0
    at: int | None = None

    @property
    def transport(self) -> str:
        """Its word in the tables."""
        return {(False, False): "tcp", (True, False): "tls", (False, True): "websocket", (True, True): "wss"}[
            self.tls is not None, self.websocket is not None]

    @property
    def port(self) -> int:
        """The broker's port for it."""
        return self.at or {"tcp": PORT, "tls": TLS_PORT, "websocket": WS_PORT, "wss": WSS_PORT}[self.transport]


@dataclass(frozen=True)
class Act:
    """A scenario by a route."""

    scenario: Scenario
    route: Route

    def users(self, broker: str) -> list[User]:
        """Who takes part."""
        return self.named.users(broker)

    @property
    def named(self) -> Scenario:
        """The scenario, its name with the route's."""
        one = self.scenario
        return Scenario(f"{self.route.name}-{one.name}", one.capture, one.play, one.versions, one.parts, one.brokers, one.registered)


@dataclass
class Way(Stage):
    """A stage of one route. `keys` is the capture's key log, `resumable` the session that TLS goes on with."""

    route: Route = field(default_factory=lambda: Route("tcp"))
    keys: Path = Path()
    haproxy: HAProxy | None = None
    went: list[tuple[SessionLog, tuple[str, int]]] = field(default_factory=list)
    resumable: tuple[ssl.SSLContext, ssl.SSLSession | None] | None = None

    def log(self, part: str = "", client: str = "scripted") -> SessionLog:
        """A new session's log, with the route's word."""
        made = super().log(part, client)
        made.carried["transport"] = self.route.transport
        return made

    def client(self, part: str = "") -> Client:
        """A scripted client by the route."""
        log = self.log(part)
        made = Client(log, (self.broker.address, self.route.port), self.dial(log))
        if self.haproxy:
            self.went.append((log, log.local))
            log.carried |= {"origin_ip": log.local[0], "origin_port": log.local[1]}
            log.remote = (self.broker.address, self.route.port)
        return made

    def dial(self, log: SessionLog) -> Connection:
        """What the client speaks STOMP on."""
        address, wanted = (self.broker.address, self.route.port), self.route.tls
        if wanted and wanted.by == "s_client":
            return SClient(address, wanted, self.keys, log.carried)
        under: Any
        if self.haproxy:
            under = tcp((self.haproxy.address, self.haproxy.port(self.route.port, self.route.proxy)), ("127.0.0.31", 0))
        else:
            under = tcp(address)
        if wanted:
            context, session = self.resumable or (None, None)
            under = TlsSocket(under, wanted, self.keys, log.carried, session, context)
        if self.route.websocket:
            under = WebSocketSocket(under, f"{self.broker.address}:{self.route.port}", self.route.websocket, log.carried)
        return under

    def found_beyond(self) -> None:
        """Take from HAProxy's log where each session went on from."""
        for log, origin in self.went:
            assert self.haproxy
            log.local = self.haproxy.beyond(origin)
