"""What connections of protocols other than STOMP say, octet for octet, with secrets in it: a table of dialogues."""

from __future__ import annotations

import struct
from dataclasses import dataclass

SECRET = "Tr0ub4dor"
"""Part of all that is secret in the dialogues, and of every message in them."""

CLIENT, SERVER = 0, 1


@dataclass(frozen=True)
class Spoken:
    """A dialogue: who says what; the word for it in streams.protocol; whether the client speaks first."""

    says: tuple[tuple[int, bytes], ...]
    protocol: str = "other"
    transport: str = "tcp"


def _text(octets: str) -> bytes:
    return struct.pack(">H", len(octets)) + octets.encode()


def _mqtt(kind: int, body: bytes) -> bytes:
    length, rest = b"", len(body)
    while True:
        rest, low = divmod(rest, 128)
        length += bytes([low | (128 if rest else 0)])
        if not rest:
            return bytes([kind]) + length + body


def _amqp(kind: int, channel: int, body: bytes) -> bytes:
    return struct.pack(">BHI", kind, channel, len(body)) + body + b"\xce"


def _amqp1(kind: int, body: bytes) -> bytes:
    return struct.pack(">IBBH", len(body) + 8, 2, kind, 0) + body


def _wire(kind: int, body: bytes) -> bytes:
    return struct.pack(">IB", len(body) + 1, kind) + body


def _core(kind: int, body: bytes) -> bytes:
    return struct.pack(">IBq", len(body) + 9, kind, 1) + body


