"""Which minutes of consumers, destinations and transactions are flagged: cases."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.incidents import consumer_events as consumers
from pipelines.incidents import cut_events as cuts
from pipelines.incidents import destination_events as destinations
from pipelines.incidents import instance_events as instances
from pipelines.incidents import silent_brokers as silent
from pipelines.incidents import transaction_events as transactions
from pipelines.incidents import unread_events as unread
from tests.pipelines.incidents.connections import Traffic, at, events, told
from tests.pipelines.incidents.traffic import QUEUE, consumer, delivered, destination, said_of

STEADY: list[Any] = [20] * 8


def minutes(sends: list[int], messages: list[int], consumed: list[Any] | None = None, **values: Any) -> Traffic:
    """A queue and its consumer, which takes 20 ms where nothing else is said."""
    return consumer(destination(Traffic(), sends, messages, **values), consumed or [20 if one else None for one in messages])


def left_after(number: int) -> Traffic:
    """A queue whose consumer leaves after so many of eight minutes."""
    return consumer(destination(Traffic(), [20] * 8, [20] * number + [0] * (8 - number)), [20] * number)


def instances_of(*took: list[float], ports: bool = False) -> Traffic:
    found = Traffic()
    for number, one in enumerate(took):
        address = {"client_ip": "10.0.0.7" if ports else f"10.0.0.{number + 10}"}
        consumer(found, one, stream=address, client_port=5000 + number)
    return found


def silenced(begin: int, end: int, asked_until: int = 400, in_flight: bool = False) -> Traffic:
    """Two producers and a consumer, for 400 s; the broker delivers nothing from one moment to another."""
    found = Traffic()
    for name in ("shop", "web"):
        found.session(0, 400, login=name)
        for second in range(asked_until):
            found.of_last("sends", stream_offset=second, destination_name=QUEUE, first_ns=at(second), sent_ns=at(second))
    found.session(0, 400).of_last("subscriptions", subscribe_offset=20, destination_name=QUEUE, subscribed_ns=at(0))
    for second in range(asked_until):
        if not begin <= second < end:
            delivered(found, second + 0.1, second, None if in_flight and second >= begin - 3 else 20)
    found.rows["captures"][0]["last_ns"] = at(400)
    return found


def sending(begin: int, taken: int) -> Traffic:
    """Two minutes of a producer that sends 4 messages a second, and 40 from some second on; so many a second are taken then."""
    counts = [(4, 4) if second < begin else (40, taken) for second in range(120)]
    by_minute = [[sum(one[of] for one in counts[60 * minute : 60 * minute + 60]) for minute in range(2)] for of in range(2)]
    found = destination(Traffic(), *by_minute)
    found.rows["sends"].clear()
    for second, (came, _) in enumerate(counts):
        for number in range(came):
            moment = second + number / came
            found.of_last("sends", stream_offset=round(moment * 1000), destination_name=QUEUE, first_ns=at(moment), sent_ns=at(moment))
    found.session(0, 120).of_last("subscriptions", subscribe_offset=20, destination_name=QUEUE, subscribed_ns=at(0))
    for second, (_, went) in enumerate(counts):
        for number in range(went):
            delivered(found, second + number / went, round((second + number / went) * 1000), 5)
    found.rows["captures"][0]["last_ns"] = at(120)
    return found


def again(contents: int, number: int = 10, **values: Any) -> Traffic:
    """A minute in which so many messages come again."""
    found = consumer(Traffic(), STEADY)
    for one in range(number):
        delivered(found, 300 + one, 90_000 + one, redelivered=True, body_hash=one % contents, **values)
    return found


def nacked(number: int) -> Traffic:
    found = consumer(Traffic(), STEADY)
    for one in range(number):
        delivered(found, 300 + one, 90_000 + one, settlement="nack")
    return found


def skipping(number: int) -> Traffic:
    """A consumer that leaves out so many messages while it settles others, up to 240 s; from 294 s on it settles none."""
    found = consumer(Traffic(), STEADY[:5])
    found.rows["sessions"][0] |= {"closed_ns": at(400), "last_ns": at(400)}
    for row in found.rows["deliveries"]:
        row["stream_offset"] = round((row["delivered_ns"] - at(0)) / 1e6)
    for second in range(240 - 3 * number, 240, 3):
        delivered(found, second, second * 1000, None, status="unsettled", settlement=None, settled_by=None)
    return found


def given_back(traffic: Traffic) -> Traffic:
    """All that was delivered had been before."""
    for row in traffic.rows["deliveries"]:
        row["redelivered"] = True
    return traffic


def wrong_length(traffic: Traffic) -> Traffic:
    """All SENDs are of connections that break the rule about content-length."""
    for stream in {row["stream_id"] for row in traffic.rows["sends"]}:
        traffic.add("compliance_findings", stream_id=stream, rule_id="FR-07", level="M", side="client", direction="c2s", ts_ns=at(1))
    return traffic


def in_transaction(outcome: str, seconds: float, sends: int, times: int = 1) -> Traffic:
    found = Traffic().session(0, 600, login="shop")
    for number in range(times):
        begun = 10 + number
        found.of_last("transactions", begin_offset=number, transaction=f"t{number}", begun_ns=at(begun), outcome=outcome, sends=sends,
                      ended_ns=None if outcome == "open" else at(begun + seconds))  # fmt: skip
    return found


def cut(*ends: float, left: int = 5, same: bool = False, **values: Any) -> Traffic:
    """Clients whose connections end then, without a reason that is known, and so many that go on."""
    found = Traffic()
    for number, end in enumerate(ends):
        found.session(0, end, login=f"c{number}", stream={"client_ip": "10.0.0.8" if same else f"10.0.0.{number + 10}"}, **values)
    for number in range(left):
        found.session(0, 900, login=f"left{number}", close_cause="disconnect")
    return found


GROWS = minutes([20, 20, 20, 20, 90, 90, 90, 90], [20, 20, 20, 20, 30, 30, 30, 30])
WAITS = [5_000] * 4 + [4_000_000] * 4
SAME = [20] * 8
CASES = {
    "a consumer that slows": (consumers.SLOW, consumer(Traffic(), [20] * 5 + [400] * 3), [f"login billing {QUEUE} x3"]),
    "a consumer that slows a little": (consumers.SLOW, consumer(Traffic(), [20] * 5 + [60] * 3), []),
    "a consumer that is slow for a minute": (consumers.SLOW, consumer(Traffic(), [20] * 5 + [110] + [20] * 3), []),
    "a consumer that was always slow": (consumers.SLOW, consumer(Traffic(), [400] * 8), []),
    "a consumer that is slow for three days": (
        consumers.SLOW, consumer(Traffic(), [20] * 5 + [400] * 72, every_min=60), [f"login billing {QUEUE} x72"],
    ),
    "a consumer that is slow for two days and well again": (
        consumers.SLOW, consumer(Traffic(), [20] * 5 + [400] * 48 + [20] * 30, every_min=60), [f"login billing {QUEUE} x48"],
    ),
    "a consumer that slows in its first minute": (
        consumers.SLOW, consumer(Traffic(), [20, 400], each=60, minute_s=30), [f"login billing {QUEUE} x1"],
    ),
    "a consumer that is slow for ten seconds of its first minute": (
        consumers.SLOW, consumer(Traffic(), [20] * 2 + [400] + [20] * 3, each=10, minute_s=10), [],
    ),
    "a consumer that slows in its first minutes and stays so": (
        consumers.SLOW, consumer(Traffic(), [20, 400] + [400] * 12, each=60), [f"login billing {QUEUE} x13"],
    ),
    "one slow instance of three": (
        instances.SLOW_INSTANCE, instances_of(STEADY, [20] * 4 + [400] * 4, STEADY), [f"login billing {QUEUE} 10.0.0.11 x4"],
    ),
    "one slow instance of an address": (
        instances.SLOW_INSTANCE, instances_of(STEADY, [20] * 4 + [400] * 4, ports=True), [f"login billing {QUEUE} 10.0.0.7:5001 x4"],
    ),
    "instances that are alike": (instances.SLOW_INSTANCE, instances_of(STEADY, [25.0] * 8, [40.0] * 8), []),
    "an instance that is slow is not its login": (consumers.SLOW, instances_of(STEADY, [20] * 4 + [400] * 4), []),
    "one connection alone": (instances.SLOW_INSTANCE, instances_of([20] * 4 + [400] * 4), []),
    "a producer that sends more": (destinations.PRODUCER_FASTER, GROWS, [f"login shop {QUEUE} x4"]),
    "a producer that sends more in the first minutes": (destinations.PRODUCER_FASTER, sending(45, 4), [f"login shop {QUEUE} x2"]),
    "a producer that sends more, and consumers follow": (destinations.PRODUCER_FASTER, sending(45, 40), []),
    "a producer that sends more for ten seconds": (destinations.PRODUCER_FASTER, sending(110, 4), []),
    "a producer that is said is no backlog": (destinations.BACKLOG, GROWS, []),
    "a backlog of which no past is known": (destinations.BACKLOG, minutes([90] * 8, [30] * 8), [f"destination /{QUEUE} {QUEUE} x8"]),
    "a backlog of what is delivered again and again": (destinations.BACKLOG, given_back(minutes([90] * 8, [30] * 8)), []),
    "a queue that is as it was": (destinations.BACKLOG, minutes(SAME, SAME), []),
    "messages that wait though consumers are idle": (
        destinations.BROKER_SLOW, minutes(SAME, SAME, residence_p50_us=WAITS), ["broker 10.0.0.1:61613 x4"],
    ),
    "messages that wait in the third minute of a capture": (
        destinations.BROKER_SLOW, minutes([20] * 4, [20] * 4, residence_p50_us=[5_000, 4_000_000, 4_000_000, 4_000_000]),
        ["broker 10.0.0.1:61613 x3"],
    ),
    "messages that waited for the consumer that came": (
        destinations.BROKER_SLOW, minutes([20] * 4, [20] * 4, residence_p50_us=[None, 4_000_000, 4_000_000, 5_000]), [],
    ),
    "messages that wait for busy consumers": (
        destinations.LATE_MESSAGES, minutes(SAME, SAME, [3600] * 8, residence_p50_us=WAITS), [f"destination /{QUEUE} {QUEUE} x4"],
    ),
    "a broker that stands still to the end": (silent.BROKER_STILL, silenced(120, 400), ["broker 10.0.0.1:61613 still x1"]),
    "a broker that stands still for a while": (silent.BROKER_STILL, silenced(120, 180), ["broker 10.0.0.1:61613 still x1"]),
    "a broker that is quiet for some seconds": (silent.BROKER_STILL, silenced(120, 127), []),
    "a broker to which nothing is sent": (silent.BROKER_STILL, silenced(120, 400, asked_until=120), []),
    "a broker whose consumers have messages in flight": (silent.BROKER_STILL, silenced(120, 400, in_flight=True), []),
    "receipts that come late": (
        destinations.SLOW_CONFIRMS, minutes(SAME, SAME, receipt_p95_us=[5_000] * 4 + [900_000] * 4), [f"destination /{QUEUE} {QUEUE} x4"],
    ),
    "receipts of a broker that is slow with all": (
        destinations.SLOW_CONFIRMS, minutes(SAME, SAME, residence_p50_us=WAITS, receipt_p95_us=[5_000] * 4 + [900_000] * 4), [],
    ),
    "a backlog of SENDs whose content-length is wrong": (destinations.BACKLOG, wrong_length(minutes([90] * 8, [30] * 8)), []),
    "a queue without consumer": (
        unread.NO_CONSUMER, destination(Traffic(), SAME, [0] * 8), [f"destination /{QUEUE} {QUEUE} x8"],
    ),
    "a queue whose SENDs do not count": (unread.NO_CONSUMER, destination(Traffic(), SAME, [0] * 8, backlog_change=[0] * 8), []),
    "a queue whose consumer never gets anything": (
        unread.NO_CONSUMER, consumer(destination(Traffic(), SAME, [0] * 8), [None] * 8), [f"destination /{QUEUE} {QUEUE} x7"],
    ),
    "a queue whose consumer may have got what was not captured": (
        unread.NO_CONSUMER, consumer(destination(Traffic(), SAME, [0] * 8), [None] * 8, gap_octets=9), [],
    ),
    "a queue whose consumers left": (
        unread.LEFT_ALONE, left_after(5), [f"destination /{QUEUE} {QUEUE} left x3"],
    ),
    "a queue whose consumer stays and gets nothing": (
        unread.LEFT_ALONE, minutes(SAME, [20] * 5 + [0] * 3), [f"destination /{QUEUE} {QUEUE} held x3"],
    ),
    "a queue that is read now and then": (unread.LEFT_ALONE, minutes(SAME, [20, 0, 0, 20, 0, 0, 20, 0]), []),
    "a message again and again": (consumers.POISON_MESSAGE, again(1), [f"login billing {QUEUE} x1"]),
    "many messages again": (consumers.REDELIVERY_LOOP, again(9), [f"login billing {QUEUE} x1"]),
    "a few messages again": (consumers.REDELIVERY_LOOP, again(4, 4), []),
    "messages that come again say nothing of speed": (consumers.SLOW, again(1, 50, ack_latency_us=900_000, service_us=900_000), []),
    "messages that are refused": (consumers.NACKED, nacked(10), [f"login billing {QUEUE} x1"]),
    "a message that is refused and nobody gets again": (consumers.NACKED, nacked(1), [f"login billing {QUEUE} x1"]),
    "a message that is refused and another consumer gets": (
        consumers.NACKED, delivered(nacked(1).session(0, 600, login="other"), 310, 1, redelivered=True, body_hash=90_000), [],
    ),
    "the last message is refused": (consumers.NACKED, delivered(consumer(Traffic(), STEADY), 900, 90_000, settlement="nack"), []),
    "messages that are refused and come again": (consumers.NACKED, again(1, settlement="nack"), []),
    "a transaction that stays open": (transactions.UNCOMMITTED, in_transaction("open", 0, 3), ["login shop x1"]),
    "a transaction that its connection loses": (transactions.UNCOMMITTED, in_transaction("implicitly_aborted", 5, 20), ["login shop x1"]),
    "a small transaction that its connection loses": (transactions.UNCOMMITTED, in_transaction("implicitly_aborted", 5, 2), []),
    "an empty transaction": (transactions.UNCOMMITTED, in_transaction("open", 0, 0), []),
    "transactions that are committed": (transactions.UNCOMMITTED, in_transaction("committed", 300, 20), []),
    "transactions rolled back": (transactions.ROLLED_BACK, in_transaction("aborted", 1, 1, times=20), ["login shop aborted x1"]),
    "a transaction rolled back": (transactions.ROLLED_BACK, in_transaction("aborted", 1, 1), []),
    "clients cut together": (
        cuts.CUT_TOGETHER, cut(60, 60.4, 60.9, close_cause="reset"), ["broker 10.0.0.1:61613 closed 10.0.0.1:61613 x3"],
    ),
    "clients of an address cut together": (
        cuts.CUT_TOGETHER, cut(60, 60.4, 60.9, same=True), ["network 10.0.0.8 closed 10.0.0.1:61613 x3"],
    ),
    "clients that end far apart": (cuts.CUT_TOGETHER, cut(60, 70, 80), []),
    "clients that leave": (cuts.CUT_TOGETHER, cut(60, 60, 60, close_cause="disconnect"), []),
    "two of many clients": (cuts.CUT_TOGETHER, cut(60, 60), []),
    "a few of very many clients": (cuts.CUT_TOGETHER, cut(60, 60, 60, left=40), []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_flagged(case: str) -> None:
    sql, traffic, expected = CASES[case]
    assert told(traffic, sql) == expected


@pytest.mark.slow
def test_the_order_of_rows_changes_nothing() -> None:
    traffic = consumer(GROWS, [20] * 5 + [400] * 3, login="slow")
    for _ in range(3):
        traffic.of_last("compliance_findings", rule_id="AK-01", level="M", side="client", direction="c2s", stream_offset=_, ts_ns=at(1))
    first = said_of(traffic)
    assert first
    assert all(said_of(traffic, seed) == first for seed in range(3))


def test_what_waits_for_a_stalled_consumer_is_of_its_own_broker() -> None:
    traffic = minutes([20] * 8, [20, 20, 20] + [0] * 5, [20, 20, 20] + [None] * 5)
    delivered(traffic, 179, 99_000, None, status="unsettled", settlement=None, settled_by=None)
    other = [row | {"server_product": "Artemis"} for row in traffic.rows["destination_minutes"]]
    traffic.rows["destination_minutes"] += other
    [row] = events(traffic, "SELECT * FROM stalled")
    assert row["backlog"] == 100


@pytest.mark.parametrize(("number", "begin", "how"), [(30, 150, "skipping"), (2, None, "")], ids=["many", "few"])
def test_a_stall_begins_with_the_first_message_that_was_left_out(number: int, begin: int | None, how: str) -> None:
    [row] = events(skipping(number), "SELECT * FROM stalled")
    assert (row["messages"], row["text"].partition("client")[2].strip()) == (number, how)
    assert begin is None or row["begin_ns"] == at(begin)


def test_a_broker_that_soon_closes_who_sends_may_not_have_taken_it() -> None:
    traffic = destination(Traffic(), [3] * 8, [0] * 8)
    assert told(traffic, unread.NO_CONSUMER)
    traffic.rows["sessions"][0] |= {"closed_ns": at(90), "ended_by": "server", "close_cause": "unknown"}
    assert told(traffic, unread.NO_CONSUMER) == []


def test_a_consumer_is_gone_until_the_next_one_subscribes() -> None:
    found, gone = Traffic(), {"close_cause": "heartbeat_client", "heartbeat_c2s_ms": 10_000}
    for queue, subscribed, end, how in (
        (QUEUE, 0, 60, gone), (QUEUE, 0, 120, gone), (QUEUE, 0, 300, gone), ("queue/other", 0, 70, gone),
        (QUEUE, 30, 200, {}), (QUEUE, 90, 400, {}), (QUEUE, 150, 400, {}),
    ):  # fmt: skip
        found.session(0, end, **how).of_last("subscriptions", subscribe_offset=20, destination_name=queue, subscribed_ns=at(subscribed))
    back = [(row["what"], row["begin_ns"], row["end_ns"]) for row in events(found, "SELECT * FROM lost_consumers")]
    assert back == [(QUEUE, at(60), at(90)), ("queue/other", at(70), None), (QUEUE, at(120), at(150)), (QUEUE, at(300), None)]
