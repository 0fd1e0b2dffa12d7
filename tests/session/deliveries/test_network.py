"""Which part of an ack latency passed until TCP acknowledged the MESSAGE, and which behind it."""

from __future__ import annotations

import pytest

from tests.session.delivered import EACH, FIRST, GONE, ONE, SECOND, dialogue
from tests.session.transcript import picked, run

CASES = {  # at which millisecond what happens; latency, network, consumer in ms of each delivery
    "in a packet of its own": (f"@20 {FIRST}@23 > TCP\n@30 > ACK id:a1\n", [(10, 3, 7)]),
    "with the ACK itself": (f"@20 {FIRST}@30 > ACK id:a1\n", [(10, None, None)]),
    "with another frame": (f"@20 {FIRST}@25 > EOL\n@30 > ACK id:a1\n", [(10, 5, 5)]),
    "two by one": (f"@20 {FIRST}@21 {SECOND}@22 > TCP\n@30 > ACK id:a1\n@40 > ACK id:a2\n", [(10, 2, 8), (19, 1, 18)]),
    "settled along": (ONE + f"@20 {FIRST}@21 {SECOND}@22 > TCP\n@30 > ACK id:a2\n", [(10, 2, 8), (9, 1, 8)]),
    "not settled": (f"@20 {FIRST}@22 > TCP\n{GONE}", [(None, None, None)]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_both_parts_are_the_whole_and_null_where_only_the_sum_is_known(case: tuple[str, list[tuple[int | None, ...]]]) -> None:
    text, expected = case
    found = run(dialogue("1.2", "", (text if text.startswith(">") else EACH + text))).tables["deliveries"]
    us = picked(found, "ack_latency_us", "network_us", "consumer_us")
    assert [tuple(one if one is None else int(str(one)) / 1000 for one in row) for row in us] == expected