def _mysql(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


def _modbus(number: int, body: bytes) -> bytes:
    return struct.pack(">HHHB", number, 0, len(body) + 1, 1) + body


def _postgres(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">I", len(body) + 4) + body


def _http2(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def _record(kind: int, body: bytes) -> bytes:
    return struct.pack(">BHH", kind, 0x0303, len(body)) + body


def _resp(*words: str) -> bytes:
    return f"*{len(words)}\r\n".encode() + b"".join(f"${len(word)}\r\n{word}\r\n".encode() for word in words)


MAGIC = b"ActiveMQ" + struct.pack(">IB", 12, 1) + struct.pack(">I", 60) + b"\0\0\0\3" + b"\x09\0\x0eTcpNoDelayEnabled\1\1"
LOGIN = f"login={SECRET};password={SECRET}"
MESSAGE = f"order of {SECRET}, 42 pieces"
LONG = (MESSAGE + "\n") * 200


def _mqtt_talk(level: int) -> tuple[tuple[int, bytes], ...]:
    properties = b"\5\x11\0\0\0\x3c" if level == 5 else b""
    connect = _text("MQTT") + bytes([level, 0xC2, 0, 60]) + properties + _text("sensor-7") + _text("bob") + _text(SECRET)
    none = b"\0" if level == 5 else b""
    publish = _text("orders/new") + struct.pack(">H", 7) + none + LONG.encode()
    return (
        (CLIENT, _mqtt(0x10, connect)), (SERVER, _mqtt(0x20, b"\0\0" + none)),
        (CLIENT, _mqtt(0x82, b"\0\1" + none + _text("orders/#") + b"\1")), (SERVER, _mqtt(0x90, b"\0\1" + none + b"\1")),
        (CLIENT, _mqtt(0x32, publish)), (SERVER, _mqtt(0x40, b"\0\7")), (SERVER, _mqtt(0x32, publish)), (CLIENT, _mqtt(0x40, b"\0\7")),
        (CLIENT, b"\xc0\0"), (SERVER, b"\xd0\0"), (CLIENT, b"\xe0\0"),
    )  # fmt: skip


OPENWIRE = (
    (CLIENT, _wire(1, MAGIC)), (SERVER, _wire(1, MAGIC)), (SERVER, _wire(2, b"\0\0\0\0\0" + LOGIN.encode())),
    (CLIENT, _wire(3, b"\0\0\0\1\1" + _text("ID:host-1") + b"\1" + _text("bob") + b"\1" + _text(SECRET))), (SERVER, _wire(30, b"\0\0\0\1")),
    (CLIENT, _wire(28, b"\0\0\0\2\1\0" + LONG.encode() + b"\n\0\n")), (SERVER, _wire(30, b"\0\0\0\2")),
    (SERVER, _wire(21, b"\0\0\0\3" + LONG.encode())), (CLIENT, _wire(22, b"\0\0\0\4")), (CLIENT, _wire(10, b"\n")),
)  # fmt: skip
AMQP_0_9_1 = (
    (CLIENT, b"AMQP\0\0\x09\1"), (SERVER, _amqp(1, 0, b"\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\x0ePLAIN AMQPLAIN\0\0\0\5en_US")),
    (CLIENT, _amqp(1, 0, b"\0\x0a\0\x0b\0\0\0\0\5PLAIN\0\0\0\x0e\0bob\0" + SECRET.encode() + b"\5en_US")),
    (SERVER, _amqp(1, 0, b"\0\x0a\0\x1e\x07\xff\0\2\0\0\0\x3c")), (CLIENT, _amqp(1, 1, b"\0\x3c\0\x28\0\0\0\6orders\0")),
    (CLIENT, _amqp(2, 1, b"\0\x3c\0\0" + struct.pack(">QH", len(LONG), 0))), (CLIENT, _amqp(3, 1, LONG.encode())),
    (SERVER, _amqp(3, 1, LONG.encode())), (SERVER, _amqp(8, 0, b"")), (CLIENT, _amqp(8, 0, b"")),
)  # fmt: skip
AMQP_1_0 = (
    (CLIENT, b"AMQP\3\1\0\0"), (SERVER, b"AMQP\3\1\0\0"), (SERVER, _amqp1(1, b"\0\x53\x40\xc0\x0a\1\xe0\x07\1\xa3\5PLAIN")),
    (CLIENT, _amqp1(1, b"\0\x53\x41\xc0\x20\2\xa3\5PLAIN\xa0\x0e\0bob\0" + SECRET.encode())),
    (SERVER, _amqp1(1, b"\0\x53\x44\xc0\3\1\x50\0")),
    (CLIENT, b"AMQP\0\1\0\0"), (SERVER, b"AMQP\0\1\0\0"), (CLIENT, _amqp1(0, b"\0\x53\x10\xc0\x0b\2\xa1\4host\xa1\4peer")),
    (CLIENT, _amqp1(0, b"\0\x53\x14\xc0\5\1\0\x53\x75\xb0" + struct.pack(">I", len(LONG)) + LONG.encode())),
    (SERVER, _amqp1(0, b"\0\x53\x15\xc0\5\1" + MESSAGE.encode())), (CLIENT, _amqp1(0, b"")),
)  # fmt: skip
CORE = (
    (CLIENT, b"ARTEMIS"), (CLIENT, _core(0x1E, _text("session-1") + _text("bob") + _text(SECRET) + b"\0\1\0\0")),
    (SERVER, _core(0x1F, b"\0\0\0\x7c")), (CLIENT, _core(0x47, b"\0" + LONG.encode() + b"\0\0\n")), (SERVER, _core(0x15, b"")),
    (SERVER, _core(0x4B, LONG.encode())), (CLIENT, _core(0x29, b"\0\0\0\1")), (CLIENT, _core(0x0A, b"")),
)  # fmt: skip
TLS = (
    (CLIENT, _record(22, b"\1\0\0\x40\3\3" + bytes(range(32)) + SECRET.encode() + b"\0\0\x02\x13\x01\1\0")),
    (SERVER, _record(22, b"\2\0\0\x26\3\3" + bytes(range(32)) + b"\0\x13\x01\0") + _record(23, LONG.encode())),
    (CLIENT, _record(23, LONG.encode())), (SERVER, _record(23, MESSAGE.encode()) + _record(23, MESSAGE.encode())),
    (CLIENT, _record(21, SECRET.encode())),
)  # fmt: skip
HTTP_1 = (
    (CLIENT, f"POST /queue HTTP/1.1\r\nHost: h\r\nAuthorization: Basic {SECRET}\r\nContent-Length: {len(LONG)}\r\n\r\n{LONG}".encode()),
    (SERVER, f"HTTP/1.1 200 OK\r\nSet-Cookie: id={SECRET}\r\nContent-Length: {len(LONG)}\r\n\r\n{LONG}".encode()),
    (CLIENT, f"GET /next?token={SECRET} HTTP/1.1\r\nHost: h\r\n\r\n".encode()), (SERVER, b"HTTP/1.1 204 No Content\r\n\r\n"),
    (CLIENT, LONG.encode()), (SERVER, MESSAGE.encode()),
)  # fmt: skip
HTTP_2 = (
    (CLIENT, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _http2(4, 0, 0, b"\0\3\0\0\0\x64")), (SERVER, _http2(4, 0, 0, b"")),
    (CLIENT, _http2(1, 4, 1, b"\x83\x86\x44\x0a/orders\x40\x0dauthorization\x09" + SECRET.encode())),
    (CLIENT, _http2(0, 1, 1, LONG.encode())), (SERVER, _http2(1, 4, 1, b"\x88") + _http2(0, 1, 1, LONG.encode())),
    (CLIENT, _http2(6, 0, 0, bytes(8))), (SERVER, _http2(6, 1, 0, bytes(8))),
)  # fmt: skip
MYSQL = (
    (SERVER, _mysql(0, b"\x0a8.0.36\0\x08\0\0\0abcdefgh\0\xff\xff\xff\2\0\xff\xc7\x15" + bytes(10) + b"ijklmnopqrst\0caching_sha2\0")),
    (CLIENT, _mysql(1, b"\x85\xa6\xff\1\0\0\0\1\xff" + bytes(23) + b"bob\0\x14" + SECRET.encode() + b"\0mysql_clear_password\0")),
    (SERVER, _mysql(2, b"\0\0\0\2\0\0\0")), (CLIENT, _mysql(0, b"\3SELECT '" + SECRET.encode() + b"'")),
    (SERVER, _mysql(1, b"\1") + _mysql(2, b"\3def\0\0\0\1x\0\x0c\xff") + _mysql(3, LONG.encode())), (CLIENT, _mysql(0, b"\3COMMIT")),
    (SERVER, _mysql(1, b"\0\0\0\2\0\0\0")), (CLIENT, _mysql(0, b"\x0e")), (SERVER, _mysql(1, b"\0\0\0\2\0\0\0")),
    (CLIENT, _mysql(0, b"\1")),
)  # fmt: skip
MODBUS = (
    (CLIENT, _modbus(10, b"\3\0\x0a\0\x0a")), (SERVER, _modbus(10, b"\3\x14" + f"{SECRET}{SECRET}".encode())),
    (CLIENT, _modbus(11, b"\x10\0\0\0\5\x0a" + SECRET.encode() + b"\n")), (SERVER, _modbus(11, b"\x10\0\0\0\5")),
    (CLIENT, _modbus(12, b"\1\0\0\0\x0a")), (SERVER, _modbus(12, b"\1\2\x0a\0")),
)  # fmt: skip
REDIS = (
    (CLIENT, _resp("AUTH", "bob", SECRET)), (SERVER, b"+OK\r\n"), (CLIENT, _resp("SET", "order", LONG)), (SERVER, b"+OK\r\n"),
    (CLIENT, _resp("SUBSCRIBE", "orders")), (SERVER, _resp("subscribe", "orders") + b":1\r\n"),
    (SERVER, _resp("message", "orders", MESSAGE)),
    (CLIENT, b"PING\r\n"), (SERVER, b"+PONG\r\n"), (SERVER, f"-ERR no {SECRET}\r\n".encode()),
)  # fmt: skip
POSTGRES = (
    (CLIENT, struct.pack(">II", 8, 80877103)), (SERVER, b"N"), (CLIENT, struct.pack(">II", 27, 196608) + b"user\0bob\0database\0"),
    (SERVER, _postgres(b"R", b"\0\0\0\3")), (CLIENT, _postgres(b"p", SECRET.encode() + b"\0")),
    (SERVER, _postgres(b"R", b"\0\0\0\0") + _postgres(b"Z", b"I")), (CLIENT, _postgres(b"Q", f"BEGIN;\nSELECT '{SECRET}'\0".encode())),
    (SERVER, _postgres(b"D", LONG.encode()) + _postgres(b"C", b"SELECT 1\0") + _postgres(b"Z", b"T")),
    (CLIENT, _postgres(b"Q", b"COMMIT\0")),
    (SERVER, _postgres(b"C", b"COMMIT\0") + _postgres(b"Z", b"I")), (CLIENT, _postgres(b"X", b"")),
)  # fmt: skip
SSH = (
    (SERVER, f"SSH-2.0-OpenSSH_{SECRET}\r\n".encode()), (CLIENT, b"SSH-2.0-x\r\n"), (CLIENT, b"\0\0\5\xdc\6\x14" + LONG.encode()),
    (SERVER, b"\0\0\5\xdc\6\x14" + LONG.encode()), (CLIENT, MESSAGE.encode()),
)  # fmt: skip

SPOKEN = {
    "OpenWire": Spoken(OPENWIRE, "openwire"), "AMQP 0-9-1": Spoken(AMQP_0_9_1, "amqp"), "AMQP 1.0": Spoken(AMQP_1_0, "amqp"),
    "Artemis Core": Spoken(CORE, "core"), "MQTT 3.1.1": Spoken(_mqtt_talk(4), "mqtt"), "MQTT 5": Spoken(_mqtt_talk(5), "mqtt"),
    "TLS": Spoken(TLS, "tls", "tls"), "HTTP/1.1": Spoken(HTTP_1, "http"), "HTTP/2": Spoken(HTTP_2, "http"), "MySQL": Spoken(MYSQL),
    "Modbus": Spoken(MODBUS), "Redis": Spoken(REDIS), "PostgreSQL": Spoken(POSTGRES), "SSH": Spoken(SSH),
}  # fmt: skip
USUAL_PORT = {
    "OpenWire": 61616, "AMQP 0-9-1": 5672, "AMQP 1.0": 5671, "Artemis Core": 61616, "MQTT 3.1.1": 1883, "MQTT 5": 8883, "TLS": 443,
    "HTTP/1.1": 8080, "HTTP/2": 443, "MySQL": 3306, "Modbus": 502, "Redis": 6379, "PostgreSQL": 5432, "SSH": 22,
}  # fmt: skip
