"""The recorder without brokers: its frames survive their way through octets, its sessions have names of their own."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from data.recorder.brokers import BROKERS
from data.recorder.scenarios import PROGRAMME
from data.recorder.truth import severity
from data.recorder.wire import Parser, serialize

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
