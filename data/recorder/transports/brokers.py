"""The brokers with more listeners: STOMP in WebSocket, in TLS, in both, and HAProxy before them."""
from __future__ import annotations

import re
import subprocess
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from data.recorder.brokers import EMBEDDED, PORT, ActiveMQ, Artemis, Broker, RabbitMQ, lets_in
from data.recorder.needs import maven_jars
from data.recorder.process import Process, listens
from data.recorder.transports.tls import certificate
from data.recorder.users import User

TLS_PORT, WS_PORT, WSS_PORT = 61614, 15674, 15673
CLASSIC_WS_PORT, SPRING_PORT = 61623, 8080
HERE = Path(__file__).parent
LARGEST = 300_000
"""Octets of a frame of WebSocket that RabbitMQ takes here, so that a larger one can be sent."""


def header(address: str) -> bytes:
    """What a balancer says before a probe."""
    return f"PROXY TCP4 127.0.0.1 {address} 1 {PORT}\r\n".encode()


class RabbitMQEverywhere(RabbitMQ):
    """RabbitMQ with Web STOMP and with TLS for both."""

    plugins = "rabbitmq_stomp,rabbitmq_web_stomp"
    behind_proxy = False
    frames = "text"

    def listeners(self) -> str:
        """STOMP and Web STOMP, each with TLS and without."""
        made, key = certificate(self.home)
        proxied = "stomp.proxy_protocol = true\nweb_stomp.proxy_protocol = true\n" if self.behind_proxy else ""
        # Tickets of TLS 1.3 have no word in rabbitmq.conf.
        (self.home / "advanced.config").write_text(
            f'[{{rabbit, [{{ssl_options, [{{cacertfile, "{made}"}}, {{certfile, "{made}"}}, {{keyfile, "{key}"}}, {{verify, verify_none}},'
            " {versions, ['tlsv1.3', 'tlsv1.2']}, {session_tickets, stateful}]}]}].\n")
        secured = f"cacertfile = {made}\ncertfile = {made}\nkeyfile = {key}\n"
        return (
            super().listeners()
            + f"stomp.listeners.ssl.1 = {self.address}:{TLS_PORT}\n"
            + f"web_stomp.tcp.listener = {self.address}:{WS_PORT}\n"
            + f"web_stomp.ssl.listener = {self.address}:{WSS_PORT}\n"
            + "".join(f"web_stomp.ssl.{line}\n" for line in secured.splitlines())
            + f"web_stomp.ws_frame = {self.frames}\nweb_stomp.ws_opts.max_frame_size = {LARGEST}\n{proxied}"
        )


class RabbitMQBinary(RabbitMQEverywhere):
    """The same, its messages binary."""

    frames = "binary"


class RabbitMQBehindProxy(RabbitMQEverywhere):
    """The same, every listener behind balancers that say who connected."""

    behind_proxy = True

    def ready(self, probe: User) -> bool:
        """Whether it lets a user in, behind a header."""
        return lets_in(self.address, probe, header(self.address))


class ArtemisEverywhere(Artemis):
    """Artemis of the first version that knows PROXY; STOMP and WebSocket on one port, both with TLS on another."""

    options = ""

    def start(self, stack: ExitStack, users: list[User]) -> Process:
        """The embedding program with two acceptors."""
        jars = maven_jars(self.cache / "artemis-2.44.0", HERE / "artemis" / "pom.xml", "artemis-server")
        people, store = self.home / "users.txt", self.home / "broker.p12"
        people.write_text("".join(f"{user.login} {user.passcode}\n" for user in users))
        made, key = certificate(self.home)
        pack = ["openssl", "pkcs12", "-export", "-in", str(made), "-inkey", str(key), "-out", str(store), "-passout", "pass:broker"]
        subprocess.run(pack, check=True, capture_output=True)
        secured = f"sslEnabled=true;keyStorePath={store};keyStorePassword=broker;keyStoreType=PKCS12"
        command = ["java", "-Xmx256m", "-cp", f"{jars}/*", str(EMBEDDED), f"tcp://{self.address}:{PORT}?{self.options}useNio=true",
                   str(people), f"tcp://{self.address}:{TLS_PORT}?{self.options}{secured}"]
        return stack.enter_context(Process(command, self.home / "broker.log", cwd=self.home))


