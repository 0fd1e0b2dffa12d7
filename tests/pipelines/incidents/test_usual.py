"""What a consumer usually took before it stalled (`pipelines.incidents.stalled_consumers.USUAL`), against a definition written out."""

from __future__ import annotations

import random
from statistics import median

import duckdb
import pyarrow as pa
import pytest

from pipelines.incidents.stalled_consumers import ACKNOWLEDGED_MINUTES, LEAST, USUAL, USUAL_AT_FIRST, USUAL_BEFORE

MINUTE_NS = 60 * 10**9
DAY_MINUTES = 1440
Took = list[tuple[int, int]]
"""When each message was delivered, in nanoseconds, and after how many microseconds it was acknowledged."""


def usual(took: Took, begin_ns: int) -> float | None:
    """The definition: the median of the day's minutes before, weighted by messages, else of the messages before in the same minute."""
    minute = begin_ns // MINUTE_NS
    minutes: dict[int, list[int]] = {}
    for at_ns, us in took:
        if minute - DAY_MINUTES <= at_ns // MINUTE_NS < minute:
            minutes.setdefault(at_ns // MINUTE_NS, []).append(us)
    if not minutes:
        first = [us for at_ns, us in took if at_ns // MINUTE_NS == minute and at_ns < begin_ns]
        return median(first) if first else None
    weighted = sorted((median(one), len(one)) for one in minutes.values())
    half, so_far = sum(weight for _, weight in weighted) / 2, 0
    for value, weight in weighted:
        so_far += weight
        if so_far >= half:
            return value
    raise AssertionError


def asked(took: Took, begins_ns: list[int]) -> tuple[dict[int, float | None], float]:
    """What the SQL says, with another consumer of the same destination beside it; and what the consumer never usually takes less than."""
    names = {"source": "s", "server_product": None}
    clients = [{**names, "subject": who, "stream_id": who} for who in ("us", "others")]
    rows = [{"stream_id": who, "destination_name": "/queue/q", "delivered_ns": at_ns, "ack_latency_us": us}
            for who, taken in (("us", took), ("others", [(at_ns, us // 7) for at_ns, us in took])) for at_ns, us in taken]  # fmt: skip
    pause = {**names, "destination_name": "/queue/q", "subject": "us", "stream_id": "x", "subscription": "0"}
    holders = [{**pause, "begin_ns": at_ns, "minute": at_ns // MINUTE_NS} for at_ns in begins_ns]
    numbers = {"minute", "delivered_ns", "ack_latency_us", "begin_ns"}
    with duckdb.connect() as database:
        for name, some in (("clients", clients), ("deliveries", rows), ("holders", holders)):
            schema = pa.schema([(column, pa.int64() if column in numbers else pa.string()) for column in some[0]])
            database.register(name, pa.Table.from_pylist(some, schema))
        for name, sql in (("acknowledged_minutes", ACKNOWLEDGED_MINUTES), ("least_usual", LEAST), ("usual_before", USUAL_BEFORE),
                          ("usual_at_first", USUAL_AT_FIRST), ("usual", USUAL)):  # fmt: skip
            database.execute(f"CREATE TABLE {name} AS {sql}")
        [(least,)] = database.execute("SELECT least_us FROM least_usual WHERE subject = 'us'").fetchall()
        return dict(database.execute("SELECT begin_ns, usual_us FROM usual").fetchall()), least


@pytest.mark.parametrize("seed", range(20))
def test_what_a_consumer_usually_takes_is_the_median_of_the_day_before_or_of_its_first_minute(seed: int) -> None:
    chance = random.Random(seed)
    minutes = chance.choice([1, 3, 60, 3000])
    took = [(chance.randrange(minutes * MINUTE_NS), chance.choice([10, 20, 20_000, 10**7]) + chance.randrange(10)) for _ in range(200)]
    begins_ns = sorted({chance.randrange(minutes * MINUTE_NS) for _ in range(40)})
    found, least = asked(took, begins_ns)
    assert found == {at_ns: usual(took, at_ns) for at_ns in begins_ns}
    assert all(one is None or one >= least for one in found.values())


def test_a_minute_with_a_day_before_it_is_not_told_by_its_quickest_message() -> None:
    """Else a quick message would have each pause of a slow consumer looked at."""
    took = [(number * MINUTE_NS, 20_000) for number in range(10)] + [(5 * MINUTE_NS + number, us) for number, us in ((1, 20_000), (2, 10))]
    assert asked(took, [8 * MINUTE_NS]) == ({8 * MINUTE_NS: 20_000}, 20_000)
