"""Transactions: committed, aborted, left open at DISCONNECT, and cut off by a close or a reset."""
from __future__ import annotations

import time

from data.recorder.scenario import Scenario, Stage


def whole(stage: Stage) -> None:
    """Sends and acks in transactions that end by COMMIT and ABORT; one is left open at DISCONNECT."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    mode = "client" if stage.version == "1.0" else "client-individual"
    client.begin("tx-sent")
    for number in range(3):
        client.publish_in("tx-sent", queue, b"x" * (number + 1))
    client.end("tx-sent", "COMMIT")
    client.begin("tx-dropped")
    client.publish_in("tx-dropped", queue, b"never seen", receipt="r-dropped")
    client.end("tx-dropped", "ABORT")
    client.begin("tx-empty")
    client.end("tx-empty", "COMMIT")
    client.subscribe(queue, mode)
    got = client.messages(3)
    client.begin("tx-acked")
    client.settle(got[0], 60, transaction="tx-acked")
    client.end("tx-acked", "COMMIT")
    client.begin("tx-voided")
    client.settle(got[1], 90, transaction="tx-voided")
    client.end("tx-voided", "ABORT")
    client.begin("tx-open")
    client.publish_in("tx-open", queue, b"lost at DISCONNECT")
    client.disconnect()


def cut(stage: Stage, ending: str) -> None:
    """A transaction with a send and an ack, cut off before its end."""
    client, queue = stage.client(), stage.queue(ending)
    client.connect(stage.version)
    client.subscribe(queue, "client")
    client.publish(queue, b"first")
    got = client.messages(1)
    client.begin("tx-cut")
    client.publish_in("tx-cut", queue, b"second")
    client.settle(got[0], 30, transaction="tx-cut")
    time.sleep(0.2)
    client.close() if ending == "fin" else client.reset()


SCENARIOS = [
    Scenario("tx", "dialogue", whole),
    Scenario("txfin", "dialogue", lambda stage: cut(stage, "fin")),
    Scenario("txrst", "dialogue", lambda stage: cut(stage, "rst"), ("1.2",)),
]
