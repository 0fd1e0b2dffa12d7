"""Which MESSAGEs with one id of the broker's are redeliveries, and which are copies."""

from __future__ import annotations

from tests.pipelines.metrics.journey_cases import Traffic


def test_copies_of_a_multicast_address_are_numbered_and_what_a_consumer_that_left_had_is_a_redelivery() -> None:
    traffic = Traffic("Artemis").send(0)
    traffic.connection("e", closed_ns=traffic.at(8))
    for at, by in ((5, "c"), (6, "d"), (7, "e")):
        traffic.got(at, by=by, message_id=f"{at},9", status="unsettled" if by == "e" else "settled")
    traffic.got(9, by="f", message_id="9,9", status="settled")
    assert [(row["copy"], row["redelivery"]) for row in traffic.journeys()] == [(1, False), (2, False), (3, False), (None, True)]
