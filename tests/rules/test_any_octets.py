"""Whatever crosses the wire, judging ends, opportunities add up and evidence stays short and printable."""

from hypothesis import given
from hypothesis import strategies as st

from stompcap.rules import judge
from stompcap.rules.evidence import EVIDENCE_CHARACTERS
from stompcap.tables import words
from tests.examples import one_in
from tests.rules.transcript import Conversation, analysed

PIECES = st.sampled_from([
    b"CONNECT\naccept-version:1.1,1.2\nhost:h\n\n\0", b"CONNECTED\nversion:1.2\n\n\0", b"CONNECTED\nversion:1.0\n\n\0",
    b"SEND\ndestination:/q\n\nx\0", b"SEND\r\n:\\x\n: \n\n\0", b"MESSAGE\nsubscription:0\nack:1\n\n\0", b"ERROR\n\nheart-beat\0",
    b"SUBSCRIBE\nid:0\nack:client\n\n\0", b"ACK\nid:1\n\n\0", b"ACK\nmessage-id:1\n\n\0", b"BEGIN\ntransaction:t\n\n\0",
    b"COMMIT\ntransaction:t\n\n\0", b"DISCONNECT\nreceipt:\n\n\0", b"RECEIPT\nreceipt-id:\n\n\0", b"stomp\nlogin:\xff\n\n\0",
    b"SEND\ncontent-length:2\ncontent-length:3\n\n\xe9\0\0\0", b"\n", b"\r\n", b"\0", b"\\", b"NACK\n",
])
STEPS = st.tuples(st.sampled_from(["say", "lose", "close", "reset"]), st.integers(0, 1), PIECES | st.binary(max_size=12))


def conversation(steps, seen):
    talk = Conversation(seen=seen, synced=seen, history="Sh" if seen else "")
    for packet, (what, side, data) in enumerate([*steps, ("say", 0, b"\n")], start=1):
        talk.last_ns += 900_000_000
        if what == "say" and data:
            talk.say(side, data, talk.last_ns, packet)
        elif what == "lose":
            talk.sides[side].octets += len(data)
            talk.sides[side].lost += len(data)
        elif what in ("close", "reset"):
            talk.close(side, "closes" if what == "close" else "resets", talk.last_ns)
    return talk


@given(st.lists(st.tuples(st.lists(STEPS, max_size=14), st.booleans()), min_size=1, max_size=4))
@one_in(3)
def test_any_octets(talks):
    tables = judge(analysed(*(conversation(*talk) for talk in talks)))
    for row in tables["compliance"].to_pylist():
        assert row["applicable"] == row["passed"] + row["failed"] + row["not_evaluable"] > 0
        assert min(row["passed"], row["failed"], row["not_evaluable"]) >= 0
    findings = tables["compliance_findings"].to_pylist()
    assert sum(row["failed"] for row in tables["compliance"].to_pylist()) == len(findings)
    for row in findings:
        assert row["level"] in words.LEVELS
        assert row["stream_offset"] >= 0
        assert len(row["evidence"]) <= EVIDENCE_CHARACTERS
        assert row["evidence"].isprintable()
