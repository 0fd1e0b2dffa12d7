"""What the first octets of a direction say."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.stomp import peek
from stompcap.stomp.prefixes import (
    AMQP,
    CLIENT,
    CORE,
    EOLS,
    HTTP,
    HTTP_SERVER,
    MQTT,
    OPENWIRE,
    OTHER,
    SERVER,
    TLS,
    TLS_CLIENT,
    TLS_SERVER,
    UNKNOWN,
    WEBSOCKET,
    WEBSOCKET_SERVER,
)

UPGRADE = b"GET /ws HTTP/1.1\r\nHost: x\r\nupgrade:  WebSocket\r\n\r\n"
MESSAGE = b"MESSAGE\nsubscription:1\r\nmessage-id:7\n\r\nbody\x00"
RECORD = b"\x17\x03\x03\x00\x02ab"

EVERYWHERE = [
    (b"CONNECT\nhost:x\n\n\x00", True, CLIENT),
    (b"CONNECT\n", True, CLIENT),
    (b"\n\r\n\x00STOMP\r\n", True, CLIENT),
    (b"connected\nsession:1", True, SERVER),
    (b"\x16\x03\x01\x02\x00\x01", True, TLS_CLIENT),
    (b"\x16\x03\x01\x02\x00\x01", False, TLS_CLIENT),
    (b"\x16\x03\x01\x02\x00", True, TLS),
    (RECORD + RECORD, False, TLS),
    (RECORD + b"\x17\x03\x05\x00\x01", False, UNKNOWN),
    (RECORD, False, UNKNOWN),
    (b"GET /ws HTTP/1.1\r\n", True, HTTP),
    (UPGRADE, True, WEBSOCKET),
    (UPGRADE.replace(b"upgrade", b"x-upgrade"), True, HTTP),
    (b"GET / HTTP/1.1\r\n\r\n\nupgrade: websocket\n", True, HTTP),
    (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n", False, WEBSOCKET_SERVER),
    (b"HTTP/1.1 200 OK\r\n", False, HTTP_SERVER),
    (b"CONNECT proxy:80 HTTP/1.1\r\n", True, HTTP),
    (b"GET /" + 3000 * b"x", True, HTTP),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", True, HTTP),
    (b"\x16\x03\x01\x02\x00\x02", True, TLS_SERVER),
    (b"AMQP\x00\x00\x09\x01", True, AMQP),
    (b"AMQP\x03\x01\x00\x00", False, AMQP),
    (b"\x10\x1e\x00\x04MQTT\x04\xc2", True, MQTT),
    (b"\x10\xff\x01\x00\x04MQTT\x05\xc2", True, MQTT),
    (b"\x10\x1e\x00\x06MQIsdp\x03", True, MQTT),
    (b"\x00\x00\x01\x3e\x01ActiveMQ\x00\x00\x00\x0c", True, OPENWIRE),
    (b"\x01ActiveMQ\x00\x00\x00\x0c", True, OPENWIRE),
    (b"ARTEMIS\x00\x00\x00\x2f", True, CORE),
    (b"HORNETQ", True, CORE),
    (b"", True, UNKNOWN),
    (b"\n\n", True, EOLS),
    (b"\r\n\n", False, EOLS),
    (b"\n\r", True, UNKNOWN),
    (b"\n\0\n", True, UNKNOWN),
    (b"CONN", True, UNKNOWN),
    (b"tail of a body\x00\n" + MESSAGE, False, SERVER),
    (MESSAGE, False, SERVER),
    (b"SEND\na:b\n\n\x00", True, CLIENT),
    (b"tail of a body\x00\nnot\n", False, UNKNOWN),
    (b"SEND\nno header\n", False, UNKNOWN),
]
"""Octets, whether the stream begins with them, and what they say on any port."""

WHERE_EXPECTED = [
    (b"ERROR\n", True, SERVER, UNKNOWN),
    (b"SEND\na:b\n\nbody", True, CLIENT, UNKNOWN),
    (b"SEND\nno header\n", True, CLIENT, OTHER),
    (b"SSH-2.0-x\r\n", True, UNKNOWN, OTHER),
    (b"\x16\x03\x03\x00\x00", True, UNKNOWN, OTHER),
    (b"CONNECT {}\r\n", True, UNKNOWN, OTHER),
    (b"OPTIONS rtsp://h/ RTSP/1.0\r\n", True, UNKNOWN, OTHER),
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


TAIL = b"tail of a body"
STRETCHES = [
    ([TAIL, MESSAGE], SERVER),
    ([TAIL, TAIL, b"\n\0" + MESSAGE, b"SEND\na:b\n\n\0"], SERVER),
    ([b"\n", b"\n"], EOLS),
    ([b"\n", TAIL], UNKNOWN),
    ([TAIL, b"\n"], UNKNOWN),
    ([TAIL, UPGRADE], UNKNOWN),
    ([b"AMQP\0\0\x09\x01", MESSAGE], AMQP),
]
"""Octets of a direction between which some are missing, and what they say."""


def test_what_is_behind_missing_octets_tells_stomp_and_no_other_protocol() -> None:
    parts = [(number, part) for number, (parts, _) in enumerate(STRETCHES) for part in parts]
    length = np.array([len(part) for _, part in parts])
    octets = np.frombuffer(b"".join(part for _, part in parts), np.uint8)
    no = np.zeros(len(parts), np.bool_)
    found = peek(octets, np.cumsum(length) - length, length, no, no, np.array([number for number, _ in parts]))
    assert found.tolist() == [role for _, role in STRETCHES]


@pytest.mark.parametrize(("data", "synced", "believed", "otherwise"), WHERE_EXPECTED)
def test_what_is_believed_where_stomp_is_expected(data: bytes, synced: bool, believed: int, otherwise: int) -> None:
    assert (said(data, synced, True), said(data, synced, False)) == (believed, otherwise)
