"""What only these transports can do: pings instead of beats, closes with their codes, sessions of TLS that go on, new keys."""
from __future__ import annotations

import socket
import time
from typing import cast

from data.recorder.scenario import Scenario, Stage
from data.recorder.scenarios.bodies import pattern
from data.recorder.transports.brokers import LARGEST
from data.recorder.transports.stage import Way
from data.recorder.transports.tls import SClient, TlsSocket
from data.recorder.transports.websocket import WebSocketSocket

LATEST = ("1.2",)


def pings(stage: Stage) -> None:
    """The client pings at 0.6 of the interval and sends no beat: RabbitMQ takes pings for life, and its pongs for its own beats."""
    client, interval = stage.client(), stage.broker.beat_ms
    client.connect(stage.version, (interval, interval))
    under = cast(WebSocketSocket, client.socket)
    for number in range(9):
        time.sleep(0.6 * interval / 1e3)
        under.ping(b"ping %d" % number)
    client.disconnect()


def unended(stage: Stage) -> None:
    """The client closes the WebSocket (1000) without DISCONNECT; one of two messages was acknowledged."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "client-individual")
    for number in range(2):
        client.publish(queue, f"u{number}".encode())
    client.settle(client.messages(2)[0], 30)
    time.sleep(0.2)
    client.close()


def vanishes(stage: Stage) -> None:
    """TCP ends by FIN without Close."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.ask("SEND", [("destination", queue)], b"and gone")
    client.mine("fin")
    inner = cast(WebSocketSocket, client.socket).under
    cast(socket.socket, inner).shutdown(socket.SHUT_WR)
    client.reader.join(3)
    client.stopped = True
    client.socket.close()


def too_large(stage: Stage) -> None:
    """A message longer than the broker takes: it closes with 1009."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.ask("SEND", [("destination", queue)], b"fits")
    size = LARGEST if stage.product == "rabbitmq" else 70_000
    client.send("SEND", [("destination", queue), ("content-length", str(size))], b"x" * size)
    client.wait_closed(5)
    client.close()


def over(stage: Stage) -> None:
    """More than Tomcat's buffer for a message takes: it closes with 1009."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.publish(queue, b"fits")
    client.publish(queue, b"x" * 70_000)
    client.wait_closed(5)
    client.close()


def large(stage: Stage) -> None:
    """256 KiB to the broker, with a receipt; deflated it is short."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    body = b"".join(b"line %06d of a large text\n" % number for number in range(9709))[:1 << 18]
    client.ask("SEND", [("destination", queue), ("content-length", str(len(body)))], body)
    client.disconnect()


def both_ways(stage: Stage) -> None:
    """64 KiB of every octet to the broker and back."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "auto")
    client.publish(queue, pattern(1 << 16))
    client.messages(1)
    client.disconnect()


def broken(stage: Stage, wire: bytes) -> None:
    """After an ordinary SEND the client sends octets that break RFC 6455; the broker closes."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.ask("SEND", [("destination", queue)], b"well formed")
    cast(WebSocketSocket, client.socket).under.sendall(wire)
    client.wait_closed(5)
    client.close()


def masked(first: int, payload: bytes) -> bytes:
    """A short frame with its first octet as given and a mask (RFC 6455, 5.2)."""
    mask = b"\x11\x22\x33\x44"
    return bytes((first, 0x80 | len(payload))) + mask + bytes(octet ^ mask[at % 4] for at, octet in enumerate(payload))


def resumed(stage: Stage) -> None:
    """Two connections, the second going on with the TLS session of the first."""
    way = cast(Way, stage)
    for part in ("first", "second"):
        client, queue = way.client(part), way.queue(part)
        client.connect(stage.version)
        client.subscribe(queue, "client")
        client.publish(queue, f"in the {part}".encode())
        client.settle(client.messages(1)[0], 20)
        tls = cast(TlsSocket, client.socket)
        way.resumable = tls.context, tls.tls.session
        client.disconnect()


def new_keys(stage: Stage) -> None:
    """KeyUpdate of one direction, then of both, with messages between."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    under = cast(SClient, client.socket)
    client.subscribe(queue, "client-individual")
    for number in range(4):
        client.publish(queue, f"under key {number}".encode() * 20)
        client.settle(client.messages(1)[0], 10)
        under.change_keys(both=bool(number % 2))
    client.publish(queue, b"under the last keys")
    client.settle(client.messages(1)[0], 10)
    client.disconnect()


def simple(stage: Stage) -> None:
    """What Spring's SimpleBroker knows: no receipts, no ACKs, no transactions; beats for four intervals."""
    client, queue, interval = stage.client(), stage.queue(), stage.broker.beat_ms
    client.connect(stage.version, (interval, interval))
    client.beat(0.6 * interval)
    client.send("SUBSCRIBE", [("id", "s-1"), ("destination", queue), ("ack", "auto")])
    time.sleep(0.3)
    for number in range(5):
        client.publish(queue, f"simple {number}: ½ €".encode() * (1 + 40 * number), [("content-type", "text/plain;charset=utf-8")])
    client.messages(5)
    time.sleep(4 * interval / 1e3)
    client.disconnect()


def crlf(stage: Stage) -> None:
    """Beats of CRLF, which ActiveMQ's connector for WebSocket does not endure."""
    client, interval = stage.client(), stage.broker.beat_ms
    client.connect(stage.version, (interval, interval))
    client.beat(0.6 * client.log.heartbeat_c2s_ms, b"\r\n")
    client.wait_closed(4)
    client.close()


CRLF = Scenario("crlf", "", crlf, LATEST)
PINGS = Scenario("pings", "", pings, LATEST)
UNENDED = Scenario("unended", "", unended, LATEST)
VANISHES = Scenario("vanishes", "", vanishes, LATEST)
TOO_LARGE = Scenario("toolarge", "", too_large, LATEST)
LARGE = Scenario("large", "", large, LATEST)
BOTH_WAYS = Scenario("bothways", "", both_ways, LATEST)
RESUMED = Scenario("resumed", "", resumed, LATEST, ("first", "second"))
SIMPLE = Scenario("simple", "", simple, ("1.1", "1.2"))
NEW_KEYS = Scenario("newkeys", "", new_keys, LATEST)
BROKEN = [
    Scenario(name, "", lambda stage, wire=wire: broken(stage, wire), LATEST)
    for name, wire in (
        ("unmasked", b"\x81\x01\n"),
        ("opcode", masked(0x83, b"\n")),
        ("reserved", masked(0xA1, b"\n")),
        ("continued", masked(0x80, b"\n")),
        ("notutf8", masked(0x81, b"\xff\xfe")),
    )
]
