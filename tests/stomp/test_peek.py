"""What the first octets of a direction say."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.stomp import peek
from stompcap.stomp.peek import CLIENT, HTTP, OTHER, SERVER, TLS, UNKNOWN, WEBSOCKET

UPGRADE = b"GET /ws HTTP/1.1\r\nHost: x\r\nupgrade:  WebSocket\r\n\r\n"
MESSAGE = b"MESSAGE\nsubscription:1\r\nmessage-id:7\n\r\nbody\x00"
RECORD = b"\x17\x03\x03\x00\x02ab"

EVERYWHERE = [
    (b"CONNECT\nhost:x\n\n\x00", True, CLIENT),
    (b"CONNECT\n", True, CLIENT),
    (b"\n\r\n\x00STOMP\r\n", True, CLIENT),
    (b"connected\nsession:1", True, SERVER),
    (b"\x16\x03\x01\x02\x00\x01", True, TLS),
    (b"\x16\x03\x01\x02\x00\x01", False, TLS),
    (RECORD + RECORD, False, TLS),
    (RECORD + b"\x17\x03\x05\x00\x01", False, UNKNOWN),
    (RECORD, False, UNKNOWN),
    (b"\x16\x03\x03\x00\x00", True, OTHER),
    (b"GET /ws HTTP/1.1\r\n", True, HTTP),
    (UPGRADE, True, WEBSOCKET),
    (UPGRADE.replace(b"upgrade", b"x-upgrade"), True, HTTP),
    (b"GET / HTTP/1.1\r\n\r\n\nupgrade: websocket\n", True, HTTP),
    (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n", False, WEBSOCKET),
    (b"HTTP/1.1 200 OK\r\n", False, HTTP),
    (b"CONNECT proxy:80 HTTP/1.1\r\n", True, HTTP),
    (b"", True, UNKNOWN),
    (b"\n\n", True, UNKNOWN),
    (b"CONN", True, UNKNOWN),
    (b"SSH-2.0-x\r\n", True, OTHER),
    (b"tail of a body\x00\n" + MESSAGE, False, SERVER),
    (MESSAGE, False, SERVER),
    (b"SEND\na:b\n\n\x00", True, CLIENT),
    (b"tail of a body\x00\nnot\n", False, UNKNOWN),
    (b"SEND\nno header\n", False, UNKNOWN),
]
"""Octets, whether the stream begins with them, and what they say on any port."""

WHERE_EXPECTED = [
    (b"ERROR\n", True, SERVER, OTHER),
    (b"SEND\na:b\n\nbody", True, CLIENT, OTHER),
    (b"tail of a body\x00\nMESSAGE\ndestination:/q\n", False, SERVER, UNKNOWN),
    (b"SEND\ndestination:/q\n", False, CLIENT, UNKNOWN),
    (b"SEND\na:b\nno\x01:header\n\n\x00", False, CLIENT, UNKNOWN),
    (b"SEND\na:b\nno header\n\n\x00", False, CLIENT, UNKNOWN),
    (b"SEND\na:b\rc:d\n\n\x00", False, CLIENT, UNKNOWN),
    (b"SSH-2.0-x\r\n\x00" + MESSAGE, True, SERVER, OTHER),
]
"""The same, and what they say where STOMP is expected and where it is not."""


def said(data: bytes, synced: bool, expected: bool) -> int:
    octets = np.frombuffer(b"??" + data + b"??", np.uint8)
    role: int = peek(octets, np.array([2]), np.array([len(data)]), np.array([synced]), np.array([expected]))[0]
    return role


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize(("data", "synced", "role"), EVERYWHERE)
def test_what_says_the_same_on_any_port(data: bytes, synced: bool, role: int, expected: bool) -> None:
    assert said(data, synced, expected) == role


@pytest.mark.parametrize(("data", "synced", "believed", "otherwise"), WHERE_EXPECTED)
def test_what_is_believed_where_stomp_is_expected(data: bytes, synced: bool, believed: int, otherwise: int) -> None:
    assert (said(data, synced, True), said(data, synced, False)) == (believed, otherwise)
