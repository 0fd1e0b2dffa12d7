"""A clock that leaps forward is no silence: nothing is said of what was measured across it, and what was silent is said still."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.incidents.leaps import leapt_ns
from pipelines.incidents.relations import make
from stompcap.incidents.facts import Facts
from stompcap.incidents.summary import summarise
from stompcap.lake import query
from tests.mangler.shapes import recorded, written
from tests.pipelines.incidents.connections import Traffic, at
from tests.pipelines.incidents.found import differences, incidents_in, lake_of
from tests.pipelines.incidents.test_found import DATA, planted
from tests.report.sample import SECOND

LEAP = 3600


def said(traffic: Traffic, direction: str, kind: str, *seconds: float) -> None:
    """Rows of octets of the last session; SENDs without a receipt are in their table, too."""
    for number, second in enumerate(seconds):
        row = {"direction": direction, "stream_offset": 100 + number, "first_ns": at(second), "last_ns": at(second)}
        traffic.of_last("raw_frames", **row, kind=kind)
        if kind == "frame":
            traffic.of_last("sends", stream_offset=100 + number, first_ns=at(second), sent_ns=at(second), receipt=None)


def senders(*logins: str, behind: float = LEAP, **values: Any) -> Traffic:
    """Each sends every ten seconds up to the hole from 100 on, and on from `behind`."""
    traffic = Traffic()
    for number, login in enumerate(logins):
        traffic.session(0, 8000, login, {"client_ip": f"10.0.0.{number}"}, **values)
        said(traffic, "c2s", "frame", *range(0, 101, 10), *(behind + second for second in range(100, 200, 10)))
    return traffic


def beating(interval_ms: int, *ways: str) -> Traffic:
    """One connection, of which these sides beat as agreed, but for the hole."""
    traffic = Traffic().session(0, 8000, heartbeat_c2s_ms=interval_ms, heartbeat_s2c_ms=interval_ms)
    for way in ways:
        said(traffic, way, "heartbeat", *range(0, 101, 20), *(second + LEAP for second in range(100, 200, 20)))
    return traffic


def blocked() -> Traffic:
    """Two senders behind a closed window."""
    traffic = senders("a", "b")
    return traffic.of_last("stalls", direction="c2s", kind="zero_window", begin_ns=at(90), end_ns=at(LEAP + 50))


CASES = {
    "two senders": (senders("a", "b"), True),
    "one alone may have paused": (senders("a"), False),
    "a service of two connections may have frozen": (senders("a", "a"), False),
    "nobody goes on soon": (senders("a", "b", behind=2 * LEAP).tcp(LEAP, LEAP), False),
    "both sides beat": (beating(20_000, "c2s", "s2c"), True),
    "one side beats": (beating(20_000, "c2s"), False),
    "beats that are rarer than the hole": (beating(3_000_000, "c2s", "s2c"), False),
    "a closed window kept them": (blocked(), False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_a_leap(case: tuple[Traffic, bool]) -> None:
    traffic, leaps = case
    sql = "SELECT begin_ns, end_ns FROM leaps WHERE end_ns - begin_ns > 1000000000000"
    tables = traffic.tables()
    with query.opened(tables) as database:
        make(database, tables, {"found": sql})
        found = database.sql("SELECT * FROM found").fetchall()
        spans = [leapt_ns("'default'", str(at(begin)), str(at(7000))) for begin in (50, 500)]
        assert not leaps or database.sql(f"SELECT {', '.join(spans)}").fetchall() == [(LEAP * SECOND, 0)]
    assert found == ([(at(100), at(100 + LEAP))] if leaps else [])


@pytest.mark.parametrize("seconds", [45, pytest.param(LEAP, marks=pytest.mark.slow), pytest.param(-LEAP, marks=pytest.mark.slow)])
def test_a_clock_that_leaps_is_no_incident(seconds: int, tmp_path: Path) -> None:
    """A consumer that is slow has messages in flight then. Behind an hour, what happens again is another incident."""
    capture = DATA / "incidents" / "rabbitmq_incidents.pcapng"
    truth = [row for row in map(json.loads, capture.with_suffix(".truth.jsonl").read_text("utf-8").splitlines())
             if row["kind"] == "incident"]  # fmt: skip
    frames = [replace(frame, ts_ns=1000 * frame.ts_ns) for frame in recorded(capture)]  # it counts microseconds
    leap_ns, ns = frames[0].ts_ns + 200 * SECOND, seconds * SECOND
    leapt = [replace(frame, ts_ns=frame.ts_ns + (ns if frame.ts_ns >= leap_ns else 0)) for frame in frames]
    known = planted([row | {"begin_ns": row["begin_ns"] + (ns if row["begin_ns"] >= leap_ns else 0)} for row in truth], "incident")
    said = incidents_in(lake_of(tmp_path / "lake", [written(tmp_path, "leapt.pcap", leapt)]))
    wrong = differences([row for row in said if row["kind"] != "capture_clocks"], known)
    assert [one for one in wrong if abs(seconds) < LEAP or one.startswith("not planted")] == []


def test_a_stall_while_nothing_at_all_was_captured_is_likely() -> None:
    def fact(**values: Any) -> Facts:
        return Facts("consumer_stalled", "login", "billing", "default", at(0), at(0), at(60), 1, most=60.0, messages=3, **values)

    assert [(one.level, one.would_change is None) for one in map(summarise, (fact(text="ack"), fact(text="silence")))] == [
        ("critical", True), ("warning", False)]


SIDE = st.tuples(
    st.booleans(), st.lists(st.sampled_from((1, 2, 5, 10, 30)), min_size=2, max_size=12), st.sampled_from((0, 1_000, 4_000))
)  # fmt: skip
"""A client: whether it sends or beats, the seconds between what it does, and the interval of its beats in milliseconds."""


def by_definition(sides: list[tuple[str, bool, list[int], int]]) -> list[tuple[int, int]]:
    """The leaps, each hole compared with all that each client did."""
    every = sorted({time for _, _, times, _ in sides for time in times})
    found = []
    for begin, end in pairwise(every):
        long, parties = end - begin, set()
        for subject, sends, times, beat_ms in sides:
            before = [time for time in times if 0 <= begin - time <= long]
            behind = [time for time in times if 0 <= time - end <= long]
            enough = len(before) >= 3 if sends else beat_ms and before and long >= 1.8 * beat_ms / 1000
            if enough and behind and 2 * (begin - max(before) + min(behind) - end) <= long:
                parties.add(subject)
        if long >= 2 and len(parties) >= 2:
            found.append((at(begin), at(end)))
    return found


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(SIDE, min_size=2, max_size=4), st.lists(st.tuples(st.integers(1, 60), st.sampled_from((3, 10, 60))), max_size=3))
def test_leaps_are_those_of_their_definition(sides: list[tuple[bool, list[int], int]], leaps: list[tuple[int, int]]) -> None:
    """Whoever is found by the middle of a pause is found by looking at all."""
    traffic, clients = Traffic(), []
    for number, (sends, pauses, beat_ms) in enumerate(sides):
        seconds = [second + sum(by for when, by in leaps if second > when) for second in accumulate(pauses)]
        stream = {"client_ip": f"10.0.0.{number}", "client_port": 9}
        traffic.session(seconds[0], seconds[-1], f"c{number}", stream, heartbeat_c2s_ms=beat_ms)
        said(traffic, "c2s", "frame" if sends else "heartbeat", *seconds)
        clients.append((f"c{number}", False, seconds, beat_ms))
        clients += [(f"c{number}", True, seconds, 0)] if sends else []
    tables = traffic.tables()
    with query.opened(tables) as database:
        make(database, tables, {"found": "SELECT begin_ns, end_ns FROM leaps ORDER BY begin_ns"})
        assert database.sql("SELECT * FROM found").fetchall() == by_definition(clients)