class ArtemisBehindProxy(ArtemisEverywhere):
    """The same, both acceptors behind balancers that say who connected."""

    options = "proxyProtocolEnabled=true;"

    def ready(self, probe: User) -> bool:
        """Whether it lets a user in, behind a header."""
        return lets_in(self.address, probe, header(self.address))


class ClassicEverywhere(ActiveMQ):
    """ActiveMQ Classic from Maven Central: Debian's package has no connector for WebSocket."""

    def start(self, stack: ExitStack, users: list[User]) -> Process:
        """The embedding program, compiled as it is launched."""
        jars = maven_jars(self.cache / "activemq-5.17.2", HERE / "classic" / "pom.xml", "activemq-http")
        people = self.home / "users.txt"
        people.write_text("".join(f"{user.login} {user.passcode}\n" for user in users))
        command = ["java", "-Xmx256m", "-cp", f"{jars}/*", str(HERE / "classic" / "ClassicBroker.java"), str(people),
                   f"ws://{self.address}:{CLASSIC_WS_PORT}", f"stomp://{self.address}:{PORT}"]
        return stack.enter_context(Process(command, self.home / "broker.log", cwd=self.home))


class Spring(Broker):
    """Spring's SimpleBroker in an embedded Tomcat; it asks nobody for a passcode."""

    name = "spring"
    address = "127.0.0.14"
    beat_ms = 1000

    def start(self, stack: ExitStack, users: list[User]) -> Process:
        """The embedding program, compiled as it is launched."""
        jars = maven_jars(self.cache / "spring-6.2.8", HERE / "spring" / "pom.xml", "spring-websocket")
        command = ["java", "-Xmx256m", "-cp", f"{jars}/*", str(HERE / "spring" / "SpringBroker.java"), self.address, str(SPRING_PORT),
                   str(self.beat_ms)]
        return stack.enter_context(Process(command, self.home / "broker.log", cwd=self.home))

    def ready(self, probe: User) -> bool:
        """Whether it answers SockJS's first question."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:{SPRING_PORT}/sockjs/info", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


class HAProxy:
    """HAProxy before a broker: ports of its own address lead to the broker's, with a header of version 1 or 2.

    Its log says from which port it has gone on to the broker.
    """

    address = "127.0.0.21"
    LINE = re.compile(r"from (\S+):(\d+) by (\S+):(\d+)")

    def __init__(self, home: Path, broker: str) -> None:
        self.home, self.broker = home, broker

    @staticmethod
    def port(port: int, version: int) -> int:
        """Its port for a broker's, and for a version of the header."""
        return port + 10_000 * version if port < 50_000 else port - 10_000 * version

    def start(self, stack: ExitStack) -> HAProxy:
        """Write the configuration and start it."""
        self.home.mkdir(parents=True, exist_ok=True)
        parts = ["global\n  log stdout format raw local0\n  maxconn 200\ndefaults\n  mode tcp\n  log global\n"
                 "  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n"
                 '  log-format "from %ci:%cp by %bi:%bp"\n']
        for port in (PORT, TLS_PORT, WS_PORT, WSS_PORT):
            for version, word in ((1, "send-proxy"), (2, "send-proxy-v2")):
                checks = "check inter 1500ms" if port == PORT else ""
                parts.append(f"listen p{port}v{version}\n  bind {self.address}:{self.port(port, version)}\n"
                             f"  server broker {self.broker}:{port} {word} {checks}\n")
        config = self.home / "haproxy.cfg"
        config.write_text("".join(parts))
        self.log = self.home / "haproxy.log"
        process = stack.enter_context(Process(["haproxy", "-f", str(config)], self.log))
        process.wait_until(lambda: listens(self.address, self.port(PORT, 1)), 10, "haproxy")
        time.sleep(1.0)
        return self

    def beyond(self, client: tuple[str, int], patience_s: float = 10.0) -> tuple[str, int]:
        """Where it went on from, for a client that it took; it says so when both sides have closed."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            for found in self.LINE.finditer(self.log.read_text(errors="replace")):
                if (found[1], int(found[2])) == client:
                    return found[3], int(found[4])
            time.sleep(0.1)
        raise RuntimeError(f"haproxy does not tell of {client}")
