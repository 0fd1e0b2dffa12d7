"""The version of a session, by its handshake or by what its frames show."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.stomp import Runs, Versions, delimit, negotiate
from stompcap.tables import words


def frame(command: bytes, *lines: bytes, eol: bytes = b"\n") -> bytes:
    return eol.join([command, *lines, b"", b"\x00"])


CONNECT = frame(b"CONNECT", b"accept-version:1.0,1.1,1.2")


def told(client: bytes, server: bytes) -> Versions:
    octets = np.frombuffer(client + server, np.uint8)
    runs = Runs(
        np.array([0, 1], np.int32), np.array([0, len(client)]), np.array([len(client), len(server)]), np.zeros(2, np.int64),
        np.ones(2, bool), np.ones(2, bool), np.array([len(client), len(server)]),
    )
    return negotiate(octets, delimit(octets, runs), np.zeros(2, np.int64), np.array([0, 1], np.int8), 1)


def version(client: bytes, server: bytes) -> tuple[str | None, str]:
    versions, sources, _ = told(client, server)
    return (None if versions[0] < 0 else words.VERSIONS[versions[0]]), words.VERSION_SOURCES[sources[0]]


@pytest.mark.parametrize(
    ("client", "server", "expected"),
    [
        (CONNECT, frame(b"CONNECTED", b"version:1.1"), ("1.1", "connected")),
        (CONNECT, frame(b"connected", b"version: 1.2 ", eol=b"\r\n"), ("1.2", "connected")),
        (b"", frame(b"CONNECTED", b"version:1.0"), ("1.0", "connected")),
        (CONNECT, frame(b"CONNECTED", b"version:1.1") + frame(b"CONNECTED", b"version:1.2"), ("1.1", "connected")),
        (CONNECT, frame(b"CONNECTED", b"session:1"), ("1.0", "assumed_1_0")),
        (frame(b"CONNECT", b"login:u"), b"", ("1.0", "assumed_1_0")),
        (CONNECT, frame(b"CONNECTED", b"version:3.0"), (None, "unknown")),
        (CONNECT, frame(b"ERROR", b"message:no"), (None, "unknown")),
        (CONNECT, b"", (None, "unknown")),
        (b"", frame(b"MESSAGE", b"ack:1", b"message-id:1"), ("1.2", "inferred")),
        (frame(b"ACK", b"id:1"), b"", ("1.2", "inferred")),
        (frame(b"NACK", b"id:1"), b"", ("1.2", "inferred")),
        (frame(b"ACK", b"message-id:1", b"subscription:0"), b"", ("1.1", "inferred")),
        (frame(b"ACK", b"message-id:1"), b"", (None, "unknown")),
        (frame(b"NACK", b"message-id:1"), b"", ("1.1", "inferred")),
        (b"", frame(b"MESSAGE", b"message-id:ID\\c1"), ("1.1", "inferred")),
        (b"", frame(b"MESSAGE", b"message-id:ID\\c1", eol=b"\r\n"), ("1.2", "inferred")),
        (b"", frame(b"MESSAGE", b"message-id:ID:host-1"), ("1.0", "inferred")),
        (frame(b"SEND", b"destination:/q", eol=b"\r\n"), b"", ("1.2", "inferred")),
        (frame(b"SEND", b"destination:/q"), b"", (None, "unknown")),
        (frame(b"CONNECTED", b"version:1.2"), b"", (None, "unknown")),
        # marks count only where the side that leaves them wrote them
        (frame(b"MESSAGE", b"ack:1", b"message-id:ID\\c1"), frame(b"ACK", b"id:1") + frame(b"NACK", b"message-id:1"), (None, "unknown")),
        (b"", CONNECT + frame(b"MESSAGE", b"message-id:1"), (None, "unknown")),
        # marks that agree
        (frame(b"NACK", b"id:1", b"message-id:1", b"subscription:0"), frame(b"MESSAGE", b"ack:1"), ("1.2", "inferred")),
        (frame(b"NACK", b"message-id:1"), frame(b"MESSAGE", b"message-id:ID\\c1"), ("1.1", "inferred")),
        (frame(b"ACK", b"message-id:1"), frame(b"MESSAGE", b"message-id:ID:host-1"), ("1.0", "inferred")),
        (frame(b"ACK", b"message-id:1"), frame(b"MESSAGE", b"destination:/queue/a\\cb"), ("1.1", "inferred")),
        (frame(b"NACK", eol=b"\r\n"), b"", ("1.2", "inferred")),
        (frame(b"NACK", b"message-id:1", eol=b"\r\n"), b"", ("1.1", "inferred")),
        # and marks that do not
        (frame(b"ACK", b"message-id:1", b"subscription:0"), frame(b"MESSAGE", b"ack:1"), (None, "unknown")),
        (frame(b"ACK", b"message-id:1"), frame(b"MESSAGE", b"ack:1"), (None, "unknown")),
        (frame(b"ACK", b"id:1") + frame(b"ACK", b"message-id:1", b"subscription:0"), b"", (None, "unknown")),
        (frame(b"NACK", b"message-id:1"), frame(b"MESSAGE", b"message-id:ID:host-1"), (None, "unknown")),
        (b"", frame(b"MESSAGE", b"message-id:ID:host-1") + frame(b"MESSAGE", b"ack:7", b"message-id:3"), (None, "unknown")),
        (frame(b"ACK", b"message-id:1", eol=b"\r\n"), b"", (None, "unknown")),
        # what CONNECT offers narrows it, and proves nothing alone
        (frame(b"CONNECT", b"accept-version:1.0, 1.2"), frame(b"MESSAGE", b"message-id:a\\cb"), ("1.2", "inferred")),
        (frame(b"CONNECT", b"accept-version:1.2") + frame(b"ACK", b"message-id:1"), b"", (None, "unknown")),
        (frame(b"CONNECT", b"accept-version:1.1,1.0", eol=b"\r\n"), b"", (None, "unknown")),
        (frame(b"CONNECT", b"accept-version:1.2"), b"", (None, "unknown")),
        (frame(b"CONNECT", b"accept-version:2.0"), frame(b"MESSAGE", b"ack:1"), ("1.2", "inferred")),
    ],
)
def test_version(client: bytes, server: bytes, expected: tuple[str | None, str]) -> None:
    assert version(client, server) == expected


PAIR = frame(b"ACK", b"message-id:1", b"subscription:0")


@pytest.mark.parametrize(
    ("client", "server", "fits"),
    [
        (CONNECT, frame(b"CONNECTED", b"version:1.1") + frame(b"MESSAGE", b"ack:1"), "1.1"),
        (CONNECT, frame(b"CONNECTED", b"session:1"), "1.0"),
        (frame(b"CONNECT", b"login:u"), b"", "1.0"),
        (CONNECT, b"", "1.0,1.1,1.2"),
        (frame(b"CONNECT", b"accept-version:1.0,1.2"), b"", "1.0,1.2"),
        (frame(b"CONNECT", b"accept-version:1.1"), frame(b"CONNECTED", b"version:3.0"), "1.1"),
        (frame(b"ACK", b"id:1"), b"", "1.2"),
        (b"", frame(b"MESSAGE", b"ack:1"), "1.2"),
        (PAIR, b"", "1.0,1.1"),
        (frame(b"ACK", b"message-id:1"), b"", "1.0,1.1"),
        (frame(b"NACK", b"message-id:1"), b"", "1.0,1.1"),
        (frame(b"NACK"), b"", "1.0,1.1,1.2"),
        (b"", frame(b"MESSAGE", b"message-id:ID\\c1"), "1.1,1.2"),
        (PAIR, frame(b"MESSAGE", b"message-id:ID\\c1"), "1.1"),
        (b"", frame(b"MESSAGE", b"message-id:ID:host-1"), "1.0"),
        (frame(b"SEND", b"destination:/q", eol=b"\r\n"), b"", "1.0,1.1,1.2"),
        (PAIR, frame(b"MESSAGE", b"ack:1"), "1.0,1.1,1.2"),  # they contradict each other
        (b"", b"", "1.0,1.1,1.2"),
    ],
)
def test_versions_that_fit(client: bytes, server: bytes, fits: str) -> None:
    assert words.POSSIBLE_VERSIONS[told(client, server).possible[0] - 1] == fits
