"""What the records of TLS carry: application data, alerts, and handshake messages, by which keys change."""

from __future__ import annotations

import numpy as np

from stompcap.transport import tls_hello
from stompcap.transport.events import ALERT as ALERT_EVENT
from stompcap.transport.events import HANDSHAKE as HANDSHAKE_EVENT
from stompcap.transport.events import KEY_UPDATE as KEY_UPDATE_EVENT
from stompcap.transport.events import UNREADABLE
from stompcap.transport.tls_connection import ACCEPTED, APPLICATION, CLEAR, EARLY, HANDSHAKE, REFUSED
from stompcap.transport.tls_hello import (
    CLIENT_HELLO,
    ENCRYPTED_EXTENSIONS,
    END_OF_EARLY_DATA,
    FINISHED,
    KEY_UPDATE,
    MESSAGE,
    MOST_HELLO,
    SERVER_HELLO,
    TLS_1_2,
    TLS_1_3,
)
from stompcap.transport.tls_records import ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC
from stompcap.transport.tls_records import HANDSHAKE as HANDSHAKE_RECORD
from stompcap.transport.tls_state import Direction
from stompcap.transport.tls_suites import name_of

BODIES = (CLIENT_HELLO, SERVER_HELLO, ENCRYPTED_EXTENSIONS)
"""Messages whose content is looked at."""

HIDDEN = ("missing from the capture", "missing from the capture; how many octets is not known")
CLOSE_NOTIFY, FATAL = 0, 2
ALERTS = {
    0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow", 40: "handshake_failure",
    42: "bad_certificate", 43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired",
    46: "certificate_unknown", 47: "illegal_parameter",
    48: "unknown_ca", 49: "access_denied", 50: "decode_error", 51: "decrypt_error", 70: "protocol_version", 71: "insufficient_security",
    80: "internal_error", 86: "inappropriate_fallback", 90: "user_canceled", 100: "no_renegotiation", 109: "missing_extension",
    110: "unsupported_extension", 112: "unrecognized_name", 113: "bad_certificate_status_response", 115: "unknown_psk_identity",
    116: "certificate_required", 120: "no_application_protocol",
}  # fmt: skip
"""RFC 8446, appendix B.2; RFC 5246, 7.2."""


class Carrying(Direction):
    """A direction that takes in what its records carry."""

    def in_the_clear(self, kind: int, body: bytes, end: int) -> None:
        """A record that is not encrypted."""
        self.cleared += 1
        if kind == HANDSHAKE_RECORD:
            self._messages(body, end)
        elif kind == ALERT:
            self._alert(body, end)
        elif kind == CHANGE_CIPHER_SPEC and not self.connection.is_1_3:
            self.phase, self.sequence, self.sure, self.slack = self.phase + 1, 0, 0, 0

    def carried(self, kind: int, plain: bytes, end: int) -> None:
        """What an opened record carries."""
        if kind == APPLICATION_DATA:
            if plain:
                self.give(plain, end)
        elif kind == ALERT:
            self._alert(plain, end)
        elif kind == HANDSHAKE_RECORD:
            self._messages(plain, end)
        elif kind == CHANGE_CIPHER_SPEC and self.connection.version == TLS_1_2:
            self.phase, self.sequence, self.anew = self.phase + 1, 0, 0

    def give(self, plain: bytes, end: int) -> None:
        """Give octets out, behind those that are hidden."""
        given = self.given
        if self.unsure and not self.hidden:
            self.hidden = 1
        if self.hidden:
            given.hidden[given.records] = self.hidden, bool(self.unsure)
            self.tell(end, UNREADABLE, self.hidden, HIDDEN[bool(self.unsure)])
        given.add(np.array([self._at]), np.array([end]), [plain])
        self.hidden = self.unsure = 0

    def _alert(self, body: bytes, end: int) -> None:
        if len(body) != 2:
            return
        if body[1] == CLOSE_NOTIFY:
            self.closed = self.closed or end
        elif body[0] == FATAL or self.connection.version == TLS_1_3:
            self.fatal = self.fatal or 1 + body[1]
        self.tell(end, ALERT_EVENT, 2, ALERTS.get(body[1], f"alert {body[1]}"))

    def _messages(self, octets: bytes, end: int) -> None:
        """Octets of handshake messages; one may come in several records."""
        at = 0
        while at < len(octets):
            if not self.left:
                step = min(MESSAGE - self.partial_octets, len(octets) - at)
                self.partial = self.partial << 8 * step | int.from_bytes(octets[at : at + step], "big")
                self.partial_octets, at = self.partial_octets + step, at + step
                if self.partial_octets < MESSAGE:
                    return
                self.kind, self.left, self.body = self.partial >> 24, self.partial & 0xFFFFFF, b""
                self.partial = self.partial_octets = 0
            step = min(self.left, len(octets) - at)
            if self.kind in BODIES and self.left + len(self.body) <= MOST_HELLO:
                self.body += octets[at : at + step]
            self.left, at = self.left - step, at + step
            if not self.left:
                phase = self.phase
                self._message(end)
                self.body = b""
                if self.phase != phase:
                    return  # what is behind it would have other keys

    def _message(self, end: int) -> None:
        """A message is there."""
        connection, kind = self.connection, self.kind
        hello = tls_hello.hello_of(kind, self.body)
        if hello is not None:
            connection.take(self.side, hello)
            self.anew = int(self.phase != CLEAR)
            if self.other is not None and self.phase != CLEAR:
                self.other.anew = 1
            if not hello.client and not hello.retry:
                version = tls_hello.VERSIONS.get(hello.version, "TLS")
                offered = ", Encrypted ClientHello offered" if connection.ech and connection.is_1_3 else ""
                self.tell(end, HANDSHAKE_EVENT, 0, f"{version}, {name_of(hello.suites[0])}{offered}")
        elif kind == ENCRYPTED_EXTENSIONS and connection.version == TLS_1_3:
            found = tls_hello.extensions_of(self.body)
            connection.early = ACCEPTED if tls_hello.EARLY_DATA in found else REFUSED
            connection.alpn = next(iter(tls_hello.alpn_of(found.get(tls_hello.ALPN, b""))), connection.alpn)
        elif kind == END_OF_EARLY_DATA and self.phase == EARLY:
            self.phase, self.sequence = HANDSHAKE, 0
        elif kind == FINISHED and self.phase == HANDSHAKE and connection.version == TLS_1_3:
            self.phase, self.sequence = APPLICATION, 0
        elif kind == KEY_UPDATE and self.phase >= APPLICATION and connection.version == TLS_1_3:
            self.phase, self.sequence = self.phase + 1, 0
            self.tell(end, KEY_UPDATE_EVENT)
