"""What brokers do after an ERROR, or instead of one, while the client waits.

Each session does one thing that should end the connection or be answered, waits for two seconds, longer than "just after" can mean, and
checks whether the broker still answers.
"""
from __future__ import annotations

import time

from data.recorder.client import Client
from data.recorder.scenario import Scenario, Stage
from data.recorder.scenarios.violations import wired

LATER = ("1.1", "1.2")
WAIT_S = 2.0


def stay(client: Client, queue: str) -> None:
    """Wait, then ask and leave, if the broker still answers."""
    if not client.wait_closed(WAIT_S):
        client.send("SEND", [("destination", queue), ("receipt", "r-alive")], b"still there?")
        client.wait(lambda frame: frame.get("receipt-id") == "r-alive", WAIT_S)
        client.wait_closed(0.3)
    client.close()


def lingers(stage: Stage) -> None:
    """SEND without a destination, with a receipt: refused by ERROR."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.send("SEND", [("receipt", "r-1")], b"x", plant={"SN-01": "no destination"})
    stay(client, queue)


def escapes(stage: Stage) -> None:
    """A SEND whose header has an undefined escape."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    wired(client, "FR-19", "\\t is no escape", "SEND", [("destination", queue), ("note", "a\\tb")], b"x")
    stay(client, queue)


def silent(stage: Stage) -> None:
    """A SEND within a transaction that was never begun, with a receipt."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.send("SEND", [("destination", queue), ("transaction", "tx-none"), ("receipt", "r-1")], b"x",
                plant={"SN-02": "transaction tx-none was never begun"})
    stay(client, queue)


def aborts(stage: Stage) -> None:
    """A SEND with a receipt in a transaction that is then aborted, which is correct."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.begin("tx-1")
    client.publish_in("tx-1", queue, b"never", receipt="r-never")
    client.end("tx-1", "ABORT")
    time.sleep(WAIT_S)
    client.disconnect()


SCENARIOS = [
    Scenario("lingers", "aftermath", lingers, LATER),
    Scenario("escapes", "aftermath", escapes, LATER),
    Scenario("silent", "aftermath", silent, ("1.2",)),
    Scenario("aborts", "aftermath", aborts, LATER),
]
