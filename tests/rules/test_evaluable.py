"""Evidence before verdict: what the capture could not have shown is not evaluable, never a failure."""

import pytest

from stompcap.rules import judge
from tests.rules.transcript import analysed

MESSAGE = "S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎ack:a⏎⏎␀"

UNSURE = [
    ("FR-01", "in 1.2\nC: SEND⏎destination:/queue/a⏎⏎hello"),  # the capture ends
    ("FR-01", "in 1.2\nC: SEND⏎destination:/queue/a⏎⏎hello\nC resets"),
    ("FR-01", "in 1.2\nC: SEND⏎destination:/queue/a⏎⏎hello\nS closes"),
    ("FR-01", "in 1.2\nC: SEND⏎destination:/queue/a⏎⏎hello\nC loses 5\nC closes"),
    ("FR-06", "midstream\nC: SEND⏎destination:/queue/a⏎⏎␀\nS: SEND⏎destination:/queue/a⏎⏎␀"),
    ("FR-11", "midstream\nC: rest of a frame␀\nC: SEND⏎destination:/queue/a⏎⏎␀"),
    ("FR-14", "midstream\nC: SEND⏎destination:/queue/a⏎⏎␀"),
    ("FR-16", "midstream\nC: SEND⏎destination:/queue/a⏎type:⏎⏎␀"),  # the version is not known
    ("FR-28", "midstream\nC: SEND⏎destination:/queue/a⏎content-type:x⏎content-length:1⏎⏎x␀"),
    ("CN-05", "C: STOMP⏎accept-version:1.2⏎host:h⏎⏎␀\nS: ERROR⏎message:Bad credentials⏎⏎␀\nS closes"),
    ("CN-10", "C: CONNECT⏎accept-version:1.1,1.2⏎host:h⏎⏎␀\nS: CONNECTED⏎version:1.1⏎⏎␀"),
    ("CN-12", "C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀\nC closes"),
    ("CN-19", "C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀\nwait 5s\nC closes"),
    ("SB-03", "in 1.2\nC: SUBSCRIBE⏎id:0⏎destination:/a⏎⏎␀\nC loses 40\nC: SUBSCRIBE⏎id:0⏎destination:/b⏎⏎␀"),
    ("MS-04", f"in 1.2\nC loses 60\n{MESSAGE}\nC: BEGIN⏎transaction:t⏎⏎␀"),
    ("MS-04", f"midstream\nC: ACK⏎id:x⏎⏎␀\n{MESSAGE}"),
    ("AK-04", "in 1.2\nC: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎ack:client⏎⏎␀\nS loses 80\nC: ACK⏎id:a⏎⏎␀"),
    ("TX-04", "in 1.2\nC loses 30\nC: COMMIT⏎transaction:t⏎⏎␀"),
    ("RC-02", "in 1.2\nC loses 30\nC: BEGIN⏎transaction:t⏎⏎␀\nS: RECEIPT⏎receipt-id:1⏎⏎␀"),
    ("DS-01", "in 1.2\nC: DISCONNECT⏎⏎␀\nC loses 30"),
    ("SN-01", "in 1.2\nC: SEND⏎destination:/queue/a⏎content-length:500⏎⏎x␀SEND⏎x:y⏎⏎a␀BEGIN⏎transaction:t⏎⏎"),  # a quotation, perhaps
    ("FR-07", "in 1.2\nC: SEND⏎destination:/queue/a⏎content-length:500⏎⏎x␀SEND⏎x:y⏎⏎a␀BEGIN⏎transaction:t⏎⏎"),
    ("FR-19b", r"in 1.2" "\n" r"C: SEND⏎destination:/queue/a⏎path:\temp⏎⏎␀"),
]


@pytest.mark.parametrize(("rule", "transcript"), UNSURE)
def test_not_evaluable(rule, transcript):
    tables = judge(analysed(transcript))
    counts = [row for row in tables["compliance"].to_pylist() if row["rule_id"] == rule]
    assert [row["failed"] for row in counts] == [0]
    assert counts[0]["not_evaluable"] >= 1


SETTLED = [
    ("CN-01", "C: CONNECT⏎login:a⏎⏎␀\nS: CONNECTED⏎session:1⏎⏎␀"),  # a 1.0 client
    ("CN-02", "C: CONNECT⏎login:a⏎⏎␀\nS: CONNECTED⏎session:1⏎⏎␀"),
    ("CN-09", "C: CONNECT⏎accept-version:1.0,1.1⏎host:h⏎⏎␀\nS: CONNECTED⏎session:1⏎⏎␀"),
    ("CN-17", "C: CONNECT⏎login:a⏎heart-beat:x⏎⏎␀\nS: CONNECTED⏎version:1.0⏎⏎␀"),
    ("FR-02", "C: CONNECT␍⏎accept-version:1.1␍⏎host:h␍⏎␍⏎␀\nS: CONNECTED⏎version:1.1⏎⏎␀"),
    ("FR-12", "C: CONNECT⏎accept-version:1.1⏎host:h⏎⏎␀␍⏎\nS: CONNECTED⏎version:1.1⏎⏎␀"),
    ("SB-02", "in 1.0\nC: SUBSCRIBE⏎destination:/queue/a⏎⏎␀"),
    ("AK-03", "in 1.1\nC: ACK⏎message-id:1⏎subscription:0⏎⏎␀"),
]


@pytest.mark.parametrize(("rule", "transcript"), SETTLED)
def test_not_applicable(rule, transcript):
    tables = judge(analysed(transcript))
    assert not [row for row in tables["compliance"].to_pylist() if row["rule_id"] == rule]


KEPT = [
    ("CN-05", "C: STOMP⏎accept-version:1.1⏎⏎␀\nS: CONNECTED⏎version:1.1⏎⏎␀"),
    ("MS-04", "in 1.2\nS: MESSAGE⏎subscription:/temp-queue/x⏎destination:/queue/x⏎message-id:1⏎⏎␀"),
    ("RC-02", "C: CONNECT⏎login:a⏎receipt:9⏎⏎␀\nS: CONNECTED⏎version:1.0⏎⏎␀\nS: RECEIPT⏎receipt-id:9⏎⏎␀"),
    ("FR-05", "C: STOMP⏎accept-version:1.0,1.1⏎host:h⏎⏎␀\nS: CONNECTED⏎version:1.0⏎⏎␀"),
    ("FR-29", "in 1.2\nC: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:2⏎⏎é␀"),
    ("HB-03", "C: CONNECT⏎accept-version:1.1⏎⏎␀\nS: CONNECTED⏎version:1.1⏎heart-beat:9,9⏎⏎␀\nwait 9s\nC closes"),
]


@pytest.mark.parametrize(("rule", "transcript"), KEPT)
def test_passed(rule, transcript):
    tables = judge(analysed(transcript))
    counts = [row for row in tables["compliance"].to_pylist() if row["rule_id"] == rule]
    assert [(row["failed"], row["not_evaluable"]) for row in counts] == [(0, 0)]
