"""Subscriptions in each ack mode, with planted delays; receipts; a producer beside a consumer."""
from __future__ import annotations

import threading

from data.recorder.scenario import Scenario, Stage
from data.recorder.wire import Frame, Header

# Planted, in the order of the ACKs; ascending, so that no ACK waits for an earlier one.
DELAYS_MS = (20.0, 50.0, 80.0, 120.0, 180.0)
LATER = ("1.1", "1.2")


def auto(stage: Stage) -> None:
    """Mode auto: headers that need escapes, UTF-8, a content type; every frame that may ask for a receipt does."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "auto")
    for number in range(5):
        extra: list[Header] = [("kind", f"número {number}"), ("content-type", "text/plain;charset=utf-8")]
        if stage.version != "1.0":
            extra.append(("note", "a:b\nc\\d" + ("\r" if stage.version == "1.2" else "")))
        client.ask("SEND", [("destination", queue), *extra], f"message {number}: ½ € 😀".encode())
    client.messages(5)
    client.ask("UNSUBSCRIBE", [("id", "s-1")])
    client.disconnect()


def cumulative(stage: Stage) -> None:
    """Mode client: the third and the sixth of seven are acknowledged, the seventh stays unsettled."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "client")
    for number in range(7):
        client.publish(queue, f"c{number}".encode())
    got = client.messages(7)
    client.settle(got[2], 50, also=got[0:2])
    client.settle(got[5], 120, also=got[3:5])
    client.disconnect()


def two_subscriptions(stage: Stage) -> None:
    """Mode client on two queues: RabbitMQ settles both with one ACK, the others only the ACK's own."""
    client, one, two = stage.client(), stage.queue("one"), stage.queue("two")
    client.connect(stage.version)
    client.subscribe(one, "client", "s-1")
    client.subscribe(two, "client", "s-2")
    got: list[Frame] = []
    for number in range(4):
        client.publish((one, two)[number % 2], f"t{number}".encode())
        got += client.messages(1)
    first = [frame for frame in got if frame.get("subscription") == "s-1"]
    second = [frame for frame in got if frame.get("subscription") == "s-2"]
    also = [first[0], second[0]] if stage.product == "rabbitmq" else [first[0]]
    client.settle(first[1], 80, also=also)
    client.settle(second[1], 140, also=[] if stage.product == "rabbitmq" else [second[0]])
    client.disconnect()


def individual(stage: Stage) -> None:
    """Mode client-individual: acknowledged out of order, each with a delay of its own; one is never settled."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "client-individual")
    for number in range(6):
        client.publish(queue, f"i{number}".encode())
    got = client.messages(6)
    for number, delay in zip((3, 0, 4, 1, 2), DELAYS_MS, strict=True):
        client.settle(got[number], delay)
    client.disconnect()


def nack(stage: Stage) -> None:
    """One message is refused; what the broker delivers again is acknowledged."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "client-individual")
    for number in range(3):
        client.publish(queue, f"n{number}".encode())
    got = client.messages(3)
    client.settle(got[0], 40)
    client.settle(got[1], 70, "NACK")
    client.settle(got[2], 110)
    while (again := client.wait(lambda frame: frame.command == "MESSAGE", 0.4)) is not None:
        client.settle(again, 30)
    client.disconnect()


def nack_client(stage: Stage) -> None:
    """NACK of the last of three in mode client: cumulative, but on ActiveMQ, which refuses that one message."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "client")
    for number in range(3):
        client.publish(queue, f"m{number}".encode())
    got = client.messages(3)
    alone = stage.product == "activemq"
    client.settle(got[2], 40, "NACK", also=[] if alone else got[:2])
    if alone:
        client.settle(got[1], 80, also=got[:1])
    again = []
    while (message := client.wait(lambda frame: frame.command == "MESSAGE", 0.4)) is not None:
        again.append(message)
    if again:
        client.settle(again[-1], 500, also=again[:-1])
    client.disconnect()


def pair(stage: Stage) -> None:
    """A producer and a consumer; the consumer takes 5, 10, ... 60 ms for each message."""
    consumer, producer, queue = stage.client("consumer"), stage.client("producer"), stage.queue()
    consumer.connect(stage.version)
    producer.connect(stage.version)
    mode = "client" if stage.version == "1.0" else "client-individual"
    consumer.subscribe(queue, mode, extra=[("prefetch-count", "1"), ("activemq.prefetchSize", "1"),
                                           ("consumer-window-size", "0")])

    def produce() -> None:
        for number in range(12):
            producer.publish(queue, f"p{number}".encode() * 10)
        producer.disconnect()

    thread = threading.Thread(target=produce)
    thread.start()
    for number in range(12):
        client_got = consumer.messages(1)[0]
        consumer.settle(client_got, 5.0 * (number + 1))
    thread.join()
    consumer.disconnect()


SCENARIOS = [
    Scenario("auto", "dialogue", auto),
    Scenario("cumulative", "dialogue", cumulative),
    Scenario("two", "dialogue", two_subscriptions, LATER),
    Scenario("individual", "dialogue", individual, LATER),
    Scenario("nack", "dialogue", nack, LATER),
    Scenario("nackclient", "dialogue", nack_client, LATER),
    Scenario("pair", "dialogue", pair, parts=("consumer", "producer")),
]
