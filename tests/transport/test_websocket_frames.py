"""Frames, messages and holes: read alike however they are cut, as wsproto reads them, and whatever octets come."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto import ConnectionType
from wsproto.connection import Connection as Oracle
from wsproto.events import BytesMessage, CloseConnection, Message, Ping, Pong, TextMessage
from wsproto.extensions import PerMessageDeflate

from stompcap.capture import SEGMENTS
from stompcap.transport.carried import Carried
from stompcap.transport.events import CLOSE, PING, PONG, UNREADABLE
from stompcap.transport.keys import no_keys
from stompcap.transport.stretches import Stretches
from stompcap.transport.websocket import WebSocket
from stompcap.transport.websocket_found import begins_midstream
from tests.examples import THOROUGH, slow_behind
from tests.transport.in_websocket import Writer, answer, frame, request

DEFLATE = "permessage-deflate"
LAYER = WebSocket()


def carried(pieces, octets=None, final=False, base=(0, 0), before=0) -> Carried:
    """A stream whose sides have these pieces: side, offset, octets; each is a segment, behind so many `before`."""
    count = len(pieces)
    columns = {name: pa.array([0] * count).cast(SEGMENTS.field(name).type) if pa.types.is_integer(SEGMENTS.field(name).type)
               else pa.array([False] * count) if pa.types.is_boolean(SEGMENTS.field(name).type)
               else pa.nulls(count, SEGMENTS.field(name).type) for name in SEGMENTS.names}  # fmt: skip
    columns["payload"] = pa.array([one[2] for one in pieces], SEGMENTS.field("payload").type)
    columns["file_offset"] = pa.array([-1] * count, SEGMENTS.field("file_offset").type)
    columns["captured_octets"] = pa.array([len(one[2]) for one in pieces]).cast(SEGMENTS.field("captured_octets").type)
    segments = pa.table([columns[name] for name in SEGMENTS.names], schema=pa.schema([field.with_nullable(True) for field in SEGMENTS]))
    rows = np.arange(count)
    found = Stretches(
        np.zeros(count, np.int32), np.array([one[0] for one in pieces], np.int8), np.array([one[1] for one in pieces], np.int64),
        np.array([len(one[2]) for one in pieces], np.int64), rows, before + rows + 1, rows, np.zeros(count, np.int64),
        np.zeros(count, np.bool_),
    )  # fmt: skip
    ends = list(base)
    for side, offset, part in pieces:
        ends[side] = max(ends[side], offset + len(part))
    return Carried(found.in_order(), np.array([octets or ends]), np.ones((1, 2), np.bool_), np.array([final]), segments, {})


def read(pieces, steps=1, final=True, octets=None, restart=None, layer=LAYER, keys=no_keys):
    """What a layer gives of a client (side 0) and a server: per side what can be read by offset, holes, events."""
    kept, given, events, lengths, base = None, ([], []), [], (0, 0), [0, 0]
    edges = [round(k * len(pieces) / steps) for k in range(steps + 1)]
    for number, (begin, end) in enumerate(pairwise(edges)):
        last = number == steps - 1
        below = carried(pieces[begin:end], octets if last else None, final and last, base, begin)
        base = below.octets[0].tolist()
        found, [kept] = layer.read(replace(below, keys=keys), np.array([0]), [kept])
        if restart:
            kept = layer.masked(kept, restart)
        assert (np.diff(found.stretches.direction) >= 0).all()
        content, at = found.read(found.stretches).tobytes(), 0
        for k in range(len(found.stretches)):
            size = int(found.stretches.length[k])
            row = int(found.stretches.row[k])
            given[found.stretches.side[k]].append((int(found.stretches.offset[k]), content[at : at + size], begin + row))
            at += size
        events += [(one.side, one.kind, one.offset, one.octets, one.detail) for one in found.events]
        lengths = tuple(found.octets[0].tolist())
    for side in (0, 1):  # tiling
        ends = 0
        for offset, part, _ in given[side]:
            assert offset >= ends
            assert part
            ends = offset + len(part)
        assert ends <= lengths[side]
    return given, sorted(events, key=lambda one: (one[0], one[2], one[1])), lengths, kept


def joined(parts):
    """Octets by offset, whatever pieces they came in."""
    return {offset + k: octet for offset, part, _ in parts for k, octet in enumerate(part)}


def text(parts) -> bytes:
    return b"".join(part for _, part, _ in parts)


def cut(side, octets, cuts, begin=0):
    edges = [0, *sorted({one for one in cuts if 0 < one < len(octets)}), len(octets)]
    return [(side, begin + a, octets[a:b]) for a, b in pairwise(edges) if a < b]


MESSAGES = st.lists(st.binary(max_size=300) | st.sampled_from([b"\n", b"", b"MESSAGE\nid:1\n\nhello\0" * 3]), max_size=8)
HOW = st.fixed_dictionaries(
    {"fragments": st.integers(1, 4), "pings": st.booleans(), "seed": st.integers(0, 99), "least": st.sampled_from([0, 50])}
)


@given(MESSAGES, MESSAGES, HOW, st.sampled_from(["", DEFLATE, f"{DEFLATE}; server_no_context_takeover; client_no_context_takeover"]),
       st.lists(st.integers(1, 2000), max_size=12), st.integers(1, 5))  # fmt: skip
def test_any_segments_and_steps_give_the_messages_octets(asks, says, how, extensions, cuts, steps):
    deflate, takeover = bool(extensions), "no_context" not in extensions
    client, server = (Writer(side == 0, deflate=deflate, takeover=takeover, **how) for side in (0, 1))
    first = cut(0, request(), cuts), cut(1, answer(*([f"Sec-WebSocket-Extensions: {extensions}"] if extensions else [])), cuts)
    behind = [sum(len(part) for *_, part in pieces) for pieces in first]
    wire = b"".join(map(client.message, asks)), b"".join(map(server.message, says))
    pieces = [*first[0], *first[1], *cut(0, wire[0], cuts, behind[0]), *cut(1, wire[1], cuts, behind[1])]
    given, events, lengths, kept = read(pieces, min(steps, len(pieces)))
    assert (text(given[0]), text(given[1])) == (b"".join(asks), b"".join(says))
    assert lengths == (len(b"".join(asks)), len(b"".join(says)))
    assert not any(kind == UNREADABLE for _, kind, *_ in events)
    whole, same, *_ = read(pieces, 1)
    assert [joined(one) for one in whole] == [joined(one) for one in given]
    assert same == events
    assert [one.status for one in LAYER.summaries(kept)] == ["read", "read"]


@given(st.lists(st.sampled_from(["text", "binary", "ping", "pong"]), max_size=10), st.integers(0, 2**30), st.booleans(), st.booleans())
def test_wsproto_s_frames_are_read(kinds, seed, deflate, client):
    """Frames that wsproto writes, and those of the tests' writer as wsproto reads them."""
    dice = random.Random(seed)
    extensions = [PerMessageDeflate()] if deflate else []
    for one in extensions:
        one._enabled = True
    writes = Oracle(ConnectionType.CLIENT if client else ConnectionType.SERVER, extensions)
    wire, content, controls = b"", b"", []
    for kind in kinds:
        if kind in ("text", "binary"):
            parts = [dice.randbytes(dice.randrange(300)) for _ in range(dice.randint(1, 3))]
            for k, part in enumerate(parts):
                octets = part if kind == "binary" else part.hex().encode()
                event = BytesMessage if kind == "binary" else TextMessage
                data = octets if kind == "binary" else octets.decode()
                wire += writes.send(event(data=data, message_finished=k == len(parts) - 1))
                content += octets
        else:
            payload = dice.randbytes(dice.randrange(126))
            wire += writes.send(Ping(payload) if kind == "ping" else Pong(payload))
            controls.append((PING if kind == "ping" else PONG, len(payload)))
    wire += writes.send(CloseConnection(code=1001, reason="going"))
    lines = [f"Sec-WebSocket-Extensions: {DEFLATE}"] if deflate else []
    side, heads = 0 if client else 1, (request(), answer(*lines))
    pieces = [(0, 0, heads[0]), (1, 0, heads[1]), *cut(side, wire, [dice.randrange(1, len(wire) + 1) for _ in range(5)], len(heads[side]))]
    given, events, *_ = read(pieces)
    assert text(given[side]) == content
    said = [(kind, octets) for who, kind, _, octets, _ in events if kind in (PING, PONG) and who == side]
    assert said == controls
    assert [detail for _, kind, _, octets, detail in events if kind == CLOSE] == ["1001"]


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize(("begin", "end"), [(1, 2), (1, 40), (10, 20), (30, 40), (39, 40)])
def test_a_ping_of_which_octets_are_missing_is_not_told_and_the_next_one_is(begin, end, steps):
    heads, torn, behind = (request(), answer()), frame(bytes(40), 9), frame(b"whole", 9) + frame(b"SEND\n\n\0", 1)
    at = len(heads[1])
    gap = len(torn) - 40
    pieces = [(0, 0, heads[0]), (1, 0, heads[1]), (1, at, torn[: gap + begin]), (1, at + gap + end, torn[gap + end :] + behind)]
    given, events, *_ = read([one for one in pieces if one[2]], steps)
    assert [octets for _, kind, _, octets, _ in events if kind == PING] == [5]
    assert text(given[1]) == b"SEND\n\n\0"


