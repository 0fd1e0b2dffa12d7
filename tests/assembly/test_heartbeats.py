"""Heart-beats on the wire, from packets to the tables: what counts as activity, what excuses a silence, who ended it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.options import Options
from stompcap.settings import Settings, Thresholds
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.tcp.wire import START_NS, Wire

CONNECT = b"CONNECT\naccept-version:1.2\nhost:h\nheart-beat:1000,0\n\n\0"
CONNECTED = b"CONNECTED\nversion:1.2\nheart-beat:0,1000\n\n\0"
SEND = b"SEND\ndestination:/q\n\n\0"
C, S = len(CONNECT), len(CONNECTED)
MS = 1_000_000

Row = dict[str, object]


class Beating(Wire):
    """A session in which the client owes a beat a second; times are milliseconds since CONNECTED came."""

    def __init__(self) -> None:
        super().__init__()
        self.handshake().c(0, CONNECT, "PA", at_ns=START_NS - 2 * MS).s(0, CONNECTED, "PA", C, at_ns=START_NS)
        for frame, at in zip(self.frames, (-5, -4, -3), strict=False):
            object.__setattr__(frame, "ts_ns", START_NS + at * MS)

    def client(self, at: int, payload: bytes = b"", offset: int = 0, flags: str = "A", window: int = 1000) -> Beating:
        """The client sends, `offset` octets behind its CONNECT."""
        self.c(C + offset, payload, flags, S, at_ns=START_NS + at * MS, window=window)
        return self

    def server(self, at: int, ack: int = 0, flags: str = "A", window: int = 1000) -> Beating:
        """The server acknowledges what lies that far behind CONNECT."""
        self.s(S, b"", flags, C + ack, at_ns=START_NS + at * MS, window=window)
        return self


def judged(wire: Beating, folder: Path, options: Options | None = None) -> tuple[Row, list[Row], Row]:
    """The row of heartbeats, the silences and the session."""
    tables = tables_of([str(pcap(folder / "beats.pcap", wire.frames, nano=True))], options)
    [beats] = tables["heartbeats"].to_pylist()
    [session] = tables["sessions"].to_pylist()
    return beats, tables["heartbeat_violations"].to_pylist(), session


def beat(last: int) -> Beating:
    return Beating().client(900, b"\n").client(last, b"\n", 1)


NO_ACTIVITY = {
    "nothing": lambda wire: wire,
    "pure acknowledgements": lambda wire: wire.client(1900, offset=1).client(2800, offset=1).client(3700, offset=1),
    "keep-alives without an octet": lambda wire: wire.client(1900).client(2800).client(3700),
    "keep-alives with an octet": lambda wire: wire.server(901, 1).client(1900, b"\0").client(2800, b"\0").client(3700, b"\0"),
    "with an octet, the beat not acknowledged": lambda wire: wire.client(1900, b"\0").client(2800, b"\0").client(3700, b"\0"),
    "retransmissions long before": lambda wire: wire.client(1900, b"\n").client(2000, b"\n"),
    "what the server sends": lambda wire: wire.server(1900, 1).server(2800, 1),
}


@pytest.mark.parametrize("between", NO_ACTIVITY)
def test_what_is_no_activity(between: str, tmp_path: Path) -> None:
    wire = NO_ACTIVITY[between](Beating().client(900, b"\n")).client(4500, b"\n", 1).client(5000, b"\n", 2)
    row, silences, _ = judged(wire, tmp_path)
    assert [(s["gap_ms"], s["severity"], s["ended_by"], s["excused"]) for s in silences] == [(3600, "dead", "heartbeat", None)]
    assert (row["verdict"], row["beats"], row["interval_ms"]) == ("dead", 3, 1000)


def test_the_last_octet_of_a_frame_is_a_keep_alive_though_nobody_acknowledged_the_frame(tmp_path: Path) -> None:
    """Who sends again what was not acknowledged sends all of it."""
    last, wire = len(SEND) - 1, Beating().client(900, SEND)
    wire.client(1900, SEND[-1:], last).client(2800, SEND[-1:], last).client(3700, SEND[-1:], last)
    row, silences, _ = judged(wire.client(4500, b"\n", len(SEND)), tmp_path)
    assert [(s["gap_ms"], s["severity"], s["excused"]) for s in silences] == [(3600, "dead", None)]
    assert row["verdict"] == "dead"
    again = Beating().client(900, SEND).client(3700, SEND).client(4500, b"\n", len(SEND))
    _, silences, _ = judged(again, tmp_path)
    assert [s["excused"] for s in silences] == ["retransmission"]


def test_what_is_lost_and_comes_again_octet_by_octet_is_no_keep_alive(tmp_path: Path) -> None:
    wire = Beating().client(900, SEND[:-1]).client(1800, b"", len(SEND)).client(1900, SEND[-1:], len(SEND) - 1)
    tables = tables_of([str(pcap(tmp_path / "again.pcap", wire.frames, nano=True))])
    assert tables["sessions"].column("gap_octets").to_pylist() == [0]
    assert "SEND" in tables["frames"].column("command").to_pylist()


def test_a_window_that_was_shut_excuses_the_time_for_which_it_was(tmp_path: Path) -> None:
    wire = Beating().client(900, b"\n").server(910, 1, window=0).server(3910, 1).client(5110, b"\n", 1)
    row, silences, _ = judged(wire, tmp_path)
    assert [(s["gap_ms"], s["ratio"], s["severity"], s["excused"]) for s in silences] == [(1200, 1.2, "late", None)]
    assert (row["verdict"], row["dead"], row["late"]) == ("late", 0, 1)


def test_a_new_octet_behind_old_ones_in_its_segment_is_activity(tmp_path: Path) -> None:
    wire = Beating().client(900, b"\n").client(1800, b"\n\n").client(2700, b"\n\n\n")
    row, silences, _ = judged(wire, tmp_path)
    assert (silences, row["verdict"], row["max_gap_ms"], row["beats"]) == ([], "ok", 900, 3)


def test_a_capture_that_begins_behind_connected_judges_no_heart_beats(tmp_path: Path) -> None:
    wire = Beating().client(900, b"\n").client(9000, b"SEND\ndestination:/q\n\n\0", 1)
    tables = tables_of([str(pcap(tmp_path / "late.pcap", wire.frames[-2:], nano=True))])
    assert tables["sessions"].column("heartbeat_c2s_ms").to_pylist() == [None]
    assert tables["heartbeats"].num_rows == tables["heartbeat_violations"].num_rows == 0


def test_a_large_frame_that_trickles_in_is_activity(tmp_path: Path) -> None:
    wire, head = Beating(), b"SEND\ndestination:/q\n\n"
    wire.client(900, head)
    for n in range(20):
        wire.client(1800 + 900 * n, b"x", len(head) + n)
    row, silences, _ = judged(wire.client(1800 + 900 * 20, b"\0", len(head) + 20), tmp_path)
    assert (silences, row["verdict"], row["max_gap_ms"], row["gaps"]) == ([], "ok", 900, 22)


EXCUSES = {
    "capture_gap": lambda wire: wire.client(4500, b"\n", 3),  # two octets before it are missing
    "zero_window": lambda wire: wire.server(950, 1, window=0).server(4400, 1).client(4500, b"\n", 1),
    "retransmission": lambda wire: wire.client(3000, b"\n").client(3900, b"\n").client(4500, b"\n", 1),
}


@pytest.mark.parametrize("excuse", EXCUSES)
def test_an_excused_silence_says_why(excuse: str, tmp_path: Path) -> None:
    row, silences, _ = judged(EXCUSES[excuse](Beating().client(900, b"\n")), tmp_path)
    assert [(s["gap_ms"], s["excused"]) for s in silences] == [(3600, excuse)]
    assert (row["dead"], row["verdict"]) == (1, "ok")


ENDS = {
    "data": (lambda wire: wire.client(4500, b"SEND\ndestination:/q\n\n\0", 1), "open", None),
    "heartbeat": (lambda wire: wire.client(4500, b"\n", 1), "open", None),
    "close": (lambda wire: wire.client(4500, b"", 1, "FA"), "fin", "client"),
    "close of the other by RST": (lambda wire: wire.server(4500, 1, "RA"), "rst", "server"),
    "capture_end": (lambda wire: wire.server(4500, 1), "open", None),
    "close of the other by FIN": (lambda wire: wire.server(4500, 1, "FA").client(9000, b"", 1), "fin", "server"),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_ends_a_silence(end: str, tmp_path: Path) -> None:
    said, kind, closer = ENDS[end]
    _, silences, session = judged(said(Beating().client(900, b"\n")), tmp_path)
    assert [(s["gap_ms"], s["ended_by"]) for s in silences] == [(3600, end.split()[0])]
    assert (session["end_kind"], session["ended_by"]) == (kind, closer)


def test_thresholds_of_a_run(tmp_path: Path) -> None:
    def severities(**limits: float) -> list[object]:
        _, silences, _ = judged(beat(4500), tmp_path, Options(settings=Settings(thresholds=Thresholds(**limits))))
        return [s["severity"] for s in silences]

    assert severities() == ["dead"]
    assert severities(heartbeat_dead=4) == ["violation"]
    assert severities(heartbeat_violation=3.8, heartbeat_dead=4) == ["late"]
    assert severities(heartbeat_late=3.7, heartbeat_violation=3.8, heartbeat_dead=4) == []
