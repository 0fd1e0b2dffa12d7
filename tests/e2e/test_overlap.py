"""Octets sent twice with other content: the policy says which stand, in every table, and how many differ is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from stompcap.cli import entry
from stompcap.cli.commands import run_commands
from stompcap.options import Options
from stompcap.tcp import reassemble
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.tcp.wire import Wire

HELLO = b"CONNECT\naccept-version:1.2\nhost:h\n\n\0"
GOOD, EVIL = b"SEND\ndestination:/q\n\ngood\0", b"SEND\ndestination:/q\n\nevil\0"


@pytest.fixture
def capture(tmp_path: Path) -> str:
    wire = Wire().handshake().c(0, HELLO).s(0, b"CONNECTED\nversion:1.2\n\n\0", ack=len(HELLO))
    wire.c(len(HELLO), GOOD, ack=25).c(len(HELLO), EVIL, ack=25).c(len(HELLO) + len(GOOD), b"\n", ack=25)
    return str(pcap(tmp_path / "overlap.pcap", wire.frames, nano=True))


@pytest.mark.parametrize(("overlap", "body", "packet"), [("first", "good", 6), ("last", "evil", 7)])
def test_the_policy_decides_in_every_table(capture: str, overlap: str, body: str, packet: int) -> None:
    tables = tables_of([capture], Options(overlap=overlap))
    (stream,) = tables["streams"].to_pylist()
    (sent,) = [row for row in tables["frames"].to_pylist() if row["command"] == "SEND"]
    (raw,) = [row for row in tables["raw_frames"].to_pylist() if row["stream_offset"] == len(HELLO) and row["direction"] == "c2s"]
    assert (sent["body_preview"], raw["raw"].decode()[-5:-1], raw["first_packet"]) == (body, body, packet)
    assert (stream["retransmitted_octets_c2s"], stream["overlap_conflict_octets_c2s"]) == (len(GOOD), 4)
    assert (stream["octets_c2s"], stream["gap_octets_c2s"]) == (len(HELLO) + len(GOOD) + 1, 0)
    assert [row["kind"] for row in tables["stalls"].to_pylist()] == ["retransmission"]


@pytest.mark.parametrize(("overlap", "body"), [("first", b"good"), ("last", b"evil")])
def test_the_policy_decides_for_streams_of_any_protocol(capture: str, overlap: str, body: bytes) -> None:
    (connection,) = reassemble(capture, overlap=overlap)
    ((_, octets),) = connection.c2s.chunks
    assert octets[-6:-2] == body


@pytest.mark.parametrize("command", ["run", "extract"])
@pytest.mark.parametrize("overlap", ["first", "last"])
def test_the_command_line_passes_it_on(command: str, overlap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Options] = []
    monkeypatch.setattr(run_commands, "perform", lambda _stages, _captures, _lake, options, *_, **_named: told.append(options))
    app = typer.Typer()
    run_commands.register(app)
    done = CliRunner().invoke(app, [command, "x.pcap", "--lake", "l", "--overlap", overlap])
    assert (done.exit_code, [options.overlap for options in told]) == (0, [overlap])


def test_another_word_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["stompcap", "run", "x.pcap", "--lake", "l", "--overlap", "middle"])
    assert entry.outcome() == 2
    assert capsys.readouterr().err == "stompcap: --overlap middle: must be first or last\n"
