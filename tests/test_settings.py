"""Settings: a TOML file moves thresholds and levels and switches rules off; what makes no sense is refused in one line."""

from __future__ import annotations

import pickle
import re
from dataclasses import fields
from pathlib import Path

import pytest

from stompcap.errors import UsageError
from stompcap.options import Options
from stompcap.rules import RULES, catalogue_table, judge, list_rules, settings_of
from stompcap.rules.engine import in_force
from stompcap.settings import RuleSetting, Settings, Thresholds, filled_in
from tests.rules.transcript import analysed

RAW_COLON = "in 1.2\nC: SEND⏎destination:/queue/a⏎time:12:30⏎⏎␀"


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str) -> str:
        path = tmp_path / "settings.toml"
        path.write_text(text)
        return str(path)

    return write


def test_no_file_means_the_defaults() -> None:
    assert settings_of(None) == Settings() == Options().settings


def test_a_file(written) -> None:
    found = settings_of(written('[rules."FR-20"]\nenabled = false\n[rules.CN-05]\nlevel = "I"\n[thresholds]\nheartbeat_late = 1.2\n'))
    assert found.of("FR-20") == RuleSetting(False)
    assert found.of("CN-05") == RuleSetting(True, "I")
    assert found.of("FR-01") == RuleSetting()
    assert found.thresholds == Thresholds(heartbeat_late=1.2)
    assert pickle.loads(pickle.dumps(found)) == found
    assert settings_of(written("")) == Settings()


REFUSED = [  # text, line, what is said
    ("rule = 1", 1, r"rule: no such setting; use one of rules, thresholds, quality"),
    ("rules = 1", 1, r"rules: must be a table; `\[rules"),
    ('# mine\n\n[rules."FR-99"]\nenabled = true', 3, r'rules\."FR-99": no such rule; `stompcap rules list`'),
    ('[rules]\n"FR-20" = false', 2, r'rules\."FR-20": must be a table'),
    ('[rules."FR-20"]\noff = true', 2, r'rules\."FR-20"\.off: no such setting; use one of enabled, level'),
    ('[rules."FR-20"]\nenabled = 0', 2, r"enabled: must be true or false"),
    ('[rules."CN-05"]\nlevel = "I"\n[rules."FR-20"]\nlevel = "X"\n[thresholds]', 4, r'"FR-20"\.level: must be "M", "S", "I"'),
    ('[rules."FR-20"]\nlevel = 1', 2, r'level: must be "M", "S", "I"'),
    ('rules."FR-20" = {enabled = true, level = [\n"M",\n]}', 3, r'level: must be "M", "S", "I"'),
    ("[thresholds]\nlate = 1", 2, r"thresholds\.late: no such setting"),
    ('[thresholds]\nheartbeat_late = "1"', 2, r"thresholds\.heartbeat_late: must be a number above 0"),
    ("[thresholds]\nreceipt_wait_s = true", 2, r"thresholds\.receipt_wait_s: must be a number above 0"),
    ("[thresholds]\nreceipt_wait_s = 0", 2, r"must be a number above 0"),
    ("[thresholds]\nreceipt_wait_s = nan", 2, r"must be a number above 0"),
    ("[thresholds]\nheartbeat_late = 2", 2, r"heartbeat_late: must not exceed heartbeat_violation, which is 1.5"),
    ("[thresholds]\n\nheartbeat_dead = 1.2", 3, r"heartbeat_dead: must not be less than heartbeat_violation, which is 1.5"),
    ("[thresholds]\nheartbeat_late = 0.5", 2, r"heartbeat_late: must be 1 or more, as a kept interval is not late"),
    ("[quality]\nage = 1", 2, r"quality\.age: no such setting; use one of newest_packet_s, lost_ratio"),
    ("[quality]\nnewest_packet_s = -1", 2, r"quality\.newest_packet_s: must be a number above 0"),
    ("[quality]\n\nlost_ratio = 2", 3, r"quality\.lost_ratio: must be 1 or less"),
    ("[rules]\n[thresholds", 2, r"not TOML: Expected '\]' .*; `\[rules"),
    ("[thresholds]\nreceipt_wait_s =", 2, r"not TOML: Invalid value; `\[rules"),
    ("[thresholds]\n[thresholds]", 2, r"not TOML: Cannot declare"),
    ("\n\udc80", 2, r"not TOML: a byte is not valid UTF-8; save"),
]


