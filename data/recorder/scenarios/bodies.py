"""Bodies of many sizes and contents, sent and received: empty, NULs, UTF-8, binary, up to 1 MiB."""
from __future__ import annotations

from data.recorder.scenario import Scenario, Stage
from data.recorder.wire import Frame

TEXT = "Grüße, 世界 😀 — naïve façade\n".encode()


def pattern(size: int) -> bytes:
    """Octets of every value, including NUL, with sequences that look like frame ends and heads."""
    unit = bytes(range(256)) + b"\0\nMESSAGE\nsubscription:0\n\n\0\n\n\0SEND\n"
    return (unit * (size // len(unit) + 1))[:size]


def bodies(stage: Stage) -> None:
    """Each body is sent with content-length and acknowledged by mode auto; the largest goes to one broker only."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "auto")
    sizes = [0, 1, 255, 4096] + ([16384] if stage.version == "1.2" else [])
    planned = [pattern(size) for size in sizes] + [b"\0", b"\0\0\n\0", TEXT, TEXT * 20]
    for body in planned:
        client.publish(queue, body)
        got: Frame = client.messages(1)[0]
        if got.body != body:
            client.log.notes.append(f"body of {len(body)} octets came back with {len(got.body)}")
    # Without content-length: the NUL ends the frame.
    client.send("SEND", [("destination", queue), ("content-type", "text/plain")], TEXT)
    client.messages(1)
    client.disconnect()


def large(stage: Stage) -> None:
    """One large body: 1 MiB on RabbitMQ, 256 KiB on the others, where the largest frame allowed may be smaller."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    client.subscribe(queue, "auto")
    client.publish(queue, pattern((1 << 20) if stage.product == "rabbitmq" else (1 << 18)))
    client.messages(1)
    client.disconnect()


SCENARIOS = [
    Scenario("bodies", "bodies", bodies),
    Scenario("large", "bodies", large, ("1.2",)),
]
