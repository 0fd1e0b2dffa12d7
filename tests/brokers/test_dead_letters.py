"""Dead letters of real brokers, recorded now: they are joined to their SENDs as the clients' logs have it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from data.recorder.brokers import BROKERS, PORT
from data.recorder.client import Client
from data.recorder.needs import MissingNeedError, ensure
from data.recorder.sniffer import Sniffer
from data.recorder.truth import SessionLog
from data.recorder.users import user_for

pytestmark = [pytest.mark.brokers, pytest.mark.slow]
DEAD = {"rabbitmq": "/queue/dead", "activemq": "/queue/ActiveMQ.DLQ", "artemis": "DLQ"}
ROUTED = [("x-dead-letter-exchange", ""), ("x-dead-letter-routing-key", "dead")]
ATTEMPTS = 10  # after which Artemis gives up; it takes a NACK of STOMP for an ACK


def refuse(broker: str, address: str) -> list[tuple[bytes, int]]:
    """Send three messages, refuse the second, read the dead letter; bodies with when they were sent."""
    name = f"{broker}-dead-letters"

    def connected() -> Client:
        made = Client(SessionLog(session=name, broker=broker, client="scripted", user=user_for(name)), (address, PORT))
        made.connect("1.2")
        return made

    producer, consumer, reader = connected(), connected(), connected()
    reader.subscribe(DEAD[broker], "client-individual")  # makes the queue
    consumer.subscribe("/queue/orders", "client-individual", extra=ROUTED if broker == "rabbitmq" else None)
    to = "/amq/queue/orders" if broker == "rabbitmq" else "/queue/orders"  # RabbitMQ would declare it anew, without the arguments
    for number in range(3):
        producer.publish(to, b"order %d" % number, [("persistent", "true")])
    for number, message in enumerate(consumer.messages(3)):
        if number != 1:
            consumer.settle(message, 50)
        elif broker != "artemis":
            consumer.send("NACK", [("id", message.get("ack") or ""), ("requeue", "false")])
    if broker == "artemis":
        consumer.disconnect()
        for _ in range(ATTEMPTS - 1):
            again = connected()
            again.subscribe("/queue/orders", "client-individual")
            again.messages(1)
            again.disconnect()  # where connections just close, Artemis 2.42 sometimes gives the message to nobody any more
    reader.settle(reader.messages(1)[0], 10)
    for one in (producer, reader) if broker == "artemis" else (producer, consumer, reader):
        one.disconnect()
    return [(frame.body, frame.first_ns) for frame in producer.log.sent if frame.command == "SEND"]


@pytest.mark.parametrize("name", BROKERS)
def test_a_dead_letter_comes_of_the_send_that_was_refused(name: str, tmp_path: Path) -> None:
    try:
        ensure([name])
    except MissingNeedError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stompcap"
    broker, path, lake = BROKERS[name](tmp_path / name, cache), tmp_path / "dead.pcap", tmp_path / "lake"
    with broker.running([user_for(f"{name}-dead-letters")]), Sniffer(path, broker.address, (PORT,), "micro", tmp_path / "tcpdump.log"):
        sent = refuse(name, broker.address)
        time.sleep(0.2)
    stompcap = Path(sys.executable).with_name("stompcap")
    subprocess.run([stompcap, "run", path, "--lake", lake, "--quiet"], check=True)
    rows = DeltaTable(str(lake / "journeys")).to_pyarrow_table().sort_by("ts").to_pylist()
    [dead] = [row for row in rows if row["moved_from"]]
    assert (dead["moved_from"], dead["redelivery"], dead["residence_us"], dead["copy"]) == ("queue/orders", True, None, None)
    offsets = sorted({row["send_offset"] for row in rows if row["send_offset"] is not None})
    assert (len(sent), offsets.index(dead["send_offset"])) == (len(offsets), 1)  # the second was refused
    assert [row["copy"] for row in rows if not row["redelivery"]] == [1, 1, 1]
