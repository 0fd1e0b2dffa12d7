"""Views about who is slow, over dialogues of one consumer."""

from __future__ import annotations

import duckdb
import pytest

from stompcap.tables import TABLES, words
from stompcap.tables.consumers import CONSUMER_STALLS, SUBSCRIPTION_BOUNDS
from stompcap.tables.view import View
from tests.session.delivered import OPENINGS, message
from tests.session.transcript import MS, START, Session, run, tables


def answer(view: View, text: str, journeys: list[dict[str, object]] | None = None) -> list[dict[str, object]]:
    """The rows of a view, of the tables of one session."""
    made, found = tables([Session(text)]), run(text).tables
    known = {name: found.get(name) for name in ("deliveries", "subscriptions", "sessions")} | {"streams": made["streams"]}
    lake = duckdb.connect()
    for name in view.tables:
        lake.register(name, known.get(name, TABLES[name].arrow.empty_table()))
    if journeys is not None:
        lake.register("journeys", TABLES["journeys"].arrow.empty_table().from_pylist(journeys, TABLES["journeys"].arrow))
    return lake.execute(view.of()).to_arrow_table().to_pylist()


def consumer(steps: str, headers: str = "", end: str = "@100000 > FIN\n@100000 < FIN\n", mode: str = "client-individual") -> str:
    """One that subscribes at 1 s; `m1@2000` is a MESSAGE at that millisecond, `a1@3000` its ACK, `t@2001` an acknowledgement by TCP."""
    text = OPENINGS["1.2"].format("") + f"@1000 > SUBSCRIBE id:1 destination:/queue/a ack:{mode} {headers}\n"
    for step in steps.split():
        what, ms = step.split("@")
        name = what[1:]
        said = {"m": message(f"m{name}", ack=f"a{name}"), "a": f"> ACK id:a{name}\n", "n": f"> NACK id:a{name}\n", "t": "> TCP\n"}
        text += f"@{ms} " + said[what[0]]
    return text + end


STALLS = {  # begin and end in seconds, deliveries in flight at the begin, what ended it
    "none": ("m1@2000 a1@12000 m2@20000 a2@21000", []),
    "behind the delivery": ("m1@2000 a1@12001", [(2, 12.001, 1, "ack")]),
    "behind the settlement before": ("m1@2000 m2@2000 m3@5000 a1@3000 n2@20000 a3@20001", [(3, 20, 1, "nack")]),
    "others were in flight": ("m1@2000 m2@3000 a2@4000 a1@30000", [(4, 30, 1, "ack")]),
    "an older one was": ("m1@2000 m2@13000 a2@14000 a1@15000", [(2, 14, 1, "ack")]),
    "up to the close": ("m1@2000 m2@2000", [(2, 100, 2, "close")]),
}


@pytest.mark.parametrize("case", STALLS.values(), ids=STALLS)
def test_a_consumer_is_stalled_that_has_deliveries_and_settles_none_for_ten_seconds(case: tuple[str, list[tuple[object, ...]]]) -> None:
    steps, expected = case
    ordered = " ".join(sorted(steps.split(), key=lambda step: int(step.split("@")[1])))
    found = sorted(answer(CONSUMER_STALLS, consumer(ordered)), key=lambda row: str(row["begin_ns"]))
    assert [
        ((int(str(row["begin_ns"])) - START) / 1000 / MS, (int(str(row["end_ns"])) - START) / 1000 / MS, row["in_flight"], row["ended_by"])
        for row in found
    ] == expected
    assert not any(row["uncertain"] for row in found)


@pytest.mark.parametrize(("end", "ended_by"), [
    ("@50000 > UNSUBSCRIBE id:1\n@60000 > FIN\n@60000 < FIN\n", "unsubscribe"),
    ("@50000 > DISCONNECT\n@50000 > FIN\n@50000 < FIN\n", "disconnect"), ("@50000 > EOL\n", "capture_end"),
])
def test_a_stall_ends_with_its_subscription_at_the_latest(end: str, ended_by: str) -> None:
    [row] = answer(CONSUMER_STALLS, consumer("m1@2000", end=end))
    assert (row["ended_by"], row["stalled_ms"]) == (ended_by, 48_000)


def test_clients_that_need_not_settle_are_never_stalled() -> None:
    assert answer(CONSUMER_STALLS, consumer("m1@2000", mode="auto")) == []


BOUNDS = {
    "idle": ("m1@2000 a1@3000", "", "idle"),
    "consumer": ("m1@2000 t@2001 a1@90000", "prefetch-count:2", "consumer"),
    "consumer, of no limit known": ("m1@2000 m2@2000 t@2001 a1@90000 a2@90001", "", "consumer"),
    "prefetch": ("m1@2000 m2@2000 t@2001 a1@90000 a2@90001", "prefetch-count:2", "prefetch"),
    "network": ("m1@2000 t@80000 a1@90000", "prefetch-count:1", "network"),
    "unknown": ("m1@2000 a1@42000 m2@52000 m3@52000 a2@92000 a3@92000", "prefetch-count:2", "unknown"),
}


@pytest.mark.parametrize("case", BOUNDS.values(), ids=BOUNDS)
def test_a_subscription_is_bounded_by_what_more_than_half_of_its_time_is_spent_with(case: tuple[str, str, str]) -> None:
    steps, headers, expected = case
    [row] = answer(SUBSCRIPTION_BOUNDS, consumer(steps, headers))
    assert row["bounded_by"] == expected
    assert expected in words.BOUNDED_BY


@pytest.mark.parametrize(("residence_us", "joined_by", "expected"), [
    (60_000_000, "unique", "broker"), (60_000_000, "ambiguous", "idle"), (10_000, "unique", "idle"),
])
def test_it_is_the_broker_where_a_message_waited_though_nothing_was_in_flight(residence_us: int, joined_by: str, expected: str) -> None:
    text = consumer("m1@2000 a1@3000 m2@99000 a2@99001")
    offsets = sorted(row["stream_offset"] for row in run(text).tables["deliveries"].to_pylist())
    journey = {"message_stream_id": "0" * 20, "message_offset": offsets[1], "joined_by": joined_by, "redelivery": False}
    journey |= {"residence_us": residence_us}
    [row] = answer(SUBSCRIPTION_BOUNDS, text, [journey])
    assert (row["bounded_by"], row["broker_us"]) == (expected, min(residence_us, 96_000_000) if joined_by == "unique" else 0)
