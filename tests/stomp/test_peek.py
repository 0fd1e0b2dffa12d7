"""What the first octets of a direction say."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.stomp import peek
from stompcap.stomp.peek import CLIENT, HTTP, OTHER, SERVER, TLS, UNKNOWN


@pytest.mark.parametrize(
    ("data", "synced", "expected"),
    [
        (b"CONNECT\nhost:x\n\n\x00", True, CLIENT),
        (b"\n\r\n\x00STOMP\r\n", True, CLIENT),
        (b"connected\nsession:1", True, SERVER),
        (b"ERROR\n", True, SERVER),
        (b"\x16\x03\x01\x02\x00\x01", True, TLS),
        (b"GET /ws HTTP/1.1\r\n", True, HTTP),
        (b"HTTP/1.1 101 Switching Protocols\r\n", False, HTTP),
        (b"CONNECT proxy:80 HTTP/1.1\r\n", True, HTTP),
        (b"", True, UNKNOWN),
        (b"\n\n", True, UNKNOWN),
        (b"CONN", True, UNKNOWN),
        (b"SSH-2.0-x\r\n", True, OTHER),
        (b"tail of a body\x00\nMESSAGE\ndestination:/q\n", False, SERVER),
        (b"SEND\ndestination:/q\n", False, CLIENT),
        (b"tail of a body\x00\nnot\n", False, UNKNOWN),
        (b"SEND\nno header\n", False, UNKNOWN),
    ],
)
def test_roles(data: bytes, synced: bool, expected: int) -> None:
    octets = np.frombuffer(b"??" + data, np.uint8)
    assert peek(octets, np.array([2]), np.array([len(data)]), np.array([synced])).tolist() == [expected]
