"""Client libraries: the sessions of ../libraries/play.py by stompjs over `ws` and sockjs-client in Node, and by vertx-stomp over TLS."""
from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.recorder.libraries.install import PROGRAMS
from data.recorder.libraries.play import run, take
from data.recorder.needs import maven_jars
from data.recorder.scenario import session_name
from data.recorder.transports import browser
from data.recorder.transports.brokers import HERE, TLS_PORT, WS_PORT, WSS_PORT
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
    logs, asked = _plan(way, sessions, program.client)
    run(way, command, logs, asked, "stompjs")


def play_browser(way: Way, sessions: list[Asked]) -> None:
    """All sessions in one page of Chromium. Each has a token in its URL, by which the capture tells which connection is whose."""
    PROGRAMS["stompjs"].command(way.broker.cache)  # installed
    logs, asked = _plan(way, sessions, PROGRAMS["stompjs"].client)
    for one in asked:
        token = user_for(f"{way.broker.name}-token-{one['session']}").passcode.replace("pc-", "tk-")
        one["url"] += f"?access_token={token}"
        logs[one["session"]].carried["secrets"] = [token]
    plan = way.broker.home / "plan_browser.json"
    plan.write_text(json.dumps({"address": way.broker.address, "beat_ms": way.broker.beat_ms, "sessions": asked}))
    take(browser.played(plan, way.broker.cache / "stompjs" / "node_modules" / "@stomp" / "stompjs", way.keys), logs)


def found_in(path: Path, keys: Path, logs: list[SessionLog]) -> None:
    """Take from the capture which connection asked with a session's token."""
    command = ["tshark", "-r", str(path), "-o", f"tls.keylog_file:{keys}", "-Y", "http.request", "-T", "fields"]
    names = ("http.request.uri", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport")
    for port in (WSS_PORT, WS_PORT):
        command += ["-d", f"tcp.port=={port},{'tls' if port == WSS_PORT else 'http'}"]
    command += [word for name in names for word in ("-e", name)]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        uri, source, sport, target, dport = line.split("\t")
        for log in logs:
            if log.carried.get("secrets", ["?"])[0] in uri:
                log.local, log.remote = (source, int(sport)), (target, int(dport))


def _plan(way: Way, sessions: list[Asked], client: str) -> tuple[dict[str, SessionLog], list[Record]]:
    """The sessions' logs by name, and what is asked of the program."""
    logs: dict[str, SessionLog] = {}
    asked = []
    for one in sessions:
        name = one.session(way.broker.name)
        log = SessionLog(session=name, broker=way.broker.name, client=client, user=one.user(way.broker.name))
        log.carried["transport"] = one.transport
        way.logs.append(log)
        logs[name] = log
        url = f"{URLS[one.transport]}://{way.broker.address}:{one.port}{one.path}"
        options = dict(one.options)
        if options.pop("secrets", False):
            words = ("cookie", "bearer", "token")
            hidden = [user_for(f"{way.broker.name}-{word}-{name}").passcode.replace("pc-", f"{word[:2]}-") for word in words]
            log.carried["secrets"] = hidden
            options["headers"] = {"Cookie": f"JSESSIONID={hidden[0]}; theme=dark", "Authorization": f"Bearer {hidden[1]}"}
            url += f"?token={hidden[2]}"
        asked.append({"session": name, "login": log.user.login, "passcode": log.user.passcode, "version": one.version, "mode": one.mode,
                      "queue": way.queue(f"{one.name}.{one.version}"), "url": url, "sockjs": one.transport == "sockjs", **options})
    return logs, asked


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
