"""What the first octets of a direction say."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.codes import (
    ROLE_AMQP,
    ROLE_CLIENT,
    ROLE_CORE,
    ROLE_EOLS,
    ROLE_HTTP,
    ROLE_HTTP_SERVER,
    ROLE_MQTT,
    ROLE_OPENWIRE,
    ROLE_OTHER,
    ROLE_SERVER,
    ROLE_TLS,
    ROLE_TLS_CLIENT,
    ROLE_TLS_SERVER,
    ROLE_UNKNOWN,
    ROLE_WEBSOCKET,
    ROLE_WEBSOCKET_SERVER,
)
from stompcap.stomp import peek

UPGRADE = b"GET /ws HTTP/1.1\r\nHost: x\r\nupgrade:  WebSocket\r\n\r\n"
MESSAGE = b"MESSAGE\nsubscription:1\r\nmessage-id:7\n\r\nbody\x00"
RECORD = b"\x17\x03\x03\x00\x02ab"

EVERYWHERE = [
    (b"CONNECT\nhost:x\n\n\x00", True, ROLE_CLIENT),
    (b"CONNECT\n", True, ROLE_CLIENT),
    (b"\n\r\n\x00STOMP\r\n", True, ROLE_CLIENT),
    (b"connected\nsession:1", True, ROLE_SERVER),
    (b"\x16\x03\x01\x02\x00\x01", True, ROLE_TLS_CLIENT),
    (b"\x16\x03\x01\x02\x00\x01", False, ROLE_TLS_CLIENT),
    (b"\x16\x03\x01\x02\x00", True, ROLE_TLS),
    (RECORD + RECORD, False, ROLE_TLS),
    (RECORD + b"\x17\x03\x05\x00\x01", False, ROLE_UNKNOWN),
    (RECORD, False, ROLE_UNKNOWN),
    (b"GET /ws HTTP/1.1\r\n", True, ROLE_HTTP),
    (UPGRADE, True, ROLE_WEBSOCKET),
    (UPGRADE.replace(b"upgrade", b"x-upgrade"), True, ROLE_HTTP),
    (b"GET / HTTP/1.1\r\n\r\n\nupgrade: websocket\n", True, ROLE_HTTP),
    (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n", False, ROLE_WEBSOCKET_SERVER),
    (b"HTTP/1.1 200 OK\r\n", False, ROLE_HTTP_SERVER),
    (b"CONNECT proxy:80 HTTP/1.1\r\n", True, ROLE_HTTP),
    (b"GET /" + 3000 * b"x", True, ROLE_HTTP),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", True, ROLE_HTTP),
    (b"\x16\x03\x01\x02\x00\x02", True, ROLE_TLS_SERVER),
    (b"AMQP\x00\x00\x09\x01", True, ROLE_AMQP),
    (b"AMQP\x03\x01\x00\x00", False, ROLE_AMQP),
    (b"\x10\x1e\x00\x04MQTT\x04\xc2", True, ROLE_MQTT),
    (b"\x10\xff\x01\x00\x04MQTT\x05\xc2", True, ROLE_MQTT),
    (b"\x10\x1e\x00\x06MQIsdp\x03", True, ROLE_MQTT),
    (b"\x00\x00\x01\x3e\x01ActiveMQ\x00\x00\x00\x0c", True, ROLE_OPENWIRE),
    (b"\x01ActiveMQ\x00\x00\x00\x0c", True, ROLE_OPENWIRE),
    (b"ARTEMIS\x00\x00\x00\x2f", True, ROLE_CORE),
    (b"HORNETQ", True, ROLE_CORE),
    (b"", True, ROLE_UNKNOWN),
    (b"\n\n", True, ROLE_EOLS),
    (b"\r\n\n", False, ROLE_EOLS),
    (b"\n\r", True, ROLE_UNKNOWN),
    (b"\n\0\n", True, ROLE_UNKNOWN),
    (b"CONN", True, ROLE_UNKNOWN),
    (b"tail of a body\x00\n" + MESSAGE, False, ROLE_SERVER),
    (MESSAGE, False, ROLE_SERVER),
    (b"SEND\na:b\n\n\x00", True, ROLE_CLIENT),
    (b"tail of a body\x00\nnot\n", False, ROLE_UNKNOWN),
    (b"SEND\nno header\n", False, ROLE_UNKNOWN),
]
"""Octets, whether the stream begins with them, and what they say on any port."""

WHERE_EXPECTED = [
    (b"ERROR\n", True, ROLE_SERVER, ROLE_UNKNOWN),
    (b"SEND\na:b\n\nbody", True, ROLE_CLIENT, ROLE_UNKNOWN),
    (b"SEND\nno header\n", True, ROLE_CLIENT, ROLE_OTHER),
    (b"SSH-2.0-x\r\n", True, ROLE_UNKNOWN, ROLE_OTHER),
    (b"\x16\x03\x03\x00\x00", True, ROLE_UNKNOWN, ROLE_OTHER),
    (b"CONNECT {}\r\n", True, ROLE_UNKNOWN, ROLE_OTHER),
    (b"OPTIONS rtsp://h/ RTSP/1.0\r\n", True, ROLE_UNKNOWN, ROLE_OTHER),
    (b"tail of a body\x00\nMESSAGE\ndestination:/q\n", False, ROLE_SERVER, ROLE_UNKNOWN),
    (b"SEND\ndestination:/q\n", False, ROLE_CLIENT, ROLE_UNKNOWN),
    (b"SEND\na:b\nno\x01:header\n\n\x00", False, ROLE_CLIENT, ROLE_UNKNOWN),
    (b"SEND\na:b\nno header\n\n\x00", False, ROLE_CLIENT, ROLE_UNKNOWN),
    (b"SEND\na:b\rc:d\n\n\x00", False, ROLE_CLIENT, ROLE_UNKNOWN),
    (b"SSH-2.0-x\r\n\x00" + MESSAGE, True, ROLE_SERVER, ROLE_OTHER),
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
    ([TAIL, MESSAGE], ROLE_SERVER),
    ([TAIL, TAIL, b"\n\0" + MESSAGE, b"SEND\na:b\n\n\0"], ROLE_SERVER),
    ([b"\n", b"\n"], ROLE_EOLS),
    ([b"\n", TAIL], ROLE_UNKNOWN),
    ([TAIL, b"\n"], ROLE_UNKNOWN),
    ([TAIL, UPGRADE], ROLE_UNKNOWN),
    ([b"AMQP\0\0\x09\x01", MESSAGE], ROLE_AMQP),
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
