"""SockJS: messages however they come, and whatever is none."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.transport.sockjs import FIRST, SockJs
from tests.transport import test_websocket_frames as machine

LAYER = SockJs()
TEXTS = st.lists(st.text(max_size=30) | st.sampled_from(["\n", "MESSAGE\n\nhello\0", 'a["x"]']), min_size=1, max_size=3)


def read(octets, steps, side=1):
    pieces = [(side, begin, octets[begin:end]) for begin, end in pairwise(sorted({0, *steps, len(octets)})) if end <= len(octets)]
    return machine.read(pieces, max(1, min(3, len(pieces))), layer=LAYER)


def of(texts, server, ascii_only):
    return (("a" if server else "") + json.dumps(texts, ensure_ascii=ascii_only, separators=(",", ":"))).encode("utf-8", "replace")


@given(st.lists(TEXTS, max_size=6), st.booleans(), st.booleans(), st.lists(st.integers(1, 300), max_size=9))
def test_strings_are_what_was_said(messages, server, ascii_only, steps):
    octets = b"".join(of(one, server, ascii_only) for one in messages)
    octets = b"oh" + octets + b'c[3000,"Go away!"]' if server else octets
    if not octets:
        return
    found, events, _, kept = read(octets, steps, int(server))
    expected = "".join("".join(one) for one in messages).encode("utf-8", "surrogatepass" if ascii_only else "replace")
    assert machine.text(found[int(server)]) == expected
    assert [(kind, detail) for _, kind, _, _, detail in events] == (
        [("handshake", None), ("sockjs_heartbeat", None), ("close", "3000")] if server else []
    )
    [summary] = LAYER.summaries(kept)
    assert (summary.status, summary.columns["close_code"]) == ("read", 3000 if server else None)


ANY = st.binary(min_size=1, max_size=200) | st.text('oha[]"\\u0,c1 ', min_size=1, max_size=60).map(str.encode)


@given(ANY, st.lists(st.integers(1, 200), max_size=6))
def test_any_octets_are_read_alike_however_they_come(octets, steps):
    whole, events, lengths, _ = read(octets, [])
    again, same, others, _ = read(octets, steps)
    assert machine.joined(again[1]) == machine.joined(whole[1])
    assert (same, others) == (events, lengths)


@pytest.mark.parametrize("octets", [b"a[1]", b'a["x]', b"a{}", b'["\\x"]', b"c[,]", b"MESSAGE\n\n\0"])
def test_behind_what_is_none_the_next_is_read(octets):
    found, events, *_ = read(b"o" + octets + b'a["then"]a["more"]', [])
    assert machine.text(found[1]).endswith(b"more")
    assert not events or {kind for _, kind, *_ in events} <= {"handshake", "unreadable", "sockjs_heartbeat"}


@pytest.mark.parametrize(("octets", "begins"), [
    (b'oa["CONNECTED\\nx', True), (b'["CONNECT\\n', True), (b'["\\n"]', True), (b'a["\\n"]', True), (b"oauth", False), (b'["x"]', False),
    (b"SEND\n\n\0", False), (b'ohha["', True),
])  # fmt: skip
def test_how_it_begins(octets, begins):
    assert (FIRST.match(octets) is not None) == begins


@pytest.mark.parametrize(("part", "kept"), [
    (b'a["MESSAGE\\n\\nhello', True), (b'a["CONNECTED\\nx:s3cret\\n', False), (b'["CONNECT\\npasscode:x', False), (b'a["\\u0073', False),
])  # fmt: skip
def test_a_message_under_way_is_stored_if_it_tells_no_secret(part, kept):
    *_, state = read(part, [])
    found = LAYER.masked(state, frozenset({b"s3cret"}))
    assert bool(found["raw 1"].size) == kept
    assert kept or int(found["numbers"][1][1]) == len(part)
