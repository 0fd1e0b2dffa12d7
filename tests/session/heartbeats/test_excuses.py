"""What excuses a silence, and from when on silence is nobody's fault."""

from __future__ import annotations

import pytest

from tests.session.heartbeats.beating import gaps, summary
from tests.session.transcript import MS, START, run


def test_a_gap_of_the_capture_excuses_the_silence_it_lies_in() -> None:
    text = """
    @100 > EOL
    @150 > GAP 20
    @500 > SEND destination:/queue/a
    @900 > EOL
    """
    assert gaps(text) == [(98, 400, "dead", "data", "capture_gap"), (498, 400, "dead", "heartbeat", None)]
    row = summary(text)
    assert (row["dead"], row["verdict"]) == (2, "dead")


def test_octets_missing_at_the_end_excuse_the_last_silence() -> None:
    assert gaps("@100 > EOL\n> GAP 5\n@900 < EOL\n") == [(98, 800, "dead", "capture_end", "capture_gap")]


def test_where_all_is_excused_nothing_can_be_judged() -> None:
    row = summary("@500 > GAP 20\n@600 > EOL\n")
    assert (row["gaps"], row["dead"], row["verdict"]) == (1, 1, "not_evaluable")
    assert summary("")["verdict"] == "not_evaluable"


def test_an_excused_silence_leaves_the_verdict_to_the_others() -> None:
    assert summary("@60 > EOL\n> GAP 20\n@600 > EOL\n@690 > EOL\n")["verdict"] == "ok"
    assert summary("@60 > EOL\n> GAP 20\n@600 > EOL\n@720 > EOL\n")["verdict"] == "late"


WHOLE = (0, 1000, "dead")
STALLS = [
    # kind, begin, end; of a gap from 2 to 1002 ms what is listed: from when on, how long, how bad, what excuses it
    ("zero_window", 10, 950, [(*WHOLE, "zero_window")]),
    ("zero_window", 0, 2000, [(*WHOLE, "zero_window")]),
    ("zero_window", 10, 882, [(880, 120, "late", None)]),
    ("zero_window", 10, 500, [(498, 502, "dead", None)]),
    ("zero_window", 202, 2000, [(0, 200, "violation", None)]),
    ("zero_window", 202, 882, [(0, 200, "violation", None), (880, 120, "late", None)]),
    ("zero_window", 1500, 2000, [(*WHOLE, None)]),
    ("retransmission", 950, 950, [(*WHOLE, "retransmission")]),
    ("retransmission", 20, 20, [(*WHOLE, None)]),
    ("retransmission", 2, 2, [(*WHOLE, None)]),
]


@pytest.mark.parametrize(("kind", "begin", "end", "expected"), STALLS)
def test_stalls(kind: str, begin: int, end: int, expected: list[tuple[object, ...]]) -> None:
    stall = {"direction": "c2s", "kind": kind, "begin_ms": begin, "end_ms": end}
    assert [gap[:3] + gap[4:] for gap in gaps("@1002 > EOL\n", stalls=[stall])] == expected
    other = stall | {"direction": "s2c"}
    assert gaps("@1002 > EOL\n", stalls=[other]) == [(0, 1000, "dead", "heartbeat", None)]


def test_the_time_of_closed_windows_is_taken_out_and_the_rest_judged_by_itself() -> None:
    def closed(begin: int, end: int) -> dict[str, object]:
        return {"direction": "c2s", "kind": "zero_window", "begin_ms": begin, "end_ms": end}

    stalls = [closed(52, 202), closed(150, 352), closed(392, 492), closed(612, 622)]
    text = "@742 > EOL\n"
    assert gaps(text, stalls=stalls) == [(490, 120, "late", "heartbeat", None), (620, 120, "late", "heartbeat", None)]
    row = summary(text, stalls=stalls)
    assert (row["verdict"], row["late"], row["dead"], row["gaps"], row["max_gap_ms"]) == ("late", 2, 0, 2, 740)
    resent = {"direction": "c2s", "kind": "retransmission", "begin_ms": 700, "end_ms": 700}
    assert gaps(text, stalls=[*stalls, resent])[1] == (620, 120, "late", "heartbeat", "retransmission")


BOTH = """
> CONNECT accept-version:1.2 host:/ heart-beat:100,100
< CONNECTED version:1.2 heart-beat:100,100
"""
DONE = [
    # behind CONNECTED at 2 ms; what is listed: direction, from when on, how long
    ("@52 > DISCONNECT receipt:1\n@5000 < RECEIPT receipt-id:1\n@9000 > FIN\n", []),
    ("@52 > DISCONNECT\n@5000 > EOL\n& < EOL\n@9000 < FIN\n", []),
    ("@52 > DISCONNECT\n@5000 < EOL\n", []),
    ("@52 < EOL\n@302 > DISCONNECT\n@5000 < RECEIPT receipt-id:1\n", [("c2s", 0, 300), ("s2c", 50, 250)]),
    ("@92 > EOL\n@182 > EOL\n@252 > DISCONNECT\n@5000 > FIN\n", [("s2c", 0, 250)]),
    # it may have been lost
    ("@52 > EOL\n@92 < EOL\n> GAP 14\n@5000 < FIN\n", [("c2s", 50, 4948, "capture_gap"), ("s2c", 90, 4908, "capture_gap")]),
    ("@52 > EOL\n@92 < EOL\n> GAP 14\n@150 > EOL\n@200 > FIN\n", []),
    ("@52 > EOL\n@90 > GAP 14\n@95 > EOL\n@180 > EOL\n@270 > EOL\n& < EOL\n", [("s2c", 0, 268)]),
]


@pytest.mark.parametrize(("text", "expected"), DONE)
def test_behind_a_disconnect_silence_is_nobodys_fault(text: str, expected: list[tuple[object, ...]]) -> None:
    tables = run(BOTH + text).tables
    found = [
        (row["direction"], (row["gap_start_ns"] - START) // MS - 2, row["gap_ms"], *([row["excused"]] if row["excused"] else []))
        for row in tables["heartbeat_violations"].to_pylist()
    ]
    assert found == expected
    longest = {way: max((gap[2] for gap in expected if gap[0] == way), default=110) for way in ("c2s", "s2c")}
    for row in tables["heartbeats"].to_pylist():
        assert (row["max_gap_ms"] or 0) <= longest[row["direction"]]
        assert row["cut_off_after_intervals"] is None