@given(MESSAGES, HOW, st.booleans(), st.booleans())
def test_wsproto_reads_what_the_tests_write(messages, how, deflate, client):
    writer = Writer(client, deflate=deflate, binary=True, **how)
    if deflate:  # of a compressed message in fragments wsproto 1.3.2 gives some octets twice
        writer.fragments, writer.pings = 1, False
    extensions = [PerMessageDeflate()] if deflate else []
    for one in extensions:
        one._enabled = True
    reads = Oracle(ConnectionType.SERVER if client else ConnectionType.CLIENT, extensions)
    reads.receive_data(b"".join(frame(b"%d" % k, 9, mask=writer.mask()) for k in range(2)))
    found = b""
    for message in messages:
        reads.receive_data(writer.message(message))
    for event in reads.events():
        found += event.data if isinstance(event, Message) else b""
    assert found == b"".join(messages)


@given(st.binary(max_size=600), st.binary(max_size=600), st.lists(st.integers(1, 700), max_size=8), st.integers(1, 4), st.booleans(),
       st.sampled_from(["", DEFLATE]))  # fmt: skip
def test_any_octets_are_read_alike_however_they_come(asks, says, cuts, steps, handshake, extensions):
    lines = [f"Sec-WebSocket-Extensions: {extensions}"] if extensions else []
    heads = (request(), answer(*lines)) if handshake else (b"", b"")
    pieces = [(side, 0, heads[side]) for side in (0, 1) if handshake]
    pieces += [*cut(0, asks, cuts, len(heads[0])), *cut(1, says, cuts, len(heads[1]))]
    whole, events, lengths, _ = read(pieces, 1)
    again, same, others, _ = read(pieces, max(1, min(steps, len(pieces))))
    assert [joined(one) for one in whole] == [joined(one) for one in again]
    assert lengths == others
    assert events == same


