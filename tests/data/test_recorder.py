"""The recorder without brokers: its frames survive their way through octets, its sessions have names of their own."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from data.recorder.brokers import BROKERS
from data.recorder.scenarios import PROGRAMME
from data.recorder.truth import SessionLog, severity
from data.recorder.users import User
from data.recorder.wire import Frame, Parser, serialize

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=8)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
BODIES = st.binary(max_size=40)


@given(st.lists(st.tuples(st.lists(st.tuples(NAMES, VALUES), max_size=4), BODIES), max_size=4), st.data())
def test_frames_come_back_however_the_octets_are_cut(frames: list, data: st.DataObject) -> None:
    planned = [([*[pair for pair in headers if pair[0] != "content-length"], ("content-length", str(len(body)))], body)
               for headers, body in frames]
    octets = b"\n".join(serialize("SEND", headers, body, "1.2") for headers, body in planned)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(octets)), max_size=6)))
    parser, back = Parser(), []
    for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(octets)], strict=True)):
        if end > begin:
            back += parser.feed(octets[begin:end], number)
    assert [(frame.headers, frame.body) for frame in back] == planned
    assert all(octets[frame.offset:frame.offset + frame.length].endswith(b"\0") for frame in back)


def test_every_session_has_a_user_of_its_own() -> None:
    for broker in BROKERS:
        logins = [user.login for scenario in PROGRAMME if broker in scenario.brokers for user in scenario.users(broker)]
        assert len(set(logins)) == len(logins)


def test_severities_by_ratio() -> None:
    assert [severity(ratio) for ratio in (1.0, 1.1, 1.2, 1.5, 1.6, 3.0, 3.1)] == [
        "ok", "ok", "late", "late", "violation", "violation", "dead"]


def test_no_silence_is_measured_behind_a_disconnect() -> None:
    """The broker answers a second late, as one that is stopped just then; the client waits and owes nothing either."""
    log = SessionLog("leaves", "artemis", "raw", User("someone", "pc-0"))
    log.heartbeat_c2s_ms, log.heartbeat_s2c_ms, log.connected_ns, log.closed_ns = 0, 500, 1_000_000_000, 3_500_000_000
    for at in (1_400_000_000, 1_900_000_000, 3_400_000_000):
        log.received += log.tape_s2c.feed(b"\n", at)
    log.sent.append(Frame("DISCONNECT", [("receipt", "r-1")], b"", 0, 30, 2_500_000_000, 2_500_000_000, []))
    [silence] = [record for record in log.records() if record["kind"] == "heartbeat"]
    assert (silence["direction"], silence["measured_max_gap_ms"]) == ("s2c", 600.0)
