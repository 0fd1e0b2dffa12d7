"""What `peek` selects by time, latency, login, level and pattern, in one line a session, with octets; and how it looks on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stompcap.cli.dialogue.lines import Dialogue, Line
from stompcap.cli.dialogue.text import COLOURS, Style, Writer, style_for
from tests.cli.test_peek import objects, peek, sent
from tests.e2e.truth import DATA

DIALOGUE, STALLS, AFTERMATH = (str(DATA / f"activemq_{name}.pcap") for name in ("dialogue", "stalls", "aftermath"))
Said = pytest.CaptureFixture[str]
LOGIN = "u-activemq-cumulative-12"


def told(capsys: Said, monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    assert peek(monkeypatch, *words) == 0
    return capsys.readouterr().out


def test_sessions_are_selected_by_login_client_and_port(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    every = objects(told(capsys, monkeypatch, DIALOGUE, "--summary", "--json"), "summary")
    mine = [row for row in every if row["login"] == LOGIN]
    assert objects(told(capsys, monkeypatch, DIALOGUE, "--summary", "--json", "--login", LOGIN), "summary") == mine
    port = str(mine[0]["client_port"])
    assert objects(told(capsys, monkeypatch, DIALOGUE, "--summary", "--json", "--port", port), "summary") == mine
    assert objects(told(capsys, monkeypatch, DIALOGUE, "--summary", "--json", "--client", "127.0.0.1"), "summary") == every
    assert "no session is selected" not in told(capsys, monkeypatch, DIALOGUE, "--port", "61613", "-c", "1")


@pytest.mark.slow
def test_frames_are_selected_by_latency_time_level_and_pattern(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.loads(line) for line in told(capsys, monkeypatch, DIALOGUE, "--json").splitlines()]
    frames = [line for line in lines if line["type"] == "frame"]
    slow = objects(told(capsys, monkeypatch, DIALOGUE, "--json", "--slower-than", "5ms"), "frame")
    assert slow
    assert {line["command"] for line in slow} <= {"ACK", "NACK", "COMMIT"}
    assert all("after " in line["note"] for line in slow)
    middle = sorted(line["ns"] for line in frames)[len(frames) // 2]
    moment = next(line["time"] for line in frames if line["ns"] == middle)
    before = objects(told(capsys, monkeypatch, DIALOGUE, "--json", "--to", moment), "frame")
    after = objects(told(capsys, monkeypatch, DIALOGUE, "--json", "--from", moment), "frame")
    assert 0 < len(before) < len(frames)
    assert len(before) + len(after) == len(frames)
    found = objects(told(capsys, monkeypatch, DIALOGUE, "--json", "--grep", "^message-id:ID"), "frame")
    assert {line["command"] for line in found} <= {"MESSAGE", "ACK", "NACK"}
    grave = objects(told(capsys, monkeypatch, STALLS, "--json", "--level", "MUST"), "finding")
    assert grave
    assert {finding["level"] for finding in grave} == {"M"}
    rules = {finding["rule_id"] for finding in objects(told(capsys, monkeypatch, STALLS, "--json"), "finding")}
    left = {finding["rule_id"] for finding in objects(told(capsys, monkeypatch, STALLS, "--json", "--not-rule", "CN-20"), "finding")}
    assert left == rules - {"CN-20"}


@pytest.mark.parametrize(("what", "path", "commands"), [
    ("errors", AFTERMATH, {"ERROR"}),
    ("unsettled", DIALOGUE, {"MESSAGE"}),
    ("findings", AFTERMATH, {"ERROR", "CONNECT", "SEND"}),
    ("incidents", AFTERMATH, {"ERROR", "SEND"}),
])  # fmt: skip
def test_only_what_is_asked_for(what: str, path: str, commands: set[str], capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commands <= {line["command"] for line in objects(told(capsys, monkeypatch, path, "--json", "--only", what), "frame")}


@pytest.mark.parametrize(("words", "says"), [
    (["--only", "fun"], "must be one of findings, errors, slow, unsettled, incidents"),
    (["--level", "must not"], "must be one of MUST, SHOULD, INFO"),
    (["--slower-than", "soon"], "must be a time such as 40ms"),
    (["--grep", "("], "a regular expression of Python is expected"),
    (["--from", "x"], "must be a date or time"),
    (["--not-rule", "XX-1"], "no such rule"),
])  # fmt: skip
def test_what_cannot_be_asked_is_told(words: list[str], says: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(monkeypatch, DIALOGUE, *words) == 2
    assert says in capsys.readouterr().err


def test_one_line_a_session_and_a_total(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(capsys, monkeypatch, AFTERMATH, "--summary").splitlines()
    sessions = objects(told(capsys, monkeypatch, AFTERMATH, "--summary", "--json"), "summary")
    at = next(number for number, line in enumerate(out) if line.startswith("session "))
    assert len(out[at + 1 :]) == len(sessions) + 2
    assert out[-1].startswith(f"total: {len(sessions)} sessions, ")
    assert "ERROR" in out[-1]


def test_a_session_that_stomp_did_not_end_shows_the_close_of_websocket(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(capsys, monkeypatch, str(DATA / "transports" / "rabbitmq_closes.pcap"), "--summary").splitlines()
    ended = {line.split()[2]: line[len(line.split("  ")[0]) :].split("  ")[3].strip() for line in out if "-ws-" in line}
    assert ended["u-rabbitmq-ws-toolarge-12"] == "Close 1009"
    assert ended["u-rabbitmq-ws-vanishes-12"] == "unknown"


def test_the_body_of_an_error_and_the_packet_of_each_finding(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(capsys, monkeypatch, AFTERMATH, "--only", "errors").splitlines()
    assert any(line.startswith("            | ") for line in out)
    found = [line for line in out if line.startswith("            ! ")]
    assert found
    assert all("packet " in line for line in found)


def test_octets_of_findings_are_masked_and_escaped(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sent(tmp_path, b"SEND\ndestination:/queue/a\npasscode:geheim\n\n\x1b[2Jhello\0")
    out = told(capsys, monkeypatch, path, "--hex")
    assert "53 45 4e 44 0a" in out
    assert "geheim" not in out
    assert b"geheim".hex(" ") not in out
    assert "\x1b" not in out
    assert "1b 5b 32 4a" in out


def session(**more: object) -> Dialogue:
    names = ("client_ip", "server_ip", "client_port", "server_port", "server_product", "server_version", "origin_source", "origin_ip")
    return Dialogue({**dict.fromkeys(names), "login": None, "version": "1.2", "transport": "tcp", "outcome": "connected",
                     "stream_id": "ab" * 10,
                     "opened_ns": 0, **more}, {}, [], [], [], [])  # fmt: skip


@pytest.mark.parametrize("width", [80, 110, 200])
def test_lines_fit_the_terminal_and_the_latency_comes_before_the_headers(width: int) -> None:
    ident = "T_s-1@@session-abcdefghijklmnopqrstuv@@" + "9" * 40
    frame = {"command": "ACK", "command_raw": None, "headers": [{"name": "id", "value": ident}], "body_octets": 0}
    finding = {"rule_id": "AK-01", "level": "M", "side": "client", "evidence": "word " * 50}
    writer = Writer(Style(width))
    line = Line("frame", "c2s", 5, 1_000_000, 90, None, 7, frame, "after 21 ms", 21_000, findings=(finding,))
    first, *rest = writer.lines(session(), line)
    assert "ACK         [after 21 ms]  id:T_s-1@@" in first
    assert first.endswith("(90 bytes)") == (width > 80)
    assert ("…" in first) == (width < 400)
    shown = [part for one in (first, *rest) for part in one.split("\n")]
    assert all(len(one) <= width for one in shown)
    assert shown[-1].endswith("(packet 7)")


def test_colours_are_left_out_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert style_for(Terminal()).colours  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not style_for(Terminal()).colours  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name, code in COLOURS.items() if code.startswith("38;5;")])
def test_colours_can_be_read_on_dark_and_on_light(name: str) -> None:
    """Contrast by WCAG 2.1 of at least 3.8 on black and on white; 21 / 3.8 is the most that one colour can have on both, twice."""
    number = int(COLOURS[name].rpartition(";")[2])
    steps = (0, 95, 135, 175, 215, 255)
    red, green, blue = (8 + 10 * (number - 232),) * 3 if number >= 232 else (
        steps[(number - 16) // 36], steps[(number - 16) // 6 % 6], steps[(number - 16) % 6]
    )  # fmt: skip

    def linear(value: int) -> float:
        share = value / 255
        return share / 12.92 if share <= 0.03928 else float(((share + 0.055) / 1.055) ** 2.4)

    light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    assert (light + 0.05) / 0.05 >= 3.8
    assert 1.05 / (light + 0.05) >= 3.8
