"""Habits of brokers and of stomp.py that other scenarios do not show: beats in 1.0, idle clients cut off, no host, no id."""
from __future__ import annotations

import time

from data.recorder.client import Client
from data.recorder.scenario import Scenario, Stage
from data.recorder.scenarios.library import application

STAY_S = 2.0  # longer than "just after" an ERROR can mean
IDLE_S = 75.0  # longer than Artemis keeps a silent connection that asked for no beats


def _leave(client: Client) -> None:
    if client.ended:
        client.close()
    else:
        client.disconnect()


def legacy(stage: Stage) -> None:
    """A bare 1.0 client that asks for beats in a header that 1.0 does not have, and beats."""
    client = stage.client()
    user = client.log.user
    client.version = "1.0"
    client.send("CONNECT", [("login", user.login), ("passcode", user.passcode), ("heart-beat", "1000,1000")],
                plant={"CN-18": "heart-beat in 1.0"})
    answer = client.wait(lambda frame: frame.command in ("CONNECTED", "ERROR"), 5)
    if answer is not None and answer.command == "CONNECTED":
        client.log.connected(answer, (0, 0))
    for _ in range(4):
        time.sleep(0.6)
        client.raw(b"\n")
    _leave(client)


def noid(stage: Stage) -> None:
    """A SUBSCRIBE without id that asks for a receipt: ActiveMQ refuses it, the others generate an id."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.send("SUBSCRIBE", [("destination", queue), ("ack", "auto"), ("receipt", "r-sub")], plant={"SB-02": "no id"})
    if not client.wait_closed(STAY_S):
        client.ask("SEND", [("destination", queue)], b"still there?")
    _leave(client)


def idle(stage: Stage) -> None:
    """Connects, offers no beats, sends nothing."""
    client = stage.client()
    client.connect(stage.version, None if stage.version == "1.0" else (0, 0))
    client.wait_closed(IDLE_S)
    _leave(client)


SCENARIOS = [
    Scenario("legacy", "habits", legacy, ("1.0",)),
    Scenario("noid", "habits", noid, ("1.1", "1.2")),
    Scenario("idle", "habits", idle, ("1.0", "1.2"), brokers=("artemis",)),
    Scenario("nohost", "habits", lambda stage: application(stage, "auto", vhost=None), ("1.1",)),
]
