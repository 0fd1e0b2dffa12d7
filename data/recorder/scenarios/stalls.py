"""Heart-beats broken by the server: its process is stopped (SIGSTOP) for a while; its kernel still acknowledges.

All sessions of this capture live through the same two pauses of one scenario.
"""
from __future__ import annotations

import time

from data.recorder.scenario import Scenario, Stage

# Pauses in intervals. A beat may be due up to one interval into a pause and as long again after it (RabbitMQ beats at
# half intervals, ActiveMQ at up to two).
SHORT, LONG = 2.2, 3.6
RHYTHM = 1.5


def conductor(stage: Stage) -> None:
    """Stops and continues the broker; its own session has no heart-beats."""
    client, interval = stage.client(), stage.broker.beat_ms / 1e3
    client.connect(stage.version)
    time.sleep(RHYTHM * interval)
    with stage.broker.paused():
        time.sleep(SHORT * interval)
    time.sleep(RHYTHM * interval)
    with stage.broker.paused():
        time.sleep(LONG * interval)
    time.sleep(RHYTHM * interval)
    client.disconnect()


def endures(stage: Stage, offer_c2s: bool) -> None:
    """Beats on through the pauses, if it offered to, and never closes; the broker may, when it resumes."""
    client, interval = stage.client(), stage.broker.beat_ms
    client.connect(stage.version, (interval if offer_c2s else 0, interval))
    client.log.planted_beats["s2c"] = "dead"
    if offer_c2s:
        client.log.planted_beats["c2s"] = "ok"
        client.beat(0.5 * client.log.heartbeat_c2s_ms)
    client.wait_closed((3 * RHYTHM + SHORT + LONG) * interval / 1e3 + 0.2)
    client.disconnect() if not client.ended else client.close()


def leaves(stage: Stage) -> None:
    """Ends within the first pause, so that the silence up to the close is a violation but not death."""
    client, interval = stage.client(), stage.broker.beat_ms
    client.connect(stage.version, (0, interval))
    client.log.planted_beats["s2c"] = "violation"
    time.sleep((RHYTHM + SHORT + 0.7 * RHYTHM) * interval / 1e3)
    client.disconnect()


SCENARIOS = [
    Scenario("conductor", "stalls", conductor, ("1.2",)),
    Scenario("endures", "stalls", lambda stage: endures(stage, True), ("1.1", "1.2")),
    Scenario("listens", "stalls", lambda stage: endures(stage, False), ("1.2",)),
    Scenario("leaves", "stalls", leaves, ("1.2",)),
]
