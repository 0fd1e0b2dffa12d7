"""Who closed a session and how, from packets to the tables: FINs and RSTs of either side, crossing, behind each other, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.cli.dialogue.lines import dialogues
from stompcap.rules.closing.connection import CUT_OFFS_S
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.tcp.wire import START_NS, Wire

MS = 1_000_000
DISCONNECT = b"DISCONNECT\nreceipt:1\n\n\0"
ERROR = b"ERROR\nmessage:no more\n\n\0"


class Talk(Wire):
    """A session whose handshake is over at 0 ms; what follows acknowledges all that the other side sent before."""

    def __init__(self, version: bytes = b"1.2", beats: bytes = b"0,0") -> None:
        super().__init__()
        self.at = [0, 0]
        self.handshake()
        self.say(0, 0, b"CONNECT\naccept-version:%b\nhost:h\nheart-beat:%b\n\n\0" % (version, beats))
        self.say(0, 1, b"CONNECTED\nversion:%b\n\n\0" % version)
        for frame, at in zip(self.frames, (-5, -4, -3, -2, -1), strict=True):
            object.__setattr__(frame, "ts_ns", START_NS + at * MS)

    def say(self, at: float, side: int, payload: bytes = b"", flags: str = "A", unheard: int = 0) -> Talk:
        """One side sends, not having heard the last `unheard` octets (a FIN is one) of the other."""
        self.put(side, self.at[side], payload, flags, self.at[1 - side] - unheard, at_ns=START_NS + round(at * MS))
        self.at[side] += len(payload) + ("F" in flags)
        return self


CLOSES = {
    "the client's FIN": (lambda t: t.say(10, 0, flags="FA").say(11, 1, flags="FA"), "fin", "client", 10),
    "the server's FIN": (lambda t: t.say(10, 1, flags="FA").say(11, 0, flags="FA"), "fin", "server", 10),
    "the client's FIN alone": (lambda t: t.say(10, 0, flags="FA").say(11, 1), "fin", "client", 10),
    "FINs that cross": (lambda t: t.say(10, 0, flags="FA").say(10.1, 1, flags="FA", unheard=1), "fin", "both", 10),
    "the client's RST": (lambda t: t.say(10, 0, flags="RA"), "rst", "client", 10),
    "the server's RST": (lambda t: t.say(10, 1, flags="RA"), "rst", "server", 10),
    "a RST that answers a FIN": (lambda t: t.say(10, 0, flags="FA").say(11, 1, flags="RA"), "fin", "client", 10),
    "a RST long behind the server's FIN": (lambda t: t.say(10, 1, flags="FA").say(42_910, 0, flags="RA"), "fin", "server", 10),
    "a FIN with the last octets": (lambda t: t.say(10, 1, ERROR, "FA").say(11, 0, flags="FA"), "fin", "server", 10),
    "an ERROR and no close": (lambda t: t.say(10, 1, ERROR).say(20, 0, b"\n"), "open", None, None),
    "the capture's end": (lambda t: t.say(10, 0, b"\n").say(11, 1), "open", None, None),
    "DISCONNECT and the client's FIN": (lambda t: t.say(9, 0, DISCONNECT).say(10, 0, flags="FA"), "disconnect", "client", 10),
    "DISCONNECT and the server's FIN": (lambda t: t.say(9, 0, DISCONNECT).say(10, 1, flags="FA"), "disconnect", "client", 10),
    "DISCONNECT and a RST": (lambda t: t.say(9, 0, DISCONNECT).say(10, 0, flags="RA"), "disconnect", "client", 10),
    "DISCONNECT and no close": (lambda t: t.say(9, 0, DISCONNECT).say(10, 1), "disconnect", "client", None),
}


@pytest.mark.parametrize("close", CLOSES)
def test_who_closed_and_how(close: str, tmp_path: Path) -> None:
    ended, kind, by, at = CLOSES[close]
    [row] = tables_of([str(pcap(tmp_path / "closes.pcap", ended(Talk()).frames, nano=True))])["sessions"].to_pylist()
    assert (row["end_kind"], row["ended_by"], row["complete_end"]) == (kind, by, at is not None)
    assert row["closed_ns"] == (None if at is None else START_NS + at * MS)


SILENCES = [
    # version, heart-beats, seconds of silence, who closes by what, what is said of it
    (b"1.2", b"0,0", 60, 1, "RA", "rst after 60.000 s of silence, like a cut-off at 60 s"),
    (b"1.2", b"0,0", 350.9, 1, "RA", "rst after 350.900 s of silence, like a cut-off at 350 s"),
    (b"1.0", b"5,5", 60.4, 1, "FA", "fin after 60.400 s of silence, like a cut-off at 60 s"),
    (b"1.1", b"0,0", 97, 1, "FA", "fin after 97.000 s of silence"),
    (b"1.2", b"0,0", 5, 1, "RA", None),
    (b"1.2", b"0,0", 60, 0, "RA", None),
]


@pytest.mark.parametrize(("version", "beats", "seconds", "side", "flags", "said"), SILENCES)
def test_a_cut_off_of_an_idle_connection_is_told(
    version: bytes, beats: bytes, seconds: float, side: int, flags: str, said: str | None, tmp_path: Path
) -> None:
    assert CUT_OFFS_S == (60, 350)
    talk = Talk(version, beats).say(0, 0, b"SEND\ndestination:/q\n\n\0").say(1000 * seconds, side, flags=flags)
    findings = tables_of([str(pcap(tmp_path / "idle.pcap", talk.frames, nano=True))])["compliance_findings"].to_pylist()
    assert [row["evidence"] for row in findings if row["rule_id"] == "HB-08"] == ([] if said is None else [said])
    silence = (said or "").removeprefix("rst ").removeprefix("fin ")
    assert all(silence in row["evidence"] for row in findings if row["rule_id"] == "DS-07")


RESETS = [
    # each of side, milliseconds and flags; the columns of streams: close_kind, closed_by, rst_by, rst_ns; DS-07's evidence, peek's lines
    (((1, 10, "FA"), (0, 42_910, "RA")), ("fin", "server", "client", 42_910),
     "client reset the connection, 42.9 s after the broker closed it",
     [(10, "FIN by server"), (42_910, "RST by client, 42.9 s after the broker closed it")]),
    (((1, 10, "FA"), (1, 3_010, "R")), ("fin", "server", "server", 3_010),
     "broker reset the connection, 3 s after it closed it",
     [(10, "FIN by server"), (3_010, "RST by server, 3 s after the broker closed it")]),
    (((0, 10, "FA"), (1, 12, "RA")), ("fin", "client", "server", 12),
     "broker reset the connection, 2 ms after the client closed it",
     [(10, "FIN by client"), (12, "RST by server, 2 ms after the client closed it")]),
    (((0, 292, "RA"),), ("rst", "client", "client", 292), "client reset the connection after 0.293 s of silence",
     [(292, "RST by client")]),
    (((1, 10, "RA"), (0, 11, "FA")), ("rst", "server", "server", 10), "broker reset the connection after 0.011 s of silence",
     [(10, "RST by server")]),
    (((0, 10, "FA"), (1, 11, "FA"), (0, 12, "R")), ("fin", "client", "client", 12), None,
     [(10, "FIN by client"), (12, "RST by client, 2 ms after the client closed it")]),
    (((0, 10, "FA"), (1, 11, "FA")), ("fin", "client", None, None), None, [(10, "FIN by client")]),
]  # fmt: skip


@pytest.mark.parametrize(("ends", "expected", "said", "lines"), RESETS)
def test_a_reset_is_told_apart_from_the_close(
    ends: tuple[tuple[int, float, str], ...], expected: tuple[object, ...], said: str | None, lines: list[tuple[int, str]], tmp_path: Path
) -> None:
    talk = Talk()
    for side, at, flags in ends:
        talk.say(at, side, flags=flags)
    tables = tables_of([str(pcap(tmp_path / "resets.pcap", talk.frames, nano=True))])
    [row] = tables["streams"].to_pylist()
    at = None if row["rst_ns"] is None else (row["rst_ns"] - START_NS) // MS
    assert (row["close_kind"], row["closed_by"], row["rst_by"], at) == expected
    [session] = tables["sessions"].to_pylist()
    assert (session["end_kind"], session["ended_by"], session["closed_ns"]) == (*expected[:2], START_NS + int(ends[0][1]) * MS)
    findings = tables["compliance_findings"].to_pylist()
    assert [row["evidence"] for row in findings if row["rule_id"] == "DS-07"] == ([] if said is None else [said])
    [shown] = dialogues(tables, {})
    assert [((line.ns or 0) - START_NS) // MS for line in shown.lines if line.kind == "close"] == [at for at, _ in lines]
    assert [line.note for line in shown.lines if line.kind == "close"] == [note for _, note in lines]
