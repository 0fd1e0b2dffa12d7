"""What a consumer usually took before it stalled (`pipelines.incidents.stalled_consumers.USUAL`), against a definition written out."""

from __future__ import annotations

import random
from statistics import median

import duckdb
import pyarrow as pa
import pytest

from pipelines.incidents.stalled_consumers import ACKNOWLEDGED_MINUTES, USUAL, USUAL_AT_FIRST, USUAL_BEFORE

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


def asked(took: Took, begins_ns: list[int]) -> dict[int, float | None]:
    """What the SQL says, with another consumer of the same destination beside it."""
    names = {"source": "s", "server_product": None, "destination_name": "/queue/q"}
    rows = [{**names, "subject": who, "minute": at_ns // MINUTE_NS, "delivered_ns": at_ns, "ack_latency_us": us}
            for who, taken in (("us", took), ("others", [(at_ns, 7 * us + 1) for at_ns, us in took])) for at_ns, us in taken]  # fmt: skip
    pause = {**names, "subject": "us", "stream_id": "x", "subscription": "0"}
    holders = [{**pause, "begin_ns": at_ns, "minute": at_ns // MINUTE_NS} for at_ns in begins_ns]
    text = [(name, pa.string()) for name in ("source", "subject", "server_product", "destination_name")]
    with duckdb.connect() as database:
        database.register("acknowledged", pa.Table.from_pylist(
            rows, pa.schema([*text, ("minute", pa.int64()), ("delivered_ns", pa.int64()), ("ack_latency_us", pa.int64())])))  # fmt: skip
        database.register("holders", pa.Table.from_pylist(
            holders, pa.schema([*text, ("stream_id", pa.string()), ("subscription", pa.string()), ("begin_ns", pa.int64()),
                                ("minute", pa.int64())])))  # fmt: skip
        for name, sql in (("acknowledged_minutes", ACKNOWLEDGED_MINUTES), ("usual_before", USUAL_BEFORE),
                          ("usual_at_first", USUAL_AT_FIRST), ("usual", USUAL)):  # fmt: skip
            database.execute(f"CREATE TABLE {name} AS {sql}")
        return dict(database.execute("SELECT begin_ns, usual_us FROM usual").fetchall())


@pytest.mark.parametrize("seed", range(20))
def test_what_a_consumer_usually_takes_is_the_median_of_the_day_before_or_of_its_first_minute(seed: int) -> None:
    chance = random.Random(seed)
    minutes = chance.choice([1, 3, 60, 3000])
    took = [(chance.randrange(minutes * MINUTE_NS), chance.choice([10, 20, 20_000, 10**7]) + chance.randrange(10)) for _ in range(200)]
    begins_ns = sorted({chance.randrange(minutes * MINUTE_NS) for _ in range(40)})
    assert asked(took, begins_ns) == {at_ns: usual(took, at_ns) for at_ns in begins_ns}
