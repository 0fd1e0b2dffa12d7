"""Sessions whose version is inferred: what one of the versions that fit would acquit is not evaluable, what all forbid is found."""

from __future__ import annotations

import pytest

from stompcap.rules import judge
from tests.rules.transcript import analysed

BARE = "C: SEND⏎destination:/queue/a⏎⏎hello␀"  # no content-type: asked for from 1.1 on
COLON = "C: SEND⏎destination:/queue/a⏎time:12:30⏎⏎␀"  # forbidden from 1.1 on
ESCAPE = r"C: SEND⏎destination:/queue/a⏎text:two\rlines⏎⏎␀"  # 1.2 knows it, 1.1 does not, 1.0 has none
LINES = "C: SEND␍⏎destination:/queue/a␍⏎␍⏎␀"  # allowed in 1.2 alone
NO_SUBSCRIPTION = "C: ACK⏎message-id:2⏎⏎␀"  # forbidden in 1.1 alone
BY_ID, BY_PAIR = "C: ACK⏎id:1⏎⏎␀", "C: ACK⏎message-id:1⏎subscription:0⏎⏎␀"
NACK = "C: NACK⏎receipt:n⏎⏎␀"
WITH_ACK = "S: MESSAGE⏎destination:/queue/a⏎message-id:1⏎ack:1⏎⏎␀"
ESCAPED = r"S: MESSAGE⏎destination:/queue/a\cb⏎message-id:1⏎⏎␀"
ACTIVEMQ = "S: MESSAGE⏎destination:/queue/a⏎message-id:ID:vm-1:1⏎⏎␀"
OFFER = "C: CONNECT⏎accept-version:{0}⏎host:h⏎⏎␀\nS loses 60"

CASES = [
    # the mark that is seen, the versions that fit, a frame, a rule about it, and its verdict: found at a level, `unsure` or `none`
    (BY_ID, "1.2", BARE, "FR-27", "S"),
    (BY_ID, "1.2", r"C: SEND⏎destination:/queue/a⏎path:\temp⏎⏎␀", "FR-19", "M"),
    (BY_ID, "1.2", LINES, "FR-02", "none"),
    (WITH_ACK, "1.2", COLON, "FR-20", "I"),
    (BY_PAIR, "1.0,1.1", BARE, "FR-27", "unsure"),
    (BY_PAIR, "1.0,1.1", COLON, "FR-20", "unsure"),
    (BY_PAIR, "1.0,1.1", ESCAPE, "FR-19", "unsure"),
    (BY_PAIR, "1.0,1.1", LINES, "FR-02", "M"),
    (BY_PAIR, "1.0,1.1", NO_SUBSCRIPTION, "AK-02", "unsure"),
    (f"{NACK}\n{BY_PAIR}", "1.0,1.1", COLON, "FR-20", "unsure"),
    (NACK, "1.0,1.1,1.2", BARE, "FR-27", "unsure"),
    (NACK, "1.0,1.1,1.2", NACK, "AK-02", "unsure"),
    (ESCAPED, "1.1,1.2", BARE, "FR-27", "S"),
    (ESCAPED, "1.1,1.2", COLON, "FR-20", "I"),
    (ESCAPED, "1.1,1.2", ESCAPE, "FR-19", "unsure"),
    (ESCAPED, "1.1,1.2", "C: SUBSCRIBE⏎destination:/queue/a⏎⏎␀", "SB-02", "M"),
    (f"{ESCAPED}\n{NO_SUBSCRIPTION}", "1.1", NO_SUBSCRIPTION, "AK-02", "M"),
    (LINES, "1.0,1.1,1.2", BARE, "FR-27", "unsure"),
    (LINES, "1.0,1.1,1.2", "C: SEND⏎destination:/queue/a⏎colour:bl␍ue⏎⏎␀", "FR-03", "unsure"),
    (ACTIVEMQ, "1.0", "C: SEND⏎destination:/queue/café⏎⏎␀", "FR-17", "I"),
    (ACTIVEMQ, "1.0", BARE, "FR-27", "none"),
    (BARE, "1.0,1.1,1.2", BARE, "FR-27", "unsure"),
    (BARE, "1.0,1.1,1.2", "C: SEND⏎⏎␀", "SN-01", "M"),
    (OFFER.format("1.2"), "1.2", BARE, "FR-27", "unsure"),
    (f"{OFFER.format('1.1,1.2')}\n{NACK}", "1.1,1.2", BARE, "FR-27", "S"),
    (f"{OFFER.format('1.1,1.2')}\n{NACK}", "1.1,1.2", ESCAPE, "FR-19", "unsure"),
    (f"{OFFER.format('1.1')}\n{BY_PAIR}", "1.1", COLON, "FR-20", "I"),
]


@pytest.mark.parametrize(("mark", "fits", "frame", "rule", "verdict"), CASES)
def test_what_another_version_would_acquit_is_not_evaluable(mark: str, fits: str, frame: str, rule: str, verdict: str) -> None:
    opening = "" if mark.startswith("C: CONNECT") else "midstream\n"
    analysis = analysed(f"{opening}{mark}\n{frame}")
    assert analysis.tables["sessions"].column("possible_versions").to_pylist() == [fits]
    tables = judge(analysis)
    levels = {row["level"] for row in tables["compliance_findings"].to_pylist() if row["rule_id"] == rule}
    counts = [row for row in tables["compliance"].to_pylist() if row["rule_id"] == rule]
    if verdict in ("M", "S", "I"):
        assert levels == {verdict}
    else:
        assert not levels
        assert [row["not_evaluable"] > 0 for row in counts] == ([] if verdict == "none" else [True])


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_a_handshake_leaves_one_version(version: str) -> None:
    said = analysed(f"in {version}\n{BY_PAIR}\n{NACK}").tables["sessions"].to_pylist()
    assert [row["possible_versions"] for row in said] == [version]
