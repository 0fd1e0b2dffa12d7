"""A capture shown at once: what is printed, what is selected, what is hostile, what cannot be read, what comes through a pipe."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP

from stompcap.cli import entry
from stompcap.cli.dialogue.text import fitting
from stompcap.cli.following import MOST_CONNECTIONS
from tests.capture.packaging import frames, pcap
from tests.cli.commands import ROOT
from tests.cli.exported import conversation, ether
from tests.e2e.cutting import records
from tests.e2e.truth import DATA

HEARTBEATS = str(DATA / "rabbitmq_heartbeats.pcap")
Said = pytest.CaptureFixture[str]


def peek(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", "peek", *words])
    return entry.outcome()


def objects(text: str, kind: str) -> list[dict[str, Any]]:
    return [found for line in text.splitlines() if (found := json.loads(line))["type"] == kind]


def sent(folder: Path, *frames_sent: bytes, lost: int | None = None) -> str:
    """A capture in which a client sends these frames, one a packet; one of them is lost."""
    head = conversation()[:5]
    at, ack = head[4][TCP].ack, head[4][TCP].seq + len(bytes(head[4][TCP].payload))
    packets = []
    for number, frame in enumerate(frames_sent):
        if number != lost:
            packets.append(IP(src="10.0.0.2", dst="10.0.0.1") / TCP(sport=40000, dport=61613, seq=at, ack=ack, flags="PA") / frame)
        at += len(frame)
    return str(pcap(folder / "sent.pcap", frames([ether(packet) for packet in [*head, *packets]])))


def test_a_session_is_told_line_by_line(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(monkeypatch, HEARTBEATS) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    for words in (
        "session fa1b59df3e6890e18ac1  127.0.0.1:36198 → 127.0.0.11:61613  STOMP 1.1  RabbitMQ 3.10.8  connected",
        "0.000614      12 → CONNECT     accept-version:1.1  host:/  login:u-rabbitmq-kept-11  heart-beat:1000,1000  (120 bytes)",
        "! CN-20 INFO client: login and passcode unencrypted", "→ heart-beats × 7", "silence  [violation: ", "close  [FIN by server]",
        "= ended by DISCONNECT of the client after 4.03 s; 2 frames →, 2 ←", "= heart-beats: → ok, ← ok; findings: client 1 INFO",
    ):  # fmt: skip
        assert words in out


@pytest.mark.parametrize(("words", "commands", "least"), [
    (("--command", "connect"), {"CONNECT"}, 10),
    (("--command", "RECEIPT", "--command", "DISCONNECT", "--stream", "fa1b59"), {"RECEIPT", "DISCONNECT"}, 2),
    (("--destination", "/queue/busy.q.11.59f3c1", "--command", "SEND"), {"SEND"}, 3),
    (("--rule", "CN-20"), {"CONNECT"}, 10),
    (("-c", "3"), {"CONNECT", "CONNECTED", "DISCONNECT"}, 3),
])  # fmt: skip
def test_frames_are_selected(words: tuple[str, ...], commands: set[str], least: int, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(monkeypatch, HEARTBEATS, "--json", *words) == 0
    found = objects(capsys.readouterr().out, "frame")
    assert {frame["command"] for frame in found} == commands
    assert len(found) == least if "-c" in words else len(found) >= least


@pytest.mark.parametrize(("words", "says"), [
    (("--rule", "FR-99"), "--rule FR-99: no such rule; list them with: stompcap rules list"),
    (("--stream", "xyz"), "--stream xyz: not a stream id"),
    (("--format", "xml"), "--format xml: must be one of text, csv, json"),
    (("-",), "- reads a pipe and cannot be combined with other captures"),
])  # fmt: skip
def test_what_makes_no_sense_is_a_line(words: tuple[str, ...], says: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(monkeypatch, HEARTBEATS, *words) == 2
    assert capsys.readouterr().err.startswith(f"stompcap: {says}")


def test_hostile_headers_reach_neither_terminal_nor_spreadsheet(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "=HYPERLINK(1)\x1b]0;x\x07\x1b[2J\u202e"
    path = sent(tmp_path, f"SEND\ndestination:{hostile}\n+cmd:-1\npasscode:geheim\n\n\0".encode(), b"\x1b[31mX\n\n\0")
    for words in ((), ("--headers",), ("--format", "csv"), ("--json",)):
        assert peek(monkeypatch, path, *words) == 0
        out = capsys.readouterr().out
        assert not set(out) & set("\x1b\x07\u202e")
        assert "geheim" not in out
        if "csv" in words:
            rows = list(csv.DictReader(io.StringIO(out)))
            (row,) = [row for row in rows if row["command"] == "SEND"]
            assert row["destination"] == r"'=HYPERLINK(1)\x1b]0;x\x07\x1b[2J\u202e"
            assert not any(cell.startswith(("=", "+", "-", "@")) for one in rows for cell in one.values())
        if "--json" in words:
            assert [frame["destination"] for frame in objects(out, "frame") if frame["command"] == "SEND"] == [hostile]


def test_octets_that_are_missing_are_a_line(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    send = b"SEND\ndestination:/queue/a\n\n%d\0"
    assert peek(monkeypatch, sent(tmp_path, send % 1, send % 2, send % 3, b"SEND\ndest", lost=1), "--json") == 0
    kinds = [json.loads(line)["type"] for line in capsys.readouterr().out.splitlines()]
    assert [kind for kind in kinds if kind not in ("finding", "session", "summary")] == ["frame"] * 3 + ["gap", "frame", "partial"]


def test_what_cannot_be_read_is_named_and_the_others_are_shown(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.txt").write_text("no capture")
    assert peek(monkeypatch, str(tmp_path / "notes.txt"), HEARTBEATS, str(tmp_path / "gone.pcap"), "--json") == 4
    said = capsys.readouterr()
    assert [line.partition(": ")[2].split(": ")[1] for line in said.err.splitlines()] == [
        "no such file; check the name", "is not a pcap or pcapng capture by its first bytes; leave it out",
    ]  # fmt: skip
    assert objects(said.out, "summary")
    assert peek(monkeypatch, str(tmp_path / "gone.pcap"), HEARTBEATS, "-c", "1") == 4


def test_too_much_is_left_to_run() -> None:
    from stompcap.cli import tracing
    from stompcap.options import Options

    refused: list[Exception] = []
    assert not tracing.read([HEARTBEATS], Options(), refused.append, most=1000).paths
    assert "use a lake: stompcap run CAPTURE... --lake lake, then stompcap show --lake lake" in str(refused[0])


def test_several_captures_are_one_trace(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = frames([ether(packet) for packet in conversation()])
    halves = [str(pcap(tmp_path / name, part)) for name, part in (("b.pcap", talk[:6]), ("a.pcap", talk[6:]))]
    assert peek(monkeypatch, *halves[::-1], "--json") == 0
    out = capsys.readouterr().out
    assert [frame["command"] for frame in objects(out, "frame")] == ["CONNECT", "CONNECTED", "SEND"]
    assert len(objects(out, "session")) == 1
    assert [line["capture"] for line in objects(out, "frame")] == [halves[0]] * 3


@pytest.mark.parametrize(("text", "width", "fits"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字漢字", 5, "漢字…"), ("漢字", 4, "漢字")])
def test_a_line_fits_the_terminal(text: str, width: int, fits: str) -> None:
    assert fitting(text, width) == fits


class Piped:
    """`peek -` as a process, fed by the test."""

    def __init__(self, *words: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "stompcap", "peek", "-", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.lines.append(line.decode())

    def feed(self, octets: bytes) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(octets)
        self.child.stdin.flush()

    def until(self, words: str, seconds: float = 30) -> None:
        until = time.monotonic() + seconds
        while not any(words in line for line in self.lines):
            assert time.monotonic() < until, self.lines
            time.sleep(0.05)

    def end(self) -> tuple[int, str]:
        assert self.child.stdin is not None
        assert self.child.stderr is not None
        self.child.stdin.close()
        code = self.child.wait(30)
        self.reader.join(10)
        return code, self.child.stderr.read().decode()


@pytest.fixture
def piped() -> Iterator[Piped]:
    process = Piped("--json")
    yield process
    process.child.kill()
    process.child.wait()


def test_a_pipe_is_shown_as_it_comes_and_tells_what_the_file_tells(piped: Piped, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    octets = Path(HEARTBEATS).read_bytes()
    for at in range(0, 8000, 1000):
        piped.feed(octets[at : at + 1000])
    piped.until('"CONNECTED"')  # while the pipe is open
    piped.feed(octets[8000:])
    assert piped.end() == (0, "")
    assert peek(monkeypatch, HEARTBEATS, "--json") == 0
    out = capsys.readouterr().out
    names = ("stream_id", "ns", "octets", "command", "headers", "count", "rule_id", "evidence", "findings")
    for kind in ("frame", "heartbeats", "silence", "gap", "close", "finding", "summary"):
        live, whole = (
            sorted(json.dumps([found.get(name) for name in names]) for found in objects(text, kind)) for text in ("".join(piped.lines), out)
        )
        assert live == whole


@pytest.mark.slow
def test_a_scan_of_many_ports_hides_no_session(piped: Piped) -> None:
    """More connections than are held begin and say nothing, in between the packets of one that speaks."""
    octets, whole = Path(HEARTBEATS).read_bytes(), Piped("--json")
    whole.feed(octets)
    assert whole.end() == (0, "")
    packets = records(octets)
    half = len(packets) // 2
    syn = bytes(ether(IP(src="10.9.0.0", dst="10.0.0.1") / TCP(sport=40000, dport=61613, flags="S")))
    source = syn.index(bytes((10, 9, 0, 0))) + 2
    head = packets[half - 1][:8] + struct.pack("<II", len(syn), len(syn))
    silent = b"".join(head + syn[:source] + number.to_bytes(2, "big") + syn[source + 2 :] for number in range(MOST_CONNECTIONS * 2))
    piped.feed(octets[:24] + b"".join(packets[:half]))
    piped.until('"CONNECTED"')
    piped.feed(silent)
    piped.feed(b"".join(packets[half:]))
    assert piped.end() == (0, "")
    frames = [sorted((one["stream_id"], one["ns"]) for one in objects("".join(found.lines), "frame")) for found in (piped, whole)]
    assert frames[0] == frames[1]


@pytest.mark.slow
def test_ctrl_c_ends_a_pipe_without_a_word(piped: Piped) -> None:
    piped.feed(Path(HEARTBEATS).read_bytes()[:8000])
    piped.until('"CONNECT"')
    piped.child.send_signal(signal.SIGINT)
    assert piped.end() == (0, "")


def test_a_pipe_that_is_no_capture_is_a_line(piped: Piped) -> None:
    piped.feed(b"no capture")
    code, err = piped.end()
    assert code == 4
    assert err == "stompcap: standard input: is not a pcap or pcapng capture by its first bytes; decompress it, or name it as a file\n"


def test_a_silence_has_no_place_in_the_stream(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(monkeypatch, HEARTBEATS, "--json") == 0
    lines = [*map(json.loads, capsys.readouterr().out.splitlines())]
    silences = [line for line in lines if line["type"] == "silence"]
    assert {line["stream_offset"] for line in silences} == {None}
    assert len({(line["stream_id"], line["direction"], line["ns"]) for line in silences}) == len(silences) > 1
