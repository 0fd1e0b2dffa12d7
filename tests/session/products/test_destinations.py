"""One name for each destination."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stompcap.session.products.destinations import destination_names

CASES = {
    # RabbitMQ: what is sent to, and what its MESSAGEs name
    "/queue/x": "queue/x", "/amq/queue/x": "queue/x", "/reply-queue/amq.gen-1": "queue/amq.gen-1", "/topic/a.b": "topic/a.b",
    "/exchange/amq.topic/a.b": "topic/a.b", "/exchange/logs/error": "/exchange/logs/error", "/queue/a%2Fb": "queue/a/b",
    "/queue/%C3%A4": "queue/ä", "/queue/ä": "queue/ä", "/queue/100%": "queue/100%",
    # ActiveMQ
    "/queue/x?consumer.prefetchSize=1": "queue/x", " /queue/x": "queue/x", "/queue/a\\cb": "queue/a:b",
    "/temp-queue/t": "/temp-queue/t", "/queue/what?": "queue/what?",
    # Artemis
    "jms.queue.x": "queue/x", "queue://x": "queue/x", "topic://x": "topic/x", "jms.topic.x": "topic/x", "x": "x", "a::b": "a::b",
    # no names
    "/queue/": "/queue/", "": "",
}  # fmt: skip


@pytest.mark.parametrize(("sent", "name"), CASES.items())
def test_cases(sent: str, name: str) -> None:
    assert destination_names(pa.array([sent])).to_pylist() == [name]


def test_each_row_has_the_name_of_its_own() -> None:
    sent = [None, *CASES, None, *CASES]
    assert destination_names(pa.chunked_array([sent[:3], sent[3:]])).to_pylist() == [None, *CASES.values(), None, *CASES.values()]
    assert destination_names(pa.nulls(2, pa.string())).to_pylist() == [None, None]
    assert destination_names(pa.array([], pa.string())).to_pylist() == []