@pytest.mark.parametrize(("text", "line", "message"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_what_is_refused(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=message) as error:
        settings_of(str(path))
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UsageError, match="name a TOML file that can be read"):
            settings_of(str(path))


def levels(settings: Settings) -> list[str]:
    findings = judge(analysed(RAW_COLON), settings)["compliance_findings"].to_pylist()
    return [row["level"] for row in findings if row["rule_id"] == "FR-20"]


def test_levels_and_switches_reach_the_findings() -> None:
    assert levels(Settings()) == ["I"]
    assert levels(Settings((("FR-20", RuleSetting(level="M")),))) == ["M"]
    assert levels(Settings((("FR-20", RuleSetting(level="M/S")),))) == ["S"]
    assert levels(Settings((("FR-20", RuleSetting(enabled=False)),))) == []


def test_all_rules_off() -> None:
    off = Settings(tuple((rule.id, RuleSetting(False)) for rule in RULES))
    tables = judge(analysed(RAW_COLON), off)
    assert tables["compliance"].num_rows == tables["compliance_findings"].num_rows == 0
    assert not [rule for rule in in_force(off) if rule.enabled]


def test_levels_and_switches_are_shown() -> None:
    chosen = Settings((("FR-20", RuleSetting(False)), ("CN-05", RuleSetting(level="I"))))
    shown = dict(zip(catalogue_table(chosen)["id"].to_pylist(), catalogue_table(chosen)["level"].to_pylist(), strict=True))
    assert (shown["FR-20"], shown["CN-05"], shown["FR-01"]) == ("off", "I", "M")
    lines = {line.split()[0]: line.split()[1] for line in list_rules(chosen).splitlines()}
    assert (lines["FR-20"], lines["CN-05"], lines["FR-01"]) == ("off", "INFO", "MUST")


WAITED = [  # threshold, rule, a transcript that is just beyond the default, a value that lets it pass
    ("receipt_wait_s", "RC-03", "in 1.2\nC: SEND⏎destination:/a⏎receipt:1⏎⏎␀\nwait 11s\nS: ⏎", 30),
    ("error_close_s", "ER-02", "in 1.2\nS: ERROR⏎message:a⏎⏎␀\nwait 2s\nS: ⏎", 30),
    ("idle_close_s", "HB-08", "in 1.2\nwait 11s\nS closes", 30),
    ("transaction_open_s", "TX-08", "in 1.2\nC: BEGIN⏎transaction:t⏎⏎␀\nC: SEND⏎destination:/a⏎transaction:t⏎⏎␀\n"
     "wait 61s\nC: COMMIT⏎transaction:t⏎⏎␀", 90),
    ("connect_answer_s", "CN-19", "C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀\nwait 11s\nS: CONNECTED⏎version:1.2⏎⏎␀", 30),
    ("refusal_close_s", "CN-12", "C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀\nS: ERROR⏎message:a⏎⏎␀\nwait 16s\nS closes", 30),
    ("unsubscribe_grace_s", "SB-08", "in 1.2\nC: SUBSCRIBE⏎id:0⏎destination:/a⏎⏎␀\nC: UNSUBSCRIBE⏎id:0⏎⏎␀\nwait 3s\n"
     "S: MESSAGE⏎subscription:0⏎destination:/a⏎message-id:1⏎⏎␀", 5),
    ("heartbeat_sane_max_ms", "HB-09", "C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:90000,0⏎⏎␀\nS: CONNECTED⏎version:1.2⏎⏎␀", 1e6),
    ("heartbeat_violation", "HB-01", "C: CONNECT⏎accept-version:1.2⏎host:h⏎heart-beat:1000,0⏎⏎␀\n"
     "S: CONNECTED⏎version:1.2⏎heart-beat:0,1000⏎⏎␀\nwait 2s\nC: ⏎", 2.5),
]


@pytest.mark.parametrize(("name", "rule", "transcript", "value"), WAITED, ids=[name for name, *_ in WAITED])
def test_thresholds_reach_the_rules(name: str, rule: str, transcript: str, value: float) -> None:
    def found(thresholds: Thresholds) -> list[str]:
        analysis = analysed(transcript, thresholds=thresholds)
        return [r["rule_id"] for r in judge(analysis, Settings(thresholds=thresholds))["compliance_findings"].to_pylist()]

    assert rule in found(Thresholds())
    assert rule not in found(Thresholds(**{name: value}))


def test_texts_have_the_thresholds_in_force() -> None:
    """Rules name a threshold with its default, which is filled in; the page on judging has those of heart-beats."""
    text = filled_in("after `receipt_wait_s` ({receipt_wait_s}), above {heartbeat_late}, {heartbeat_sane_min_ms}, {header}")
    assert text == "after `receipt_wait_s` (10 s), above 1.1, 1 s, {header}"
    root = Path(__file__).resolve().parents[1]
    by_hand = re.compile(rf"`({'|'.join(f.name for f in fields(Thresholds))})`[\s,(]*\d")
    assert not [path.name for path in (root / "stompcap" / "rules").rglob("*.py") if by_hand.search(path.read_text("utf-8"))]
    judging = (root / "docs" / "judging.md").read_text("utf-8")
    assert all(f"| above {limit:g} | {severity} |" in judging for limit, severity in Thresholds().heartbeat_severities)
