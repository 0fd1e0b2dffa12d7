"""Protocols that are no plain STOMP, by the fixed octets that their connections begin with.

What a TLS record, an HTTP message or the first frame of another broker protocol begins with tells its protocol, and mostly its sender.
"""

from __future__ import annotations

from stompcap.codes import (
    ROLE_AMQP,
    ROLE_CORE,
    ROLE_HTTP,
    ROLE_HTTP_SERVER,
    ROLE_MQTT,
    ROLE_OPENWIRE,
    ROLE_TLS,
    ROLE_TLS_CLIENT,
    ROLE_TLS_SERVER,
    ROLE_UNKNOWN,
    ROLE_WEBSOCKET,
    ROLE_WEBSOCKET_SERVER,
)
from stompcap.columns import I64, Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import CR, LF, SPACE, TAB, pack
from stompcap.stomp.octets import matching

"""Roles of a direction's sender by its first octets: unknown; a STOMP client or server by the first command; TLS, its sender unknown; a
client of HTTP, or one that asks for WebSocket; none of these; nothing but EOLs; the other protocols of message brokers; a TLS client or
server by its hello; a server of HTTP, or one that answers for WebSocket. Their words are stompcap.tables.words.ROLES."""

HTTP_OCTETS, HTTP_LENGTHS = pack(("GET ", "POST ", "PUT ", "HEAD ", "OPTIONS ", "CONNECT ", "DELETE ", "PATCH ", "TRACE "))
VERSION_OCTETS, VERSION_LENGTHS = pack((" HTTP/1.",))
ANSWER_OCTETS, ANSWER_LENGTHS = pack(("HTTP/1.",))
PREFACE_OCTETS, PREFACE_LENGTHS = pack(("PRI * HTTP/2.0\r\n",))  # RFC 9113, 3.4
UPGRADE_OCTETS, UPGRADE_LENGTHS = pack(("upgrade:",))
WEBSOCKET_OCTETS, WEBSOCKET_LENGTHS = pack(("websocket",))
TLS_FIRST, TLS_HANDSHAKE, TLS_LAST = 0x14, 0x16, 0x17
CLIENT_HELLO, SERVER_HELLO = 1, 2  # RFC 8446, 4
TLS_RECORD = 5
"""Octets of a TLS record's header (RFC 8446, 5.1): content type, version of two octets, length of two."""
TLS_LONGEST = (1 << 14) + 2048

AMQP_OCTETS, AMQP_LENGTHS = pack(("AMQP",))
AMQP_PROTOCOLS = 3  # the octet behind: 0 for AMQP itself, 1 in AMQP 0-8 and 0-10, 2 for TLS, 3 for SASL (AMQP 1.0, 2.2 and 5.3)
OPENWIRE_OCTETS, OPENWIRE_LENGTHS = pack(("ActiveMQ",))
WIRE_FORMAT_INFO = 1  # the type of OpenWire's first command, which a length of four octets may precede; its magic follows
CORE_OCTETS, CORE_LENGTHS = pack(("ARTEMIS", "HORNETQ"))
MQTT_CONNECT, MQTT_LENGTH_OCTETS = 0x10, 4  # the first octet of CONNECT, and how many its length may have (MQTT 5, 2.1.4 and 3.1)
MQTT_OCTETS, MQTT_LENGTHS = pack(("\0\4MQTT", "\0\6MQIsdp"))


@callee
def any_of(octets: Octets, begin: int, end: int, words: Octets, lengths: I64) -> bool:
    """Whether one of the words is at `begin`; letters that a word has in lower case match in either case."""
    for word in range(lengths.size):
        if matching(octets, begin, end, words[word, : lengths[word]]) == lengths[word]:
            return True
    return False


@callee
def _asks_for_websocket(octets: Octets, begin: int, end: int) -> bool:
    """Whether the head of the HTTP message at `begin` has a line `Upgrade: websocket` (RFC 6455, 4.1)."""
    i = begin
    while i < end:
        if octets[i] == LF:
            if i + 1 < end and (octets[i + 1] == LF or octets[i + 1] == CR):
                return False
            if any_of(octets, i + 1, end, UPGRADE_OCTETS, UPGRADE_LENGTHS):
                i += 1 + UPGRADE_LENGTHS[0]
                while i < end and (octets[i] == SPACE or octets[i] == TAB):
                    i += 1
                return bool(any_of(octets, i, end, WEBSOCKET_OCTETS, WEBSOCKET_LENGTHS))
        i += 1
    return False


