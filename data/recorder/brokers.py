"""Real brokers, each on a loopback address of its own and STOMP's usual port, started for one recording.

RabbitMQ and ActiveMQ come from Debian packages, Artemis from Maven Central (artemis/EmbeddedBroker.java). Each gets
a configuration, a home and a log below a scratch folder, knows the users of the planned sessions, and listens on
nothing but loopback.
"""
from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from xml.sax.saxutils import quoteattr

from data.recorder.needs import maven_jars
from data.recorder.process import Process, listens
from data.recorder.users import User, user_for

PORT = 61613
EMBEDDED = Path(__file__).parent / "artemis" / "EmbeddedBroker.java"


def lets_in(address: str, user: User, before: bytes = b"") -> bool:
    """Whether the broker at that address answers this user's CONNECT, with these octets before it, with CONNECTED."""
    connect = f"CONNECT\naccept-version:1.2\nhost:/\nlogin:{user.login}\npasscode:{user.passcode}\n\n\0"
    try:
        with socket.create_connection((address, PORT), timeout=2) as one:
            one.sendall(before + connect.encode())
            return one.recv(4096).startswith(b"CONNECTED")
    except OSError:
        return False


class Broker(ABC):
    """A broker that can be started, paused and stopped; `name` is its key everywhere else."""

    name: str
    address: str
    beat_ms: int  # the shortest heart-beat interval this broker keeps
    process: Process

    def __init__(self, home: Path, cache: Path) -> None:
        self.home = home
        self.cache = cache

    @abstractmethod
    def start(self, stack: ExitStack, users: list[User]) -> Process:
        """Write the configuration and start the process on `stack`."""

    def ready(self, probe: User) -> bool:
        """Whether it lets a user in that it must know."""
        return lets_in(self.address, probe)

    @contextmanager
    def running(self, users: list[User]) -> Iterator[Broker]:
        """The broker, up and accepting STOMP connections until the context ends."""
        probe = user_for(f"{self.name}-probe")
        self.home.mkdir(parents=True, exist_ok=True)
        if listens(self.address, PORT):
            raise RuntimeError(f"{self.address}:{PORT} is taken: is another recording running?")
        with ExitStack() as stack:
            self.process = self.start(stack, [*users, probe])
            # RabbitMQ listens before it has read its users: only a successful login shows that it is ready.
            self.process.wait_until(lambda: self.ready(probe), 120, self.name)
            yield self

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The broker stopped by SIGSTOP: silent, its kernel still acknowledging what clients send."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


class RabbitMQ(Broker):
    """RabbitMQ with its STOMP plug-in; a node, a port mapper and a cookie of its own, AMQP off."""

    name = "rabbitmq"
    address = "127.0.0.11"
    beat_ms = 1000
    plugins = "rabbitmq_stomp"

    def listeners(self) -> str:
        """What it listens on, as lines of rabbitmq.conf."""
        return f"stomp.listeners.tcp.1 = {self.address}:{PORT}\n"

    def start(self, stack: ExitStack, users: list[User]) -> Process:
        """Definitions with salted passwords, a port mapper, then the node."""
        home = self.home
        salt = b"stmp"

        def salted(passcode: str) -> str:
            return base64.b64encode(salt + hashlib.sha256(salt + passcode.encode()).digest()).decode()

        definitions = {
            "users": [{
                "name": user.login, "tags": "",
                "password_hash": salted(user.passcode),
                "hashing_algorithm": "rabbit_password_hashing_sha256",
            } for user in users],
            "vhosts": [{"name": "/"}],
            "permissions": [{"user": user.login, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
                            for user in users],
        }
        (home / "definitions.json").write_text(json.dumps(definitions))
        (home / "rabbitmq.conf").write_text(
            f"listeners.tcp = none\n{self.listeners()}"
            f"load_definitions = {home}/definitions.json\n"
            "log.console = true\nlog.console.level = info\nlog.file = false\n"
        )
        (home / "enabled_plugins").write_text(f"[{self.plugins}].\n")
        mapper, nodes = "14369", "14370"  # below those that the kernel gives to clients
        env = {
            "HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": mapper,
            "RABBITMQ_NODENAME": "stompcap-recorder@localhost", "RABBITMQ_DIST_PORT": nodes,
            "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"), "RABBITMQ_ADVANCED_CONFIG_FILE": str(home / "advanced.config"),
            "RABBITMQ_MNESIA_BASE": str(home / "mnesia"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "enabled_plugins"), "RABBITMQ_LOG_BASE": str(home),
            "RABBITMQ_PID_FILE": str(home / "node.pid"), "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none",
        }
        # We started the port mapper, so we end it; Erlang would leave one behind.
        port_mapper = stack.enter_context(
            Process(["epmd", "-port", mapper, "-address", "127.0.0.1"], home / "epmd.log", env))
        port_mapper.wait_until(lambda: listens("127.0.0.1", int(mapper)), 10, "epmd")
        return stack.enter_context(
            Process(["/usr/lib/rabbitmq/bin/rabbitmq-server"], home / "broker.log", env, cwd=home))


class ActiveMQ(Broker):
    """ActiveMQ Classic: one STOMP connector, users in the configuration, nothing kept on disk."""

    name = "activemq"
    address = "127.0.0.12"
    beat_ms = 500

    def start(self, stack: ExitStack, users: list[User]) -> Process:
        """An XML configuration, then the launcher JAR."""
        entries = "".join(
            f"<authenticationUser username={quoteattr(user.login)} password={quoteattr(user.passcode)} groups='users'/>"
            for user in users)
        config = self.home / "broker.xml"
        config.write_text(
            "<beans xmlns='http://www.springframework.org/schema/beans'"
            " xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:schemaLocation='"
            "http://www.springframework.org/schema/beans http://www.springframework.org/schema/beans/spring-beans.xsd "
            "http://activemq.apache.org/schema/core http://activemq.apache.org/schema/core/activemq-core.xsd'>"
            "<broker xmlns='http://activemq.apache.org/schema/core' brokerName='recorder' persistent='false'"
            " useJmx='false' useShutdownHook='true' advisorySupport='false'>"
            f"<plugins><simpleAuthenticationPlugin><users>{entries}</users></simpleAuthenticationPlugin></plugins>"
            f"<transportConnectors><transportConnector name='stomp' uri='stomp://{self.address}:{PORT}'/>"
            "</transportConnectors></broker></beans>"
        )
        command = ["java", "-Xmx256m", "-Dactivemq.home=/usr/share/activemq", f"-Dactivemq.base={self.home}",
                   "-jar", "/usr/share/activemq/bin/activemq.jar", "start", f"xbean:file:{config}"]
        return stack.enter_context(Process(command, self.home / "broker.log", cwd=self.home))


class Artemis(Broker):
    """Artemis embedded in a small Java program; users come from a file of `login passcode` lines."""

    name = "artemis"
    address = "127.0.0.13"
    beat_ms = 500

    def start(self, stack: ExitStack, users: list[User]) -> Process:
        """The embedding program, compiled as it is launched."""
        jars = maven_jars(self.cache / "artemis-2.42.0", EMBEDDED.parent / "pom.xml", "artemis-server")
        people = self.home / "users.txt"
        people.write_text("".join(f"{user.login} {user.passcode}\n" for user in users))
        command = ["java", "-Xmx256m", "-cp", f"{jars}/*", str(EMBEDDED), f"tcp://{self.address}:{PORT}", str(people)]
        return stack.enter_context(Process(command, self.home / "broker.log", cwd=self.home))


BROKERS: dict[str, type[Broker]] = {kind.name: kind for kind in (RabbitMQ, ActiveMQ, Artemis)}
