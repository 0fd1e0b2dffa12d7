"""@stomp/stompjs over `ws` and sockjs-client in Node: the sessions of ../libraries/play.py, by WebSocket, wss and SockJS."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from data.recorder.libraries.install import PROGRAMS
from data.recorder.libraries.play import run
from data.recorder.scenario import session_name
from data.recorder.transports.stage import Way
from data.recorder.truth import SessionLog
from data.recorder.users import User, user_for

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
