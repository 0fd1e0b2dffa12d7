"""The verdict of a check: what was tried, what broke, what is new; and when it is green."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stompcap
from stompcap.checking import Dialogue, clauses
from stompcap.checking.as_json import written
from stompcap.checking.verdict import FAILED, NOT_JUDGED, PASSED
from stompcap.cli.tracing import read
from stompcap.errors import StompcapError, UsageError
from stompcap.options import Options
from stompcap.rules import RULES
from stompcap.rules.quotations import QUOTATIONS
from tests.checking.made import CLIENT, SERVER, capture, connected
from tests.e2e.truth import DATA
from tests.examples import slow_behind

SOME = ("rabbitmq_library.pcap", "artemis_violations.pcapng", "activemq_midstream.pcap", "transports/rabbitmq_websocket.pcap")


def status(verdict: stompcap.checking.Verdict, rule: str, side: str) -> str:
    return next(one.status for one in verdict.rules if (one.rule.id, one.side) == (rule, side))


CASES = {
    "a SEND without destination breaks SN-01": (b"SEND\n\nx\0", b"", "SN-01", "client", FAILED),
    "a SEND with one keeps it": (b"SEND\ndestination:/queue/a\n\nx\0", b"", "SN-01", "client", PASSED),
    "without SEND it is not judged": (b"", b"", "SN-01", "client", NOT_JUDGED),
    "a frame of the server tries no rule of the client": (b"", b"ERROR\nmessage:a\\tb\n\n\0", "FR-19", "client", NOT_JUDGED),
    "but the server's": (b"", b"ERROR\nmessage:a\\tb\n\n\0", "FR-19", "server", FAILED),
    "a receiver of an undefined escape is judged, not its sender": (b"", b"ERROR\nmessage:a\\tb\n\n\0", "FR-19b", "server", NOT_JUDGED),
    "a rule that no capture can prove is never passed": (b"SEND\ndestination:/queue/a\nx:y\n\nx\0", b"", "SN-03", "server", NOT_JUDGED),
    "no WebSocket, no verdict on it": (b"SEND\ndestination:/queue/a\n\nx\0", b"", "TR-04", "client", NOT_JUDGED),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_rule_is_passed_failed_or_not_judged_by_side(case: str) -> None:
    client, server, rule, side, expected = CASES[case]
    dialogue = connected()
    if client:
        dialogue.client(client)
    if server:
        dialogue.server(server)
    assert status(dialogue.close("client", at=5.0).verdict(), rule, side) == expected


@pytest.mark.parametrize("name", slow_behind(2, SOME))
def test_findings_are_those_of_peek(name: str) -> None:
    def fail(error: Exception) -> None:
        raise error

    path = str(DATA / name)
    verdict = stompcap.check(path)
    mine = sum(finding.count for finding in verdict.findings)
    theirs = [len(dialogue.findings) for dialogue in read([path], Options(), fail).dialogues(Options())]
    assert (mine, verdict.sessions) == (sum(theirs), len(theirs))
    assert all(one.tried >= one.failed for one in verdict.rules), "each finding says that its rule was tried"


def test_examples_name_packet_and_frame() -> None:
    (finding,) = connected().client(b"SEND\n\nx\0").verdict().new
    example = finding.examples[0]
    assert (example.packet, example.capture, example.frame) == (6, "dialogue", r"SEND\n\nx\0")
    assert finding.fingerprint == "SN-01 MUST client SEND"


@pytest.mark.parametrize(("level", "ok"), [("MUST", True), ("SHOULD", False), ("info", False)])
def test_the_level_decides_what_counts(level: str, ok: bool) -> None:
    verdict = connected().client(b"SEND\ndestination:/queue/a\n\nx\0").verdict(side="client", level=level)
    assert verdict.ok == ok
    assert bool(verdict.new) != ok


def test_a_baseline_leaves_what_is_new(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    known.write_text(written(connected().client(b"SEND\n\nx\0").verdict()))
    again = connected().client(b"SEND\n\nx\0").client(b"SEND\n\ny\0").verdict(known=str(known))
    assert again.ok
    assert (again.findings[-1].known, again.gone) == (True, [])
    more = connected().client(b"SUBSCRIBE\nid:0\n\n\0").verdict(known=str(known))
    assert [finding.fingerprint for finding in more.new] == ["SB-01 MUST client SUBSCRIBE"]
    assert "SN-01 MUST client SEND" in more.gone


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rules": [{"findings": [{}]}]}', '{"rules": 3}', "\0", "[" * 100_000])
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "known.json").write_text(text)
    with pytest.raises(UsageError, match="--baseline"):
        connected().verdict(known=str(tmp_path / "known.json"))


def test_nothing_tried_is_never_green(tmp_path: Path) -> None:
    empty = Dialogue()
    assert not empty.verdict().ok
    assert "nothing was judged" in empty.verdict().conclusion
    assert empty.verdict(allow_empty=True).ok
    assert not Dialogue().client(b"GET / HTTP/1.1\r\n\r\n").verdict().judged
    gone = stompcap.check([tmp_path / "gone.pcap", capture(tmp_path, connected())])
    assert gone.judged
    assert not gone.ok
    assert "gone.pcap" in gone.refused[0]


def test_a_rule_that_is_switched_off_is_not_there(tmp_path: Path) -> None:
    from stompcap.rules import settings_of

    (tmp_path / "s.toml").write_text('[rules."SN-01"]\nenabled = false\n')
    dialogue = Dialogue(options=Options(settings=settings_of(str(tmp_path / "s.toml"))))
    verdict = dialogue.client(CLIENT).server(SERVER).client(b"SEND\n\nx\0").verdict()
    assert verdict.ok
    assert not [one for one in verdict.rules if one.rule.id == "SN-01"]


def test_every_clause_that_is_one_has_an_address() -> None:
    without = [rule.id for rule in RULES if clauses.url(rule) is None]
    assert without == [rule.id for rule in RULES if rule.clause.startswith("none: ")]
    assert clauses.url(next(rule for rule in RULES if rule.id == "FR-19"), "1.1") == (
        "https://stomp.github.io/stomp-specification-1.1.html#STOMP_Frames")
    pages = {(clauses.url(rule) or "").partition("#")[0] for rule in RULES}
    assert len(pages) <= 9, pages


def test_quotations_are_of_rules_of_1_2_and_fit_a_paragraph() -> None:
    versions = {rule.id: rule.versions for rule in RULES}
    assert [one for one in QUOTATIONS if "1.2" not in versions[one]] == []
    assert max(map(len, QUOTATIONS.values())) < 300
    assert not [text for text in QUOTATIONS.values() if "`" in text or "  " in text]


def test_the_json_is_as_documented() -> None:
    page = (DATA.parent / "docs" / "check.md").read_text("utf-8")
    verdict = json.loads(written(connected().client(b"SEND\n\nx\0").verdict()))
    rule = next(one for one in verdict["rules"] if one["findings"])
    names = [*verdict, *rule, *rule["findings"][0], *rule["findings"][0]["examples"][0], *verdict["peers"][0]]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_dialogues_do_not_go_back_and_say_nothing_behind_their_end() -> None:
    dialogue = connected().close()
    for say in (lambda: dialogue.client(b"\n"), lambda: dialogue.close("broker"), lambda: Dialogue().client(b"", at=1).server(b"", at=0)):
        with pytest.raises(StompcapError):
            say()


def test_frames_of_a_dialogue_come_octet_by_octet() -> None:
    dialogue = Dialogue()
    for number, octet in enumerate(CLIENT + b"SEND\ndestination:/q\nx:a\\cb\n\nhi\0"):
        dialogue.client(bytes([octet]), at=1 + number)
    first, send = dialogue.frames
    assert (first.command, first.at) == ("CONNECT", float(len(CLIENT)))
    assert (send.side, send.command, send.headers, send.body) == ("client", "SEND", (("destination", "/q"), ("x", "a:b")), "hi")


def test_a_silence_is_judged_by_the_times_given() -> None:
    beats = Dialogue().client(b"CONNECT\naccept-version:1.2\nhost:h\nheart-beat:1000,1000\n\n\0", at=0)
    beats.server(b"CONNECTED\nversion:1.2\nheart-beat:1000,1000\n\n\0", at=0.1)
    for second in range(1, 9):
        beats.server(b"\n", at=second)
    assert [finding.fingerprint for finding in beats.verdict(side="client").new] == ["HB-01 MUST client -"]
    assert status(beats.verdict(), "HB-02", "server") == PASSED
