"""How long the client took for a delivery: from when it had it and had settled what came before, to its ACK."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import one_in
from tests.session.delivered import A2, A3, ABORT, BEGIN, EACH, FIRST, INSIDE, ONE, RABBITMQ, SECOND, THIRD, dialogue, message, subscribe
from tests.session.transcript import run

THREE = FIRST + SECOND + THIRD
OTHER = message("n1", 2, "/queue/b", "b1")
CASES = {  # what happens, a millisecond a line; milliseconds of service of each delivery
    "one by one": (EACH + THREE + "> ACK id:a1\n" + A2 + A3, [3, 1, 1]),
    "all at once share it": (ONE + THREE + A3, [3, 2, 1]),
    "all at once, behind another ACK": (ONE + THREE + "> ACK id:a1\n" + "> EOL\n" * 4 + A3, [3, 5, 5]),
    "NACK settles too": (EACH + FIRST + SECOND + "> NACK id:a1\n" + A2, [2, 1]),
    "delivered behind the settlement before": (EACH + FIRST + "> ACK id:a1\n< EOL\n" + SECOND + A2, [1, 1]),
    "another subscription is another consumer": (
        EACH + subscribe(2, "client-individual", "/queue/b") + FIRST + OTHER + "> ACK id:a1\n> ACK id:b1\n", [2, 2],
    ),
    "along over the connection": (
        ONE + subscribe(2, "client", "/queue/b") + FIRST + OTHER + SECOND + "> ACK id:b1\n" + A2, [3, 2, 1], RABBITMQ,
    ),
    "in a transaction": (BEGIN + EACH + FIRST + SECOND + INSIDE + A2 + "> COMMIT transaction:t\n", [2, 1]),
    "given back, and settled again": (BEGIN + EACH + FIRST + INSIDE + ABORT + "> ACK id:a1\n", [2]),
    "not settled": (EACH + FIRST + SECOND + "> ACK id:a1\n", [2, None]),
    "auto": (subscribe(mode="auto") + FIRST, [None]),
    "of no subscription that is known": (FIRST + "> ACK id:a1\n", [None]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_the_time_since_the_later_of_the_delivery_and_the_settlement_before(case: tuple[str, list[int | None], str]) -> None:
    text, expected, *server = case
    found = run(dialogue("1.2", server[0] if server else "", text)).tables["deliveries"]
    assert [us if us is None else us / 1000 for us in found.column("service_us").to_pylist()] == expected


@one_in(2)
@given(st.lists(st.tuples(st.sampled_from("mma"), st.integers(1, 50)), max_size=40))
def test_services_of_a_consumer_that_settles_in_order_make_up_the_time_in_which_anything_is_in_flight(steps: list[tuple[str, int]]) -> None:
    now, text, waiting, busy, since, count = 10, EACH, list[int](), 0, 0, 0
    for what, passed in steps:
        now += passed
        if what == "m":
            since = since if waiting else now
            count += 1
            waiting.append(count)
            text += f"@{now} " + message(f"m{count}", ack=f"a{count}")
        elif waiting:
            text += f"@{now} > ACK id:a{waiting.pop(0)}\n"
            busy, since = busy + now - since, now
    found = run(dialogue("1.2", "", text + f"@{now + 1} < EOL\n")).tables["deliveries"].to_pylist()
    assert sum(row["service_us"] or 0 for row in found) == busy * 1000
    assert all(row["service_us"] <= row["ack_latency_us"] for row in found if row["settled_ns"] is not None)