@callee
def _http(octets: Octets, begin: int, end: int) -> int:
    """The role by the HTTP message at `begin`; UNKNOWN where there is none. A request line that is whole names its version."""
    if any_of(octets, begin, end, PREFACE_OCTETS, PREFACE_LENGTHS):
        return ROLE_HTTP
    if any_of(octets, begin, end, ANSWER_OCTETS, ANSWER_LENGTHS):
        return ROLE_WEBSOCKET_SERVER if _asks_for_websocket(octets, begin, end) else ROLE_HTTP_SERVER
    if not any_of(octets, begin, end, HTTP_OCTETS, HTTP_LENGTHS):
        return ROLE_UNKNOWN
    i = begin
    while i < end and octets[i] != LF:
        if octets[i] == SPACE and any_of(octets, i, end, VERSION_OCTETS, VERSION_LENGTHS):
            return ROLE_WEBSOCKET if _asks_for_websocket(octets, begin, end) else ROLE_HTTP
        i += 1
    return ROLE_HTTP if i == end else ROLE_UNKNOWN


@callee
def _tls(octets: Octets, begin: int, end: int, synced: bool) -> int:
    """The role by the TLS record at `begin`: one of a handshake, or mid-stream any with another behind it; UNKNOWN where there is none."""
    i = begin
    for _ in range(1 if synced or (i < end and octets[i] == TLS_HANDSHAKE) else 2):
        if end - i < TLS_RECORD or octets[i + 1] != 3 or octets[i + 2] > 4:
            return ROLE_UNKNOWN
        if octets[i] < TLS_FIRST or octets[i] > TLS_LAST or (synced and octets[i] != TLS_HANDSHAKE):
            return ROLE_UNKNOWN
        length = 256 * int(octets[i + 3]) + int(octets[i + 4])
        if length == 0 or length > TLS_LONGEST:
            return ROLE_UNKNOWN
        i += TLS_RECORD + length
    hello = begin + TLS_RECORD
    if octets[begin] == TLS_HANDSHAKE and hello < end and octets[hello] == CLIENT_HELLO:
        return ROLE_TLS_CLIENT
    return ROLE_TLS_SERVER if octets[begin] == TLS_HANDSHAKE and hello < end and octets[hello] == SERVER_HELLO else ROLE_TLS


@callee
def _broker_protocol(octets: Octets, begin: int, end: int) -> int:
    """The role by the first octets of another protocol of message brokers; UNKNOWN where they are of none."""
    if any_of(octets, begin, end, AMQP_OCTETS, AMQP_LENGTHS) and begin + 4 < end and octets[begin + 4] <= AMQP_PROTOCOLS:
        return ROLE_AMQP
    if any_of(octets, begin, end, CORE_OCTETS, CORE_LENGTHS):
        return ROLE_CORE
    for at in (begin, begin + 4):
        if at < end and octets[at] == WIRE_FORMAT_INFO and any_of(octets, at + 1, end, OPENWIRE_OCTETS, OPENWIRE_LENGTHS):
            return ROLE_OPENWIRE
    if begin < end and octets[begin] == MQTT_CONNECT:
        i = begin + 1
        while i < end and octets[i] >= 128 and i < begin + MQTT_LENGTH_OCTETS:
            i += 1
        if any_of(octets, i + 1, end, MQTT_OCTETS, MQTT_LENGTHS):
            return ROLE_MQTT
    return ROLE_UNKNOWN


@callee
def protocol_at(octets: Octets, begin: int, end: int, synced: bool) -> int:
    """The role by what is at `begin`, where the captured octets of a direction begin; `synced`: so does its stream.

    UNKNOWN where it is no fixed beginning of a protocol other than plain STOMP.
    """
    role = _tls(octets, begin, end, synced)
    if role == ROLE_UNKNOWN:
        role = _http(octets, begin, end)
    return int(_broker_protocol(octets, begin, end)) if role == ROLE_UNKNOWN else int(role)
