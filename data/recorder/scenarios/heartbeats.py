"""Heart-beats kept, requested on one side only, and broken by a client that goes silent."""
from __future__ import annotations

import time

from data.recorder.scenario import Scenario, Stage

LATER = ("1.1", "1.2")


def kept(stage: Stage) -> None:
    """Both sides beat for four intervals; the client at 0.6 of the interval, with CRLF in every 1.2 beat."""
    client, interval = stage.client(), stage.broker.beat_ms
    client.connect(stage.version, (interval, interval))
    client.log.planted_beats["c2s"] = "ok"
    client.beat(0.6 * client.log.heartbeat_c2s_ms, b"\r\n" if stage.version == "1.2" else b"\n")
    time.sleep(4 * interval / 1e3)
    client.disconnect()


def busy(stage: Stage) -> None:
    """No beats from the client: its frames come often enough to replace them."""
    client, interval, queue = stage.client(), stage.broker.beat_ms, stage.queue()
    client.connect(stage.version, (interval, interval))
    client.log.planted_beats["c2s"] = "ok"
    client.subscribe(queue, "auto")
    for number in range(6):
        time.sleep(0.6 * interval / 1e3)
        client.publish(queue, f"b{number}".encode())
    client.messages(6)
    client.disconnect()


def one_way(stage: Stage, offer: tuple[int, int]) -> None:
    """Only one side offers heart-beats."""
    client = stage.client()
    client.connect(stage.version, offer)
    if client.log.heartbeat_c2s_ms:
        client.log.planted_beats["c2s"] = "ok"
        client.beat(0.6 * client.log.heartbeat_c2s_ms)
    time.sleep(3 * stage.broker.beat_ms / 1e3)
    client.disconnect()


def pauses(stage: Stage) -> None:
    """The client is silent for 1.7 intervals once, a violation, then goes on."""
    client, interval = stage.client(), stage.broker.beat_ms
    client.connect(stage.version, (interval, interval))
    client.log.planted_beats["c2s"] = "violation"
    agreed = client.log.heartbeat_c2s_ms
    for silence in (0.5, 0.5, 1.7, 0.5, 0.5):
        time.sleep(silence * agreed / 1e3)
        client.raw(b"\n")
    client.disconnect()


def dies(stage: Stage) -> None:
    """The client falls silent for good; the broker cuts it off, or the client leaves after five intervals."""
    client, interval = stage.client(), stage.broker.beat_ms
    client.connect(stage.version, (interval, interval))
    # Brokers cut off somewhere between two and four intervals: at least a violation, by the time of their FIN.
    client.log.planted_beats["c2s"] = "violation"
    for _ in range(3):
        client.raw(b"\n")
        time.sleep(0.5 * client.log.heartbeat_c2s_ms / 1e3)
    client.wait_closed(5 * client.log.heartbeat_c2s_ms / 1e3)
    client.close()


def none(stage: Stage) -> None:
    """Offers 0,0: nothing is negotiated, and silence of 2.5 intervals may not be judged."""
    client = stage.client()
    client.connect(stage.version, (0, 0))
    time.sleep(2.5 * stage.broker.beat_ms / 1e3)
    client.disconnect()


SCENARIOS = [
    Scenario("kept", "heartbeats", kept, LATER),
    Scenario("busy", "heartbeats", busy, LATER),
    Scenario("clientonly", "heartbeats", lambda stage: one_way(stage, (stage.broker.beat_ms, 0)), ("1.2",)),
    Scenario("serveronly", "heartbeats", lambda stage: one_way(stage, (0, stage.broker.beat_ms)), ("1.2",)),
    Scenario("pauses", "heartbeats", pauses, LATER),
    Scenario("dies", "heartbeats", dies, LATER),
    Scenario("none", "heartbeats", none, ("1.2",)),
]
