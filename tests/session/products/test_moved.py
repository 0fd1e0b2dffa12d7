"""Where a MESSAGE was moved from, by the headers that brokers put into it; as recorded of ActiveMQ 5.17, Artemis 2.42, RabbitMQ 3.10."""

from __future__ import annotations

import pytest

from tests.session.delivered import EACH, FIRST, dialogue, message
from tests.session.transcript import run

CASES = {
    "ActiveMQ, a NACK": ("original-destination:/queue/orders originalExpiration:0", "queue/orders"),
    "ActiveMQ, a dead letter that expires": (
        "original-destination:/queue/orders dlqDeliveryFailureCause:java.lang.Throwable", "queue/orders",
    ),
    "ActiveMQ, a copy of a virtual topic": ("original-destination:/topic/VirtualTopic.a", None),
    "Artemis, too many deliveries": ("_AMQ_ORIG_QUEUE:poison _AMQ_ORIG_ADDRESS:poison _AMQ_ORIG_MESSAGE_ID:78", "poison"),
    "Artemis, expired": ("_AMQ_ACTUAL_EXPIRY:1795827584646 _AMQ_ORIG_ADDRESS:/queue/late", "queue/late"),
    "RabbitMQ, a NACK": ("x-first-death-exchange: x-first-death-queue:orders x-first-death-reason:rejected", "queue/orders"),
    "RabbitMQ, a name with a slash": ("x-first-death-queue:a/b%2F x-first-death-reason:expired", "queue/a/b%2F"),
    "nothing of it": ("expires:0", None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_the_destination_by_its_one_name(case: tuple[str, str | None]) -> None:
    headers, expected = case
    moved = message("m2", destination="/queue/dead", ack="a2", more=headers)
    found = run(dialogue("1.2", "", EACH + FIRST + moved)).tables["deliveries"]
    assert found.column("moved_from").to_pylist() == [None, expected]