def message(dice, number) -> bytes:
    return b"MESSAGE\nid:%d\nx:%s\n\n%s\0" % (number, dice.randbytes(3).hex().encode(), b"body " * dice.randrange(9))


def lossy(dice, extensions="", handshake=True):
    """A dialogue of 60 messages each way in segments, some of which are lost; what it says, by message."""
    deflate = DEFLATE in extensions
    said = [[message(dice, k) if dice.random() < 0.7 else b"\n" for k in range(60)] for _ in (0, 1)]
    pieces = []
    for side in (0, 1):
        writer = Writer(side == 0, dice.randrange(99), deflate=deflate, takeover="no_context" not in extensions)
        lines = [f"Sec-WebSocket-Extensions: {extensions}"] if extensions else []
        head = (request() if side == 0 else answer(*lines)) if handshake else b""
        pieces += [(side, 0, head)] if handshake else []
        at = len(head)
        for one in said[side]:
            octets = writer.message(one)
            for piece in cut(side, octets, [dice.randrange(1, len(octets) + 1)] if dice.random() < 0.4 else [], at):
                if dice.random() > 0.1:
                    pieces.append(piece)
            at += len(octets)
    return said, sorted(pieces, key=lambda one: (one[1] > 0, dice.random() if one[1] == 0 else 0)), deflate


@pytest.mark.parametrize("extensions", ["", DEFLATE, f"{DEFLATE}; server_no_context_takeover; client_no_context_takeover"])
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_invented_behind_holes(seed, extensions):
    """What is given is what was said, in its order; without takeover and without deflate all messages that came whole are given."""
    said, pieces, _ = lossy(random.Random(seed), extensions)
    given, *_ = read(pieces)
    for side in (0, 1):
        whole, at, run = b"".join(said[side]), 0, b""
        ends = None
        for offset, part, _ in given[side]:
            if offset != ends and run:
                found = whole.find(run, at)
                assert found >= 0, run
                at, run = found + len(run), b""
            run += part
            ends = offset + len(part)
        assert not run or whole.find(run, at) >= 0
        share = sum(len(part) for _, part, _ in given[side]) / len(whole)
        assert share > (0 if extensions == DEFLATE else 0.6)


