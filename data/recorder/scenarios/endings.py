"""How sessions begin and end badly: wrong passcode, silence after TCP connect, FIN or RST without DISCONNECT."""
from __future__ import annotations

import time

from data.recorder.scenario import Scenario, Stage


def wrong_passcode(stage: Stage) -> None:
    """The login exists, the passcode is another's."""
    client = stage.client()
    client.connect(stage.version)
    client.wait_closed(0.5)
    client.close()


def cut(stage: Stage, ending: str) -> None:
    """Two messages delivered, one acknowledged, then gone without DISCONNECT."""
    client, queue = stage.client(), stage.queue(ending)
    client.connect(stage.version)
    client.subscribe(queue, "client")
    client.publish(queue, b"one")
    client.publish(queue, b"two")
    got = client.messages(2)
    client.settle(got[0], 40)
    time.sleep(0.2)
    client.close() if ending == "fin" else client.reset()


def stomp_command(stage: Stage) -> None:
    """The session opens with STOMP instead of CONNECT."""
    client = stage.client()
    client.log.plant("CN-05", "client", 0, "STOMP instead of CONNECT")
    client.connect(stage.version, command="STOMP")
    client.disconnect()


SCENARIOS = [
    Scenario("wrong", "dialogue", wrong_passcode, registered=False),
    Scenario("fin", "dialogue", lambda stage: cut(stage, "fin")),
    Scenario("rst", "dialogue", lambda stage: cut(stage, "rst"), ("1.1", "1.2")),
    Scenario("stomp", "dialogue", stomp_command, ("1.1", "1.2")),
]
