"""`serve` and `drive` as users enter them, against each other."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stompcap.active import addresses
from stompcap.active.serving import Serving
from stompcap.cli import entry
from tests.active import wrong

Said = pytest.CaptureFixture[str]
CLIENT = (
    "import os, socket; from stompcap.active.echo import Echo; from stompcap.active.wire import Wire; "
    "where = os.environ['STOMPCAP_SERVE_HOST'], int(os.environ['STOMPCAP_SERVE_PORT']); "
    "Echo(Wire(socket.create_connection(where), client=True), 5).run()"
)


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", *words])
    return entry.outcome()


@pytest.fixture
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where a broker listens; a wrong one where its class is given."""
    if hasattr(request, "param"):
        monkeypatch.setattr("stompcap.active.serving.Session", request.param)
    over = threading.Event()
    with addresses.listen("--listen", ("127.0.0.1", 0)) as listening:
        serving = Serving(listening, 1, over)
        thread = threading.Thread(target=serving.plain)
        thread.start()
        yield addresses.host_port(serving.address)
        over.set()
        thread.join()


def test_a_broker_is_judged_and_recorded(target: str, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "drive.pcap"
    monkeypatch.setenv("STOMPCAP_PASSCODE", "hush-hush")
    assert called(monkeypatch, "drive", target, "--scenario", "escapes,individual-ack", "--format", "json", "-w", str(path)) == 0
    said = capsys.readouterr().out
    found = json.loads(said)
    assert found["counts"] == {"passed": 2, "failed": 0, "not judged": 0}
    assert [case["case"] for case in found["cases"]] == ["escapes", "individual-ack"]
    assert "hush-hush" not in said
    done = subprocess.run(["tshark", "-r", str(path), "-Y", "tcp.analysis.flags"], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert path.read_bytes().count(b"CONNECT\n") == 3


@pytest.mark.parametrize("target", [wrong.Unsettled], indirect=True)
@pytest.mark.parametrize(("scenario", "level", "code"), [("individual-ack", "MUST", 1), ("acknowledged-stays-settled", "SHOULD", 0)])
def test_a_failed_case_counts_at_its_level(
    target: str, scenario: str, level: str, code: int, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert called(monkeypatch, "drive", target, "--scenario", scenario, "--level", level, "--patience", "0.5") == code
    said = capsys.readouterr().out
    assert "0 passed, 1 failed, 0 not judged" in said
    assert "MESSAGE" in said


def test_each_case_has_a_client_of_its_own(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["serve", "--scenario", "escapes,host", "--quiet", "-w", str(tmp_path / "serve.pcapng"), "--", sys.executable, "-c", CLIENT]
    assert called(monkeypatch, *words) == 0
    assert "2 passed, 0 failed, 0 not judged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["drive", "127.0.0.1:1"], 3, "127.0.0.1:1: connection refused; start the broker"),
        (["drive", "127.0.0.1:1", "--scenario", "made-up"], 2, "--scenario made-up: no such case"),
        (["drive", "127.0.0.1:1", "--level", "HIGH"], 2, "--level HIGH: must be MUST, SHOULD or INFO"),
        (["drive", "127.0.0.1:1", "--format", "xml"], 2, "--format xml: must be text or json"),
        (["drive", "127.0.0.1:1", "--login", "a\nb"], 2, "no ends of lines"),
        (["serve", "--quiet", "--scenario", "host", "--", "no-such-program"], 3, "no-such-program: no such file or directory"),
        (["serve", "--quiet", "--scenario", "host", "--", "true"], 3, "no case could be judged; of the first: the command"),
        (["serve", "--quiet", "-w", "/dev/full", "--", "true"], 3, "/dev/full: cannot be written"),
    ],
)
def test_what_goes_wrong_is_one_line(words: list[str], code: int, says: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, *words) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert says in lines[0]


@pytest.mark.parametrize("command", [["serve"], ["drive", "127.0.0.1:1"]])
def test_the_cases_can_be_listed(command: list[str], capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, *command, "--scenario", "list") == 0
    assert "undefined-escape" in capsys.readouterr().out


def test_a_peer_that_says_nothing_is_not_judged_for_what_comes_later(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert called(monkeypatch, "drive", f"127.0.0.1:{port}", "--scenario", "escapes", "--patience", "0.1") == 3
    assert "not judged  MUST    escapes" in capsys.readouterr().out