@pytest.mark.parametrize("extensions", ["", DEFLATE])
@pytest.mark.parametrize("seed", slow_behind(2, range(10 if THOROUGH else 4)))
def test_holes_are_read_alike_however_the_octets_come(seed, extensions):
    _, pieces, _ = lossy(random.Random(seed), extensions)
    pieces.sort(key=lambda one: (one[1] > 0, one[0], one[1]))  # both heads first
    whole, events, lengths, _ = read(pieces)
    for steps in (2, 7, len(pieces)):
        again, same, others, _ = read(pieces, steps)
        assert [joined(one) for one in again] == [joined(one) for one in whole]
        assert (same, others) == (events, lengths)


@given(
    st.integers(0, 2**32), st.sampled_from(["", DEFLATE, f"{DEFLATE}; server_no_context_takeover"]), st.integers(1, 20), st.integers(1, 9)
)  # fmt: skip
def test_dialogues_with_other_octets_and_holes_are_read_alike_however_they_come(seed, extensions, changes, steps):
    """Behind a handshake: without one, what the side that comes first does about masks counts for the other."""
    dice = random.Random(seed)
    _, pieces, _ = lossy(dice, extensions)
    pieces.sort(key=lambda one: (one[1] > 0, one[0], one[1]))
    for _ in range(changes):
        at = dice.randrange(2, len(pieces))
        side, offset, octets = pieces[at]
        place = dice.randrange(len(octets))
        pieces[at] = side, offset, octets[:place] + dice.choice((dice.randbytes(1), b"\x81", b"\xc1", b"\0", b"\x7f")) + octets[place + 1 :]
    whole, events, lengths, _ = read(pieces)
    again, same, others, _ = read(pieces, steps)
    assert [joined(one) for one in again] == [joined(one) for one in whole]
    assert (same, others) == (events, lengths)


@pytest.mark.parametrize("octets", [
    bytes(2000), b"\x81\x01x" * 30, b"\x81\x05hello" * 30, b"\x02\x00" * 50, random.Random(1).randbytes(1 << 16), b"SEND\n\nx\0" * 99,
    b"\x82\x80abcd" * 20, b"\x81\x01\n\x81\x01\n",
])  # fmt: skip
def test_what_is_no_websocket_midway(octets):
    assert not begins_midstream(np.frombuffer(bytearray(octets), np.uint8))


@pytest.mark.parametrize("octets", [
    b"\x81\x01\n" * 3, b"\xc1\x03\xe2\x02\x00" * 3, b"rest of a message" + b"\x81\x01\n" * 3, frame(b"SEND\nx:y\n\n\0", 1, mask=b"abcd"),
    b"\x81\x01h" * 3, frame(b'a["MESSAGE\\n"]', 1), b"\x81\x7e\x10\x00MESSAGE\nx:y",
])  # fmt: skip
def test_what_is_a_websocket_midway(octets):
    assert begins_midstream(np.frombuffer(bytearray(octets), np.uint8))


@pytest.mark.parametrize("steps", range(1, 7))
def test_a_handshake_that_was_refused_first_is_told_as_it_was_answered_last(steps):
    asks, refusal = request(), b"HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno"
    pieces = [(0, 0, asks), (1, 0, refusal), (0, len(asks), asks), (1, len(refusal), answer()),
              (0, 2 * len(asks), frame(b"CONNECT", 1, mask=b"mask")), (1, len(refusal + answer()), frame(b"CONNECTED", 1))]  # fmt: skip
    given, _, _, kept = read(pieces, steps)
    assert (text(given[0]), text(given[1])) == (b"CONNECT", b"CONNECTED")
    http, _ = LAYER.summaries(kept)
    assert (http.status, http.units, http.columns["http_status"]) == ("read", (2, 2), 101)
    assert [(one.what, one.outcome) for one in http.checks] == [("accept", "kept")]


def test_octets_that_waited_for_an_answer_until_the_end_are_a_gap():
    frames = frame(b"CONNECT", 1, mask=b"mask")
    pieces = [(0, 0, request()), (1, 0, answer()[:-1]), (0, len(request()), frames), (1, len(answer()) - 1, answer()[-1:])]
    whole, _, lengths, _ = read(pieces)
    assert (text(whole[0]), lengths) == (b"CONNECT", (7, 0))
    given, _, lengths, _ = read(pieces, 4)
    assert (text(given[0]), lengths) == (b"", (len(frames), 0))
