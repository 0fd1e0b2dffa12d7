"""One connection through all machines: what a trace says, where it says that it is decided, and what it never prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import TCP
from scapy.packet import Raw

from stompcap.cli import entry
from stompcap.cli.dialogue.text import Style
from stompcap.cli.trace import writing
from stompcap.cli.trace.section import Section
from tests.capture.packaging import Frame, frames, pcap
from tests.cli.commands import ROOT
from tests.cli.exported import conversation, ether
from tests.cli.test_peek import sent
from tests.e2e.truth import DATA

HABITS, HEARTBEATS = str(DATA / "activemq_habits.pcap"), str(DATA / "rabbitmq_heartbeats.pcap")
GOLDEN = Path(__file__).with_name("trace_of_a_recording.txt")
Said = pytest.CaptureFixture[str]
Rows = dict[str, list[dict[str, Any]]]


def peek(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", "peek", *words])
    return entry.outcome()


def traced(capsys: Said, monkeypatch: pytest.MonkeyPatch, *words: str) -> Rows:
    """The rows of a trace by section, of both directions' reassembly one after the other."""
    assert peek(monkeypatch, "--json", "-c", "100000", *words) == 0
    found: Rows = {}
    for line in map(json.loads, capsys.readouterr().out.splitlines()):
        rows = found.setdefault(line["section"], [])
        if line["type"] == "row":
            rows.append(line)
        else:
            assert line["decided_in"]
            assert all((ROOT / path).is_file() for path in line["decided_in"])
    return found


