"""The engine: opportunities add up, findings are the failures, evidence is fit to be shown."""

import pyarrow as pa
import pytest

from stompcap.rules import RULES, judge
from stompcap.rules.evidence import EVIDENCE_CHARACTERS, presentable
from stompcap.tables import TABLES
from tests.rules.transcript import analysed

MIXED = [text for rule in RULES for text in (rule.breaks, rule.keeps) if text][:60]


@pytest.fixture(scope="module")
def judged() -> dict[str, pa.Table]:
    return judge(analysed(*MIXED))


def test_schemas(judged):
    for name in ("compliance", "compliance_findings"):
        assert judged[name].schema.equals(TABLES[name].arrow, check_metadata=True)
        judged[name].validate(full=True)


def test_opportunities_add_up(judged):
    for row in judged["compliance"].to_pylist():
        assert row["applicable"] == row["passed"] + row["failed"] + row["not_evaluable"]
        assert row["applicable"] > 0
        assert min(row["passed"], row["failed"], row["not_evaluable"]) >= 0


def test_failures_are_findings(judged):
    failed = {(r["stream_id"], r["rule_id"]): r["failed"] for r in judged["compliance"].to_pylist() if r["failed"]}
    found: dict[tuple[str, str], int] = {}
    for row in judged["compliance_findings"].to_pylist():
        key = (row["stream_id"], row["rule_id"])
        found[key] = found.get(key, 0) + 1
    assert found == failed


def test_keys_are_unique(judged):
    for name in ("compliance", "compliance_findings"):
        table = judged[name].select(list(TABLES[name].key))
        assert table.group_by(table.column_names).aggregate([]).num_rows == table.num_rows


@pytest.mark.parametrize("count", [1, 7])
def test_sessions_do_not_touch_each_other(judged, count):
    for start in range(0, len(MIXED), 13):
        few = judge(analysed(*MIXED[start : start + count]))
        names = {f"s{i}": f"s{start + i}" for i in range(count)}
        for name in ("compliance", "compliance_findings"):
            rows = [row | {"stream_id": names[row["stream_id"]]} for row in few[name].to_pylist()]
            assert rows == [row for row in judged[name].to_pylist() if row["stream_id"] in set(names.values())]


def test_no_frames():
    tables = judge(analysed("C closes"))
    assert tables["compliance"]["rule_id"].to_pylist() == ["DS-07"], "how it was closed is all there is to judge"
    assert tables["compliance_findings"].num_rows == 0


def test_client_frames_of_unknown_command_are_informational():
    findings = judge(analysed("in 1.2\nC: HELLO⏎⏎␀\nS: HELLO⏎⏎␀"))["compliance_findings"].to_pylist()
    assert [(f["side"], f["level"]) for f in findings if f["rule_id"] == "FR-04"] == [("client", "I"), ("server", "M")]


@pytest.mark.parametrize(("version", "level"), [("1.1", "S"), ("1.2", "M")])
def test_level_is_that_of_the_version(version, level):
    tables = judge(analysed(f"in {version}\nC: SEND⏎destination:/a⏎content-type:x⏎content-length:1⏎⏎x␀"))
    assert [f["level"] for f in tables["compliance_findings"].to_pylist() if f["rule_id"] == "FR-28"] == [level]


def test_a_finding_names_its_frame():
    finding = judge(analysed("in 1.2\nC: SEND⏎⏎␀"))["compliance_findings"].to_pylist()[0]
    assert (finding["rule_id"], finding["direction"], finding["side"]) == ("SN-01", "c2s", "client")
    assert finding["stream_offset"] == len("CONNECT\naccept-version:1.2\nhost:h\n\n\0")
    assert finding["found_ts"].timestamp() == pytest.approx(finding["ts_ns"] / 1e9)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain", "plain"),
        ("two\r\nlines\0\x1b[31m", r"two\r\nlines\x00\x1b[31m"),
        ("‮right to left", r"\u202eright to left"),
        ("passcode:secret", "passcode:***"),
        ("in a line:\nPassCode : secret\nmore", r"in a line:\nPassCode :***"),
        ("x" * 500, "x" * EVIDENCE_CHARACTERS),
    ],
)
def test_evidence_is_fit_to_be_shown(said, shown):
    assert presentable(pa.array([said])).to_pylist() == [shown]


def test_evidence_is_shown_alike_whatever_stands_beside_it():
    assert presentable(pa.array(["no\u00a0break", "a\nb", "no\u00a0break"])).to_pylist() == ["no\u00a0break", r"a\nb", "no\u00a0break"]


def test_no_passcode_in_evidence():
    transcript = (
        "C: CONNECT⏎login:a⏎passcode:hunter2⏎passcode:hunter2⏎passcode hunter2⏎ passcode : hunter2 ⏎⏎␀\n"
        "S: ERROR⏎message:bad frame passcode:hunter2 host⏎⏎CONNECT⏎passcode:hunter2␀\nS closes"
    )
    findings = judge(analysed(transcript))["compliance_findings"].to_pylist()
    assert {"CN-20", "CN-21", "FR-25"} <= {f["rule_id"] for f in findings}
    assert not [f for f in findings if "hunter2" in f["evidence"]]
