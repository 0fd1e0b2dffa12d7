"""What a subscription's time was spent with."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.session import analyse
from tests.examples import one_in
from tests.session.delivered import OPENINGS, message
from tests.session.transcript import MS, START, made, run

END = "@100 > FIN\n@100 < FIN\n"


def sent(*at: int) -> str:
    """MESSAGEs at these milliseconds, named by their place."""
    return "".join(f"@{ms} " + message(f"m{n}", ack=f"a{n}") for n, ms in enumerate(at, 1))


def acks(*at: int) -> str:
    return "".join(f"@{ms} > ACK id:a{n}\n" for n, ms in enumerate(at, 1))


def subscription(text: str, headers: str = "", mode: str = "client-individual", **how: object) -> dict[str, object]:
    """The row of one that begins at 10 ms, of a session that ends at 100 ms: mean, idle and at the limit in ms, since when at the limit."""
    whole = OPENINGS["1.2"].format("") + f"@10 > SUBSCRIBE id:1 destination:/queue/a ack:{mode} {headers}\n" + text
    [row] = run(whole, **how).tables["subscriptions"].to_pylist()  # type: ignore[arg-type]
    ms = {name: None if row[f"{name}_us"] is None else row[f"{name}_us"] / 1000 for name in ("idle", "full")}
    since = row["limited_since_ns"]
    return {"mean": row["mean_in_flight"], **ms, "since": None if since is None else (since - START) // MS}


LIMIT = "prefetch-count:2"
CASES = {
    "nothing came": ("" + END, "", (0.0, 90, None, None)),
    "in order": (sent(20, 30) + acks(40, 60) + END, LIMIT, ((10 + 20 + 20) / 90, 50, 10, None)),
    "at the limit at its end": (sent(20, 30) + END, LIMIT, ((10 + 140) / 90, 10, 70, 30)),
    "at it again": (sent(20, 30) + "@40 > ACK id:a1\n@50 " + message("m3", ack="a3") + END, LIMIT, ((10 + 20 + 10 + 100) / 90, 10, 60, 50)),
    "ActiveMQ names its limit": (sent(20) + END, "activemq.prefetchSize:1", (80 / 90, 10, 80, 20)),
    "Artemis has one of octets": (sent(20) + END, "consumer-window-size:1", (80 / 90, 10, None, None)),
    "none allows any number": (sent(20) + END, "prefetch-count:0", (80 / 90, 10, None, None)),
    "up to UNSUBSCRIBE": (sent(20) + "@30 > UNSUBSCRIBE id:1\n@50 > ACK id:a1\n" + END, "prefetch-count:1", (0.5, 10, 10, None)),
    "up to DISCONNECT": (sent(20) + "@30 > DISCONNECT\n" + END, "prefetch-count:1", (0.5, 10, 10, 20)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_time_at_the_limit_and_idle_and_the_mean_in_flight(case: tuple[str, str, tuple[float, ...]]) -> None:
    text, headers, expected = case
    assert tuple(subscription(text, headers).values()) == pytest.approx(expected)


def test_it_is_null_where_nothing_asks_for_an_ack() -> None:
    assert set(subscription(sent(20) + END, LIMIT, "auto").values()) == {None}


def test_it_is_null_where_the_clocks_of_the_directions_differ() -> None:
    opening = OPENINGS["1.2"].format("") + "> SUBSCRIBE id:1 destination:/queue/a ack:client prefetch-count:1\n"
    given = made(opening + sent(20) + acks(40) + END)
    at = given["streams"].column_names.index("clock_difference_min_us")
    ahead = pa.array([5_000], pa.int64())
    streams = given["streams"].set_column(at, "clock_difference_min_us", ahead)
    found = analyse(streams, given["rows"], given["frames"], given["segments"], {"cap": 0}).tables
    [row], [delivery] = (found[name].to_pylist() for name in ("subscriptions", "deliveries"))
    assert {row[name] for name in ("mean_in_flight", "idle_us", "full_us", "limited_since_ns")} == {None}
    assert (delivery["service_us"], row["max_in_flight"]) == (None, 1)


@one_in(2)
@given(st.lists(st.tuples(st.sampled_from("mmad"), st.integers(0, 9), st.integers(0, 20)), max_size=40), st.integers(1, 5))
def test_they_are_what_counting_by_the_millisecond_gives(steps: list[tuple[str, int, int]], limit: int) -> None:
    now, text, waiting, count, held = 10, "", list[int](), 0, list[int]()
    for what, which, passed in steps:
        held += [len(waiting)] * passed
        now += passed
        if what == "m":
            count += 1
            waiting.append(count)
            text += f"@{now} " + message(f"m{count}", ack=f"a{count}")
        elif waiting:
            text += f"@{now} > ACK id:a{waiting.pop(which % len(waiting))}\n"
    held += [len(waiting)] * 5
    found = subscription(text + f"@{now + 5} > FIN\n@{now + 5} < FIN\n", f"prefetch-count:{limit}")
    assert (found["idle"], found["full"]) == (held.count(0), sum(number >= limit for number in held))
    assert found["mean"] == pytest.approx(sum(held) / len(held))
    assert (found["since"] is not None) == (len(waiting) >= limit)
