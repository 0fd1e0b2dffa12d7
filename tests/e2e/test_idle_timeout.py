"""Silence: after the idle timeout packets of the same endpoints are another connection, in every table."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from stompcap.capture import examine
from stompcap.cli.commands import run_commands
from stompcap.export.packets import CaptureFile, packets_of
from stompcap.options import Options
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.tcp.wire import START_NS, Wire

HELLO, WELCOME = b"CONNECT\naccept-version:1.2\nhost:h\n\n\0", b"CONNECTED\nversion:1.2\n\n\0"
SEND = b"SEND\ndestination:/q\n\ngood\0"
HOUR_NS = 3600 * 10**9


@pytest.fixture
def capture(tmp_path: Path) -> str:
    """A connection that says something once more after two hours."""
    wire = Wire().handshake().c(0, HELLO).s(0, WELCOME, ack=len(HELLO)).c(len(HELLO), SEND, ack=len(WELCOME))
    wire.c(len(HELLO + SEND), SEND, ack=len(WELCOME), at_ns=START_NS + 2 * HOUR_NS)
    return str(pcap(tmp_path / "idle.pcap", wire.frames, nano=True))


@pytest.mark.parametrize(("timeout", "sessions"), [(86_400, 1), (7_201, 1), (3_600, 2)])
def test_the_timeout_parts_sessions(capture: str, timeout: int, sessions: int) -> None:
    tables = tables_of([capture], Options(idle_timeout=timeout))
    assert tables["sessions"].num_rows == sessions
    sent = [row["stream_id"] for row in tables["frames"].to_pylist() if row["command"] == "SEND"]
    assert len(sent) == 2
    assert len(set(sent)) == sessions


@pytest.mark.parametrize("timeout", [86_400, 3_600])
def test_the_packets_of_a_connection_are_found_whatever_the_timeout_was(capture: str, timeout: int) -> None:
    found = examine(capture, "default")
    files = [CaptureFile(capture, found.row["used_octets"], found.row["used_sha256"], compressed=False)]
    numbers = [
        packets_of(stream, files).numbers[0].tolist()
        for stream in sorted(tables_of([capture], Options(idle_timeout=timeout))["streams"].to_pylist(), key=lambda row: row["first_ns"])
    ]
    assert numbers == ([[1, 2, 3, 4, 5, 6, 7]] if timeout == 86_400 else [[1, 2, 3, 4, 5, 6], [7]])


@pytest.mark.parametrize("command", ["run", "extract"])
def test_the_command_line_passes_it_on(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Options] = []
    monkeypatch.setattr(run_commands, "perform", lambda _stages, _captures, _lake, options, *_, **_named: given.append(options))
    app = typer.Typer()
    run_commands.register(app)
    done = CliRunner().invoke(app, [command, "x.pcap", "--lake", "l", "--idle-timeout", "2h"])
    assert (done.exit_code, [options.idle_timeout for options in given]) == (0, [7200])
