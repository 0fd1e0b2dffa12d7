"""Client libraries: the sessions of ../libraries/play.py by stompjs over `ws` and sockjs-client in Node, and by vertx-stomp over TLS."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from data.recorder.libraries.install import PROGRAMS
from data.recorder.libraries.play import run
from data.recorder.needs import maven_jars
from data.recorder.scenario import session_name
from data.recorder.transports.brokers import HERE, TLS_PORT
from data.recorder.transports.stage import Way
from data.recorder.truth import Record, SessionLog
from data.recorder.users import User, user_for

TLS = {"TLSv1.2": 12, "TLSv1.3": 13}
URLS = {"websocket": "ws", "wss": "wss", "sockjs": "http"}


@dataclass(frozen=True)
class Asked:
    """One session: its name behind `stompjs`, version, mode, transport, and options that sessions.cjs and sockets.cjs know."""

    name: str
    version: str
    mode: str
    transport: str
    port: int
    path: str = "/ws"
    options: dict[str, Any] = field(default_factory=dict)

    def session(self, broker: str) -> str:
        """The session's name."""
        return session_name(broker, "stompjs", self.name, self.version)

    def user(self, broker: str) -> User:
        """Who it logs in as."""
        return user_for(self.session(broker))


def play(way: Way, sessions: list[Asked]) -> None:
    """All sessions in one program; suites of TLS and the like are in their options."""
    program = PROGRAMS["stompjs"]
    node, *rest = program.command(way.broker.cache)
    command = [node, f"--tls-keylog={way.keys}", *rest] if any(one.transport == "wss" for one in sessions) else [node, *rest]
    logs: dict[str, SessionLog] = {}
    asked = []
    for one in sessions:
        name = one.session(way.broker.name)
        log = SessionLog(session=name, broker=way.broker.name, client=program.client, user=one.user(way.broker.name))
        log.carried["transport"] = one.transport
        way.logs.append(log)
        logs[name] = log
        url = f"{URLS[one.transport]}://{way.broker.address}:{one.port}{one.path}"
        asked.append({"session": name, "login": log.user.login, "passcode": log.user.passcode, "version": one.version, "mode": one.mode,
                      "queue": way.queue(f"{one.name}.{one.version}"), "url": url, "sockjs": one.transport == "sockjs", **one.options})
    run(way, command, logs, asked, "stompjs")


def vertx_sessions(broker: str) -> list[tuple[str, str, str]]:
    """Sessions of vertx-stomp: name, TLS version, STOMP version."""
    return [(session_name(broker, "vertx", f"tls{number}-{mode}", version), word, version) for word, number in TLS.items()
            for mode, version in (("auto", "1.1"), ("client", "1.2"), ("individual", "1.2"))]


def play_vertx(way: Way) -> None:
    """All sessions of vertx-stomp in one JVM, whose secrets an agent logs."""
    program = PROGRAMS["vertx"]
    java, *rest = program.command(way.broker.cache)
    agent = maven_jars(way.broker.cache / "extract-tls-secrets-4.0.0", HERE / "agent" / "pom.xml", "extract-tls-secrets")
    command = [java, f"-javaagent:{agent}/extract-tls-secrets-4.0.0.jar={way.keys}", *rest]
    logs: dict[str, SessionLog] = {}
    asked: list[Record] = []
    for name, tls, version in vertx_sessions(way.broker.name):
        log = SessionLog(session=name, broker=way.broker.name, client=program.client, user=user_for(name))
        log.carried |= {"transport": "tls", "tls": {"version": tls, "resumed": False, "sni": None, "alpn": None}}
        way.logs.append(log)
        logs[name] = log
        mode = name.split("-")[3]
        asked.append({"session": name, "login": log.user.login, "passcode": log.user.passcode, "version": version, "tls": tls,
                      "mode": "client-individual" if mode == "individual" else mode, "queue": way.queue(f"{mode}.{tls}")})
    run(way, command, logs, asked, "vertx", TLS_PORT)
