"""Sessions already open when the capture starts, and one still open when it ends.

Each play is a generator in three steps: before the capture, while it runs, after it.
"""
from __future__ import annotations

import time
from collections.abc import Iterator

from data.recorder.client import Client
from data.recorder.scenario import Scenario, Stage
from data.recorder.wire import serialize


def _open(stage: Stage) -> tuple[Client, str]:
    """A session with a subscription and three messages delivered, before the capture."""
    client, queue = stage.client(), stage.queue()
    client.log.midstream = True
    client.connect(stage.version)
    client.subscribe(queue, "client")
    for number in range(3):
        client.publish(queue, f"before {number}".encode())
    return client, queue


def joined(stage: Stage) -> Iterator[None]:
    """Delivered before, acknowledged within; then an ordinary exchange to the end."""
    client, queue = _open(stage)
    got = client.messages(3)
    yield
    client.settle(got[2], 500, also=got[:2])
    client.begin("tx-1")
    client.publish_in("tx-1", queue, b"within")
    client.end("tx-1", "COMMIT")
    client.settle(client.messages(1)[0], 60)
    client.disconnect()
    yield


def half(stage: Stage) -> Iterator[None]:
    """The capture starts within a frame: the head of a SEND comes before it, the rest after."""
    client, queue = _open(stage)
    got = client.messages(3)
    body = b"first half, " * 40 + b"second half, " * 40
    headers = [("destination", queue), ("content-length", str(len(body)))]
    head = f"SEND\ndestination:{queue}\ncontent-length:{len(body)}\n\n".encode()
    cut = len(head) + 480
    whole = head + body + b"\0"
    # Logged as the one frame it is; sent in two pieces.
    client.send("SEND", headers, body, wire=whole[:cut])
    client.log.sent[-1].length = len(whole)
    yield
    client.log.sent[-1].last_ns = time.time_ns()
    client.raw(whole[cut:])
    client.settle(got[2], 500, also=got[:2])
    client.settle(client.messages(1)[0], 40)
    client.disconnect()
    yield


def outlasts(stage: Stage) -> Iterator[None]:
    """Opened before the capture and closed after it: settled, unsettled and a transaction, all still open."""
    client, queue = _open(stage)
    got = client.messages(3)
    yield
    client.settle(got[0], 500)
    client.publish(queue, b"within")
    client.messages(1)
    client.begin("tx-open")
    client.publish_in("tx-open", queue, b"pending")
    client.log.still_open = True
    time.sleep(0.2)
    yield
    client.close()


def begins(stage: Stage) -> Iterator[None]:
    """Connects within the capture and is still open at its end."""
    yield
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "client")
    client.publish(queue, b"within")
    client.messages(1)
    client.log.still_open = True
    time.sleep(0.2)
    yield
    client.close()


def secret(stage: Stage) -> Iterator[None]:
    """The capture starts within CONNECT: its passcode line is the first thing captured."""
    client = stage.client()
    client.log.midstream = True
    user = client.log.user
    headers = [("accept-version", stage.version), ("host", "/"), ("login", user.login), ("passcode", user.passcode)]
    whole = serialize("CONNECT", headers, b"", stage.version)
    cut = whole.index(b"passcode")
    client.version = stage.version
    client.send("CONNECT", headers, wire=whole[:cut])
    client.log.sent[-1].length = len(whole)
    yield
    client.log.sent[-1].last_ns = time.time_ns()
    client.raw(whole[cut:])
    answer = client.wait(lambda frame: frame.command == "CONNECTED")
    if answer is not None:
        client.log.connected(answer, (0, 0))
    client.disconnect()
    yield


LATER = ("1.1", "1.2")
SCENARIOS = [
    Scenario("joined", "midstream", joined),
    Scenario("half", "midstream", half, LATER),
    Scenario("outlasts", "midstream", outlasts, LATER),
    Scenario("begins", "midstream", begins),
    Scenario("secret", "midstream", secret, ("1.2",)),
]
