"""`peek` says what else was spoken than STOMP, and where STOMP turns into something else."""

from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from stompcap.cli import entry
from tests.capture.packaging import Frame, pcap
from tests.e2e.spoken import CLIENT, SECRET, SERVER, SPOKEN
from tests.e2e.test_other_protocols import packets
from tests.transport.tls_traffic import Pair, contexts

STOMP = [(CLIENT, b"CONNECT\naccept-version:1.2\nhost:h\n\n\0"), (SERVER, b"CONNECTED\nversion:1.2\n\n\0")]
WEBSOCKET = [
    (CLIENT, b"GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: v12.stomp\r\n\r\n"),
    (SERVER, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
]
MQTT = SPOKEN["MQTT 3.1.1"].says


def told(
    folder: Path, frames: list[Frame], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[str, str]:
    """What is said of these packets, on standard output and standard error."""
    monkeypatch.setattr("sys.argv", ["stompcap", "peek", *words, str(pcap(folder / "peeked.pcap", frames, nano=True))])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code in (0, None)
    return capsys.readouterr()


def test_other_protocols_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    others = [frame for port in (50001, 50002, 50003) for frame in packets(MQTT, (port, 61616))]
    elsewhere = packets(SPOKEN["Redis"].says, (50004, 6379))
    out, err = told(tmp_path, others + elsewhere, capsys, monkeypatch)
    assert out.splitlines()[1:] == [
        "3 connections of MQTT on port 61616, not kept", "1 connection of an unknown protocol on port 6379, not kept"
    ]  # fmt: skip
    assert err == "stompcap: no session of STOMP was found: the connections above speak other protocols\n"
    out, err = told(tmp_path, others + elsewhere + packets(STOMP, (50005, 61613)), capsys, monkeypatch)
    assert out.splitlines()[-1] == "3 connections of MQTT on port 61616, not kept"
    assert (err, SECRET in out) == ("", False)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_programs_are_told_what_was_spoken_instead(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = packets(SPOKEN["TLS"].says, (50001, 8443)) + packets(WEBSOCKET, (50002, 15675))
    _, err = told(tmp_path, spoken, capsys, monkeypatch, "--format", form)
    assert err == (
        "stompcap: no session of STOMP was found: 1 connection of WebSocket on port 15675, not read; "
        "1 connection of TLS on port 8443, not decrypted\n"
    )


def test_layers_on_any_port_are_told_beside_sessions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = packets(SPOKEN["TLS"].says, (50001, 8443)) + packets(WEBSOCKET, (50002, 15675))
    out, _ = told(tmp_path, spoken + packets(STOMP, (50005, 61613)), capsys, monkeypatch)
    assert out.splitlines()[-2:] == ["1 connection of WebSocket on port 15675, not read", "1 connection of TLS on port 8443, not decrypted"]


def test_a_refused_handshake_is_told_with_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = [WEBSOCKET[0], (SERVER, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")]
    out, _ = told(tmp_path, packets(refused, (50001, 15675)) + packets(STOMP, (50005, 61613)), capsys, monkeypatch)
    assert out.splitlines()[-1] == "1 connection of WebSocket on port 15675, refused: the server answered 403"


@pytest.mark.parametrize("suite", ["1.3 AES-256-GCM", "1.2 AES-256-GCM"])
def test_a_certificate_that_the_client_refuses_is_told(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = str(tmp_path / "keys.log")
    client, server = contexts(suite, log)
    client.verify_mode = ssl.CERT_REQUIRED
    pair = Pair(contexts=(client, server))
    with pytest.raises(ssl.SSLCertVerificationError):
        pair.handshake()
    pair.passed(0)
    refused = [((CLIENT, SERVER)[side], octets) for side, octets in pair.taken()]
    Path(log).touch()  # in TLS 1.2 there are no keys yet
    out, _ = told(tmp_path, packets(refused, (50001, 8443)), capsys, monkeypatch, "--keylog", log)
    assert out.splitlines()[-1] == "1 connection of TLS on port 8443, refused: an alert ended the handshake: unknown_ca"


def test_captures_that_are_cut_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    frames = packets(STOMP, (50005, 61613))
    cut = [replace(frame, octets=frame.octets[:60], original=len(frame.octets)) for frame in frames]
    _, err = told(tmp_path, cut, capsys, monkeypatch)
    assert "no session of STOMP was found: " in err
    assert "TCP segments were captured in part (snaplen " in err


def test_a_file_that_ends_within_a_packet_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pcap(tmp_path / "whole.pcap", packets(STOMP, (50005, 61613)))
    path.write_bytes(path.read_bytes()[:-1])
    monkeypatch.setattr("sys.argv", ["stompcap", "peek", str(path)])
    with pytest.raises(SystemExit):
        entry.main()
    assert f"{path}: truncated: " in capsys.readouterr().err


def test_a_pipe_tells_what_a_file_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    dialogues = [SPOKEN[name].says for name in ("MQTT 3.1.1", "Redis", "OpenWire", "MQTT 5")] + [[(CLIENT, bytes(range(1, 200)) * 999)]]
    others = [frame for number, says in enumerate(dialogues) for frame in packets(says, (50001 + number, 61613), closes=number == 0)]
    for frames in (others, others + packets(STOMP, (50009, 61613))):
        out, _ = told(tmp_path, frames, capsys, monkeypatch)
        with (tmp_path / "peeked.pcap").open() as pipe:
            monkeypatch.setattr("sys.stdin", pipe)
            monkeypatch.setattr("sys.argv", ["stompcap", "peek", "-"])
            with pytest.raises(SystemExit):
                entry.main()
        said = [line for line in capsys.readouterr().out.splitlines() if "connection" in line and "on port" in line]
        assert len(said) == 3
        assert said == [line for line in out.splitlines() if "connection" in line and "on port" in line]


def test_what_turns_into_something_else_is_junk_and_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = told(tmp_path, packets([*STOMP, *MQTT], (50001, 61616), closes=True), capsys, monkeypatch)
    assert " → junk " in out
    assert "FR-11 MUST client: bytes that belong to no frame" in out
