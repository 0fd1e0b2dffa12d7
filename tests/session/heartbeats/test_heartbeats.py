"""Heart-beats: silences, their severity, and what ends them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from stompcap.session import Options
from stompcap.session.heartbeats import follow as heartbeats
from stompcap.settings import Thresholds
from tests.session.heartbeats.beating import BEATING, gaps, summary
from tests.session.transcript import MS, START, picked, run

SEVERITIES = [
    (100, []),
    (110, []),
    (111, ["late"]),
    (150, ["late"]),
    (151, ["violation"]),
    (300, ["violation"]),
    (301, ["dead"]),
]


@pytest.mark.parametrize(("length", "expected"), SEVERITIES)
def test_severities(length: int, expected: list[str]) -> None:
    assert [g[2] for g in gaps(f"@{2 + length} > EOL\n")] == expected
    row = summary(f"@{2 + length} > EOL\n")
    assert (row["gaps"], row["max_gap_ms"], row["observed_ms"]) == (1, length, length)
    assert [row["late"], row["violations"], row["dead"]] == [int(s in expected) for s in ("late", "violation", "dead")]
    assert row["verdict"] == (expected[0] if expected else "ok")


def chosen(late: float, violation: float, dead: float) -> Options:
    return Options(thresholds=Thresholds(late, violation, dead))


def test_thresholds_are_options() -> None:
    assert [g[2] for g in gaps("@152 > EOL\n", options=chosen(1.2, 2, 4))] == ["late"]
    assert [g[2] for g in gaps("@302 > EOL\n", options=chosen(1.2, 2, 2.5))] == ["dead"]


ENDS = [
    ("@402 > EOL\n", "heartbeat"),
    ("@402 > SEND destination:/queue/a\n", "data"),
    ('@402 > RAW "\\x0aSEND\\ndestination:a\\n\\n\\x00"\n', "data"),
    ("@402 > FIN\n", "close"),
    ("@402 < RST\n", "close"),
    ("@402 < EOL\n", "capture_end"),
    ("@402 < FIN\n", "close"),
]


@pytest.mark.parametrize(("end", "expected"), ENDS)
def test_what_ends_a_gap(end: str, expected: str) -> None:
    assert gaps(end)[0] == (0, 400, "dead", expected, None)


@pytest.mark.parametrize("end", ["> FIN\n@5000 < EOL\n", "< FIN\n@5000 > EOL\n", "< FIN\n@5000 > FIN\n", "< RST\n@5000 < EOL\n"])
def test_nothing_is_judged_behind_the_first_close(end: str) -> None:
    assert gaps(f"@52 {end}") == []
    row = summary(f"@52 {end}")
    assert (row["observed_ms"], row["beats"]) == (50, 0)


CUT_OFF = [
    ("@242 < FIN\n@5000 > FIN\n", 2.4, "violation"),
    ("@372 < RST\n", 3.7, "dead"),
    ("@102 > EOL\n@302 < FIN\n", 2.0, "violation"),
    ("@200 < ERROR message:timeout\n@242 < FIN\n", 2.4, "violation"),
    # short, by the silent side, never, agreed on, refused, for all that is known not silent
    ("@112 < FIN\n", None, "ok"),
    ("@242 > FIN\n", None, "violation"),
    ("@242 < EOL\n", None, "violation"),
    ("& > DISCONNECT\n@242 < FIN\n", None, "ok"),
    ("& < ERROR message:no\n@242 < FIN\n", None, "violation"),
    ("@100 > EOL\n> GAP 5\n@900 < FIN\n", None, "ok"),
]


@pytest.mark.parametrize(("text", "intervals", "verdict"), CUT_OFF)
def test_after_how_many_intervals_a_silent_peer_is_cut_off(text: str, intervals: float | None, verdict: str) -> None:
    row = summary(text)
    assert (row["cut_off_after_intervals"], row["verdict"]) == (intervals, verdict)


def test_only_what_stands_alone_is_a_beat() -> None:
    text = """
    @50 > SEND destination:/queue/a | hello
    & > EOL
    @100 > EOL
    @150 > EOL
    & > EOL
    @200 > SEND destination:/queue/a | hello
    @201 > EOL
    """
    assert summary(text)["beats"] == 3


def test_octets_of_large_frames_count_as_they_arrive() -> None:
    pieces = "".join(f'@{at} > RAW "x"\n' for at in range(100, 1000, 90))
    text = '@50 > RAW "SEND\\ndestination:a\\n\\n"\n' + pieces + '@1000 > RAW "\\x00"\n'
    assert summary(text)["verdict"] == "ok"


def test_directions_are_judged_apart() -> None:
    both = BEATING.replace("100,0", "100,200").replace("0,100", "50,100")
    rows = run(both + "@152 > EOL\n").tables["heartbeats"].to_pylist()
    assert [(r["direction"], r["interval_ms"], r["verdict"]) for r in rows] == [("c2s", 100, "late"), ("s2c", 200, "ok")]


NONE = [
    "> CONNECT accept-version:1.2 host:/ heart-beat:100,100\n< CONNECTED version:1.2\n",
    "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2 heart-beat:100,100\n",
    "> CONNECT accept-version:1.2 host:/ heart-beat:100\n< CONNECTED version:1.2 heart-beat:100,100\n",
    "> CONNECT heart-beat:100,100\n< CONNECTED heart-beat:100,100\n",
    "> CONNECT accept-version:1.2 host:/ heart-beat:100,100\n< ERROR message:no\n",
    "> CONNECT accept-version:1.2 host:/ heart-beat:100,100\n",
    "> CONNECT accept-version:1.2 host:/ heart-beat:0,0\n< CONNECTED version:1.2 heart-beat:100,100\n",
    "> CONNECT accept-version:1.2 host:/ heart-beat:100,0\n< CONNECTED version:1.2 heart-beat:100,0\n",
    "> CONNECT accept-version:1.1 host:/ 'heart-beat:100, 100'\n< CONNECTED version:1.1 heart-beat:100,100\n",
    "> CONNECT accept-version:1.2 host:/ heart-beat:100,100\n< CONNECTED version:1.2 heart-beat:-5,x\n",
    "> CONNECT accept-version:1.0,1.1 heart-beat:100,100\n< CONNECTED version:1.0 heart-beat:100,100\n",
    "> GAP 60\n< CONNECTED version:1.2 heart-beat:100,100\n",
    "> CONNECT accept-version:1.2 host:/ heart-beat:100,100\n< GAP 60\n< MESSAGE message-id:1 ack:1\n",
]


@pytest.mark.parametrize(
    ("client", "server", "expected"),
    [
        ("100,0", "0,250", [("c2s", 250)]),
        ("0,100", "250,0", [("s2c", 250)]),
        ("300,100", "100,200", [("c2s", 300), ("s2c", 100)]),
        ("300,100", "0,200", [("c2s", 300)]),
    ],
)
def test_only_a_direction_in_which_both_agree_is_judged(client: str, server: str, expected: list[tuple[str, int]]) -> None:
    text = f"> CONNECT accept-version:1.1 host:/ heart-beat:{client}\n< CONNECTED version:1.1 heart-beat:{server}\n@9000 > EOL\n& < EOL\n"
    tables = run(text).tables
    assert picked(tables["heartbeats"], "direction", "interval_ms") == expected
    agreed = {f"heartbeat_{way}_ms": dict(expected).get(way, 0) for way in ("c2s", "s2c")}
    assert [{name: row[name] for name in agreed} for row in tables["sessions"].to_pylist()] == [agreed]


def test_watching_begins_when_connected_is_complete() -> None:
    text = """
    > CONNECT accept-version:1.2 host:/ heart-beat:100,100
    @50 < RAW "CONNECTED\\nversion:1.2\\nheart-"
    @900 < RAW "beat:100,100\\n\\n\\x00"
    @1000 > EOL
    @1020 < EOL
    @1100 > FIN
    & < FIN
    """
    tables = run(text).tables
    names = ("direction", "verdict", "max_gap_ms", "observed_ms")
    assert picked(tables["heartbeats"], *names) == [("c2s", "ok", 100, 200), ("s2c", "late", 120, 200)]
    [silence] = tables["heartbeat_violations"].to_pylist()
    assert (silence["gap_start_ns"] - START, silence["gap_end_ns"] - START) == (900 * MS, 1020 * MS)
    assert (silence["gap_ms"], silence["interval_ms"], silence["ratio"]) == (120, 100, 1.2)


@pytest.mark.parametrize("opening", NONE)
def test_nothing_negotiated_nothing_judged(opening: str) -> None:
    tables = run(opening + "@9000 > EOL\n").tables
    assert tables["heartbeats"].num_rows == tables["heartbeat_violations"].num_rows == 0


@pytest.mark.parametrize("interval", [10**12, 8_400_000_000_000, 9_300_000_000_000, 10**16, 10**18 - 1])
def test_no_interval_is_too_long_to_be_judged(interval: int) -> None:
    text = f"> CONNECT accept-version:1.2 host:/ heart-beat:{interval},0\n< CONNECTED version:1.2 heart-beat:0,1\n@60000 > EOL\n> FIN\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = run(text).tables
    assert picked(tables["heartbeats"], "interval_ms", "verdict", "cut_off_after_intervals") == [(interval, "ok", None)]
    assert tables["heartbeat_violations"].num_rows == 0


def test_sessions_side_by_side() -> None:
    analysis = run(BEATING + "@102 > EOL\n> FIN\n", BEATING + "@502 > EOL\n> FIN\n", "> CONNECT\n", BEATING + "@152 > EOL\n")
    assert picked(analysis.tables["heartbeats"], "stream_id", "verdict", "beats") == [
        (f"{0:020d}", "ok", 1), (f"{1:020d}", "dead", 1), (f"{3:020d}", "late", 1)
    ]


@pytest.mark.parametrize("late", [1.0, 1.1, 1.15, 1.5, 3.0])
def test_what_is_late_by_its_whole_milliseconds_is_late(late: float) -> None:
    interval = np.arange(1, 20_001)
    longest = heartbeats._in_time(interval, late)
    assert (longest // MS / interval <= late).all()
    assert ((longest + 1) // MS / interval > late).all()