def test_a_recorded_connection_is_traced_layer_by_layer(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(monkeypatch, HABITS, "--trace", "0359c", "-c", "8") == 0
    assert capsys.readouterr().out == GOLDEN.read_text("utf-8")


@pytest.mark.parametrize("capture", [HABITS, HEARTBEATS])
def test_rows_of_all_layers_are_those_of_the_connection(capture: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {HABITS: "127.0.0.1:59342", HEARTBEATS: "9faf02"}[capture]
    found = traced(capsys, monkeypatch, capture, "--trace", given)
    (stream,) = [row["value"] for row in found["connection"] if row["what"] == "stream_id"]
    assert peek(monkeypatch, capture, "--json", "--stream", stream) == 0
    shown = [*map(json.loads, capsys.readouterr().out.splitlines())]
    told = [(row["way"], row["offset"], row["command"]) for row in found["frames"]]
    assert sorted(told) == sorted((one["direction"], one["stream_offset"], one["command"]) for one in shown if one["type"] == "frame")
    assert sorted((one["rule_id"], one["evidence"]) for one in found["findings"]) == sorted(
        (one["rule_id"], one["evidence"]) for one in shown if one["type"] == "finding"
    )
    assert sum(row["failed"] for row in found["rules"]) == len(found["findings"])
    octets = [sum(row["octets"] for row in found[name] if row["kind"] != "again") for name in ("reassembly", "delimiter")]
    assert octets[0] == octets[1] > 0
    assert all((ROOT / row["decided_in"]).is_file() for row in found["rules"])


def test_copies_octets_sent_again_strays_and_gaps_are_marked(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = conversation()
    for number, packet in enumerate(talk):
        packet.id = number + 1
    stray = talk[5].copy()
    stray[TCP].seq = (talk[5][TCP].seq + (1 << 30) + (1 << 29)) % (1 << 32)
    del talk[3]  # CONNECT is lost
    shown = [*talk[:3], stray, *talk[3:]]
    whole = frames([ether(packet) for packet in shown])
    copy = whole[2]
    whole.insert(3, Frame(copy.octets, copy.ts_ns + 1000, copy.wire))
    found = traced(capsys, monkeypatch, str(pcap(tmp_path / "a.pcap", whole, nano=True)), "--trace", "10.0.0.2:40000")
    marks = {row["packet"]: row["marks"] for row in found["packets"] if row["marks"]}
    assert marks == {4: "copy", 5: "stray", 8: "behind"}
    assert [row["kind"] for row in found["reassembly"]] == ["gap", "new", "again", "new"]
    assert [row["kind"] for row in found["delimiter"] if row["way"] == "c2s"] == ["gap", "frame"]
    assert {row["what"]: row["because"] for row in found["detection"]}["client"] == "the handshake"


def marked(found: Rows) -> dict[int, str]:
    """The marks of packets by number, of those that have any."""
    return {row["packet"]: row["marks"] for row in found["packets"] if row["marks"]}


def test_probes_wrong_sums_packets_cut_off_and_out_of_order_are_marked(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = conversation(body=b"hello world")
    send = talk[5]
    first, second = send.copy(), send.copy()
    first[TCP].payload, second[TCP].payload = Raw(bytes(send[TCP].payload)[:20]), Raw(bytes(send[TCP].payload)[20:])
    second[TCP].seq += 20
    probe = talk[8].copy()
    probe[TCP].seq, probe[TCP].flags, probe[TCP].payload = probe[TCP].seq - 1, "A", Raw(b"x")
    talk[4][TCP].chksum = 1
    packets = frames([ether(packet) for packet in [*talk[:5], second, first, talk[7], probe, *talk[8:]]])
    packets[3] = Frame(packets[3].octets[:-4], packets[3].ts_ns, len(packets[3].octets))
    found = traced(capsys, monkeypatch, str(pcap(tmp_path / "a.pcap", packets)), "--trace", "10.0.0.2:40000")
    size = len(talk[3][TCP].payload) - 4
    assert marked(found) == {4: f"cut to {size}", 5: "bad checksum", 7: "behind, out of order", 9: "probe"}


def test_packets_that_another_capture_has_are_marked(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    packets = frames([ether(packet) for packet in conversation()])
    paths = [str(pcap(tmp_path / name, some)) for name, some in (("a.pcap", packets), ("b.pcap", packets[2:5]))]
    found = traced(capsys, monkeypatch, *paths, "--trace", "10.0.0.2:40000")
    assert [row["packet"] for row in found["packets"] if row["marks"] == "elsewhere"] == [1, 2, 3]


@pytest.mark.parametrize("stepped", [True, False])
def test_the_first_packet_behind_a_step_of_the_clock_is_marked(
    stepped: bool, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of a rotation, the later of which begins before the other ended."""
    packets = frames([ether(packet) for packet in conversation()])
    later = [Frame(one.octets, one.ts_ns - stepped * 3600 * 10**9, one.wire) for one in packets[5:]]
    paths = [str(pcap(tmp_path / name, some)) for name, some in (("a_00001.pcap", packets[:5]), ("a_00002.pcap", later))]
    found = traced(capsys, monkeypatch, *paths, "--trace", "10.0.0.2:40000")
    marks = [(row["capture"], row["packet"]) for row in found["packets"] if "clock stepped" in row["marks"]]
    assert [packet for _, packet in marks] == ([1] if stepped else [])


def test_neither_secrets_nor_what_moves_a_terminal_are_printed(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    hello = b"CONNECT\naccept-version:1.2\nhost:h\nlogin:me\npasscode:sesame-open\n\n\0"
    subscribe = "SUBSCRIBE\nid:\x1b[2J\u202e\ndestination:/q/sesame-open\n\n\0".encode()
    path = sent(tmp_path, hello, subscribe, b"SEND\nreceipt:sesame-open\ndestination:sesame-open\n\nsesame-open\0")
    for words in ((), ("--headers",), ("--json",)):
        assert peek(monkeypatch, path, "--trace", "10.0.0.2:40000", *words) == 0
        out = capsys.readouterr().out
        assert "SUBSCRIBE" in out
        assert "sesame" not in out
        assert not set(out) & set("\x1b\u202e")


@pytest.mark.parametrize(("words", "says"), [
    (("--trace", "0123456789"), "--trace 0123456789: no stream id begins so, and no endpoint is called so; there are "),
    (("--trace", "\x1b[2J"), r"--trace \x1b[2J: no stream id begins so"),
    (("--trace", "127.0.0.12:61613"), "--trace 127.0.0.12:61613: 4 connections are named so, give a stream id: "),
    (("--trace", "0359c", "--command", "SEND"), "--trace shows one connection of files as text or JSON, and cannot be combined with"),
    (("--trace", "0359c", "--format", "csv"), "--trace shows one connection of files as text or JSON"),
])  # fmt: skip
def test_what_is_no_connection_is_a_line(words: tuple[str, ...], says: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(monkeypatch, HABITS, *words) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert says in said.err


def test_a_connection_of_another_protocol_ends_at_detection(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    packets = conversation()
    for packet in packets:
        if bytes(packet[TCP].payload):
            packet[TCP].payload = type(packet[TCP].payload)(b"\x16\x03\x01\x02\x00\x01" + bytes(len(packet[TCP].payload) - 6))
    path = str(pcap(tmp_path / "tls.pcap", frames([ether(packet) for packet in packets])))
    found = traced(capsys, monkeypatch, path, "--trace", "10.0.0.2:40000")
    assert {row["what"]: row["value"] for row in found["detection"]}["protocol"] == "tls"
    assert found["delimiter"] == []
    assert "frames" not in found


@pytest.mark.parametrize("width", [40, 80])
def test_lines_fit_the_terminal_and_what_is_left_out_is_said(width: int, capsys: Said) -> None:
    rows = [{"what": "漢字" * 30, "value": n} for n in range(150)]
    writing.write([Section("packets", ["stompcap/tcp/assign.py"], "a note", rows)], "text", Style(width), None, None)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + writing.MOST_ROWS + 1
    assert lines[-1].startswith("  … 50 more rows are left out; -c 150 ")
    assert all(len(line) <= width for line in lines)


def test_peek_alone_loads_nothing_of_it() -> None:
    program = "import sys; from stompcap.cli.commands import peek_command; print([m for m in sys.modules if 'cli.trac' in m])"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True).stdout == "[]\n"
