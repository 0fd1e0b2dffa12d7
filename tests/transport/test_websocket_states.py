"""What is stored of a WebSocket tells no secret, and goes on where it can."""

from __future__ import annotations

import pytest

from stompcap.transport.deflate import Inflater
from stompcap.transport.websocket import WebSocket
from tests.transport.in_websocket import Writer, answer, frame, request
from tests.transport.test_websocket_frames import DEFLATE, LAYER, cut, read, text

SECRET = b"s3cret-of-anna"
CONNECT = b"CONNECT\nlogin:anna\npasscode:" + SECRET + b"\n\n\0"
ERROR = b"ERROR\nmessage:bad passcode " + SECRET + b"\n\n\0"
HEADS = (request("/ws?token=" + SECRET.decode(), "Authorization: Basic " + SECRET.decode(), "Cookie: JSESSIONID=" + SECRET.decode(),
                 "Sec-WebSocket-Protocol: " + SECRET.decode()), answer(f"Sec-WebSocket-Extensions: {DEFLATE}"))  # fmt: skip


def stored(kept, secrets=frozenset({SECRET})):
    return LAYER.masked(kept, secrets)


def told(kept) -> bytes:
    return b"|".join(values.tobytes() for values in kept.values())


def dialogue(*, deflate=True):
    client, server = Writer(True, deflate=deflate), Writer(False, deflate=deflate)
    wire = client.message(CONNECT) + client.message(b"SEND\n\nhello\0"), server.message(ERROR) + server.message(b"MESSAGE\n\nhello\0")
    return client, server, wire


@pytest.mark.parametrize("end", range(0, 140, 3))
def test_wherever_it_is_stored_it_tells_no_secret(end):
    _, _, wire = dialogue()
    pieces = [(0, 0, HEADS[0]), (1, 0, HEADS[1]), (0, len(HEADS[0]), wire[0][: end + 1]), (1, len(HEADS[1]), wire[1][: end + 1])]
    *_, kept = read(pieces, final=False)
    found = stored(kept)
    assert SECRET not in told(found)
    for side in (0, 1):
        held = found[f"held {side}"].tobytes()
        if held:
            beginning = Inflater(True, 1 << 20, 15, found[f"window {side}"].tobytes()).beginning(held)
            assert beginning is not None
            assert b"passcode" not in beginning
            assert not any(beginning.endswith(SECRET[:size]) for size in range(3, len(SECRET)))


@pytest.mark.parametrize("end", range(1, len(HEADS[0]), 9))
def test_of_a_head_that_is_not_whole_nothing_is_stored(end):
    *_, kept = read([(0, 0, HEADS[0][:end])], final=False)
    assert SECRET not in told(stored(kept))


def test_a_ping_under_way_is_stored_by_its_length():
    ping = frame(SECRET, 9, mask=b"\0\0\0\0")
    *_, kept = read([(0, 0, HEADS[0]), (1, 0, HEADS[1]), (0, len(HEADS[0]), ping[:-3])], final=False)
    found = stored(kept)
    assert SECRET[:-3] not in told(found)
    assert found["control 0"].size == len(SECRET) - 3


def test_messages_go_on_behind_a_window_without_secrets():
    """A later message that repeats a secret is missing, of its exact length."""
    _, server, wire = dialogue()
    later = server.message(b"MESSAGE\nx:1\n\n" + b"hello\0"), server.message(ERROR)
    pieces = [(0, 0, HEADS[0]), (1, 0, HEADS[1]), *cut(0, wire[0], [], len(HEADS[0])), *cut(1, wire[1] + later[0] + later[1], [
        len(wire[1]), len(wire[1] + later[0])], len(HEADS[1]))]  # fmt: skip
    given, _, lengths, kept = read(pieces, len(pieces), restart=frozenset({SECRET}))
    assert text(given[1]).endswith(b"MESSAGE\nx:1\n\nhello\0")
    assert lengths[1] == len(text(given[1])) + len(ERROR)
    assert SECRET not in told(kept)


def test_a_compressed_message_that_tells_no_secret_goes_on():
    _, server, wire = dialogue()
    more = server.message(b"MESSAGE\nsubscription:1\n\n" + bytes(range(32, 120)) + b"\0")
    pieces = [(0, 0, HEADS[0]), (1, 0, HEADS[1]), *cut(0, wire[0], [], len(HEADS[0])),
              *cut(1, wire[1] + more, [len(wire[1]), len(wire[1]) + 40], len(HEADS[1]))]  # fmt: skip
    given, *_ = read(pieces, len(pieces), restart=frozenset({SECRET}))
    assert text(given[1]).endswith(bytes(range(32, 120)) + b"\0")


def test_of_the_heads_no_secret_is_kept():
    *_, kept = read([(0, 0, HEADS[0]), (1, 0, HEADS[1])], final=False)
    assert SECRET not in told(kept)
    http, _ = WebSocket().summaries(kept)
    assert http.columns["http_path"] == "/ws"
    assert http.columns["subprotocols_asked"] == "v12.stomp, v11.stomp, *"
