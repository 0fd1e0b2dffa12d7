"""Peers of 1.0, read as its documents ask for, and where that reading ends: other peers' frames mean what they meant."""

from __future__ import annotations

import pytest

from stompcap.stomp import Syntax, parse
from tests.stomp.rows import kinds, rows_of

BARE, OFFERS = b"CONNECT\nlogin:a\n\n\x00", b"CONNECT\naccept-version:1.1,1.2\n\n\x00"
NUL_INSIDE = b"SEND\nContent-Length:3\n\na\x00b\x00"
PADDED = b"SEND\na:b\n \t\r\n\x00"


@pytest.mark.parametrize(
    ("opening", "lenient"),
    [
        (BARE, True),
        (b"CONNECT\naccept-version: 1.0 \n\n\x00", True),
        (b"STOMP\n\n\x00", True),
        (b"CONNECTED\nsession:1\n\n\x00", True),
        (b"connected\nversion:1.0\n\n\x00", True),
        (OFFERS, False),
        (b"CONNECT\naccept-version:1.0,1.1\n\n\x00", False),
        (b"CONNECTED\nversion:1.2\n\n\x00", False),
        (b"", False),
        (BARE + OFFERS, False),
        # a quotation that a search found says nothing of the sender
        (OFFERS + b"?\x00" + BARE, False),
    ],
)
def test_who_is_read_so(opening: bytes, lenient: bool) -> None:
    before = len(rows_of(opening))
    assert [row[:3:2] for row in rows_of(opening + NUL_INSIDE)][before:] == (
        [("frame", 27)] if lenient else [("frame", 25), ("partial", 2)]
    )
    assert [row[:3:2] for row in rows_of(opening + PADDED)][before:] == [("frame" if lenient else "partial", 14)]


def test_the_handshake_itself() -> None:
    assert kinds(b"CONNECT\nlogin: a\n \n\x00") == [("frame", 20)]
    assert kinds(b"CONNECT\naccept-version:1.1\n \n\x00") == [("partial", 30)]
    [row] = rows_of(b"CONNECTED\nsession: a\n\t \r\r\n\x00")
    assert Syntax.BLANK_PADDED in row[4]


@pytest.mark.parametrize(
    ("head", "body"),
    [
        # the exact spelling wins wherever it stands, and of others the first
        (b"Content-Length:1\ncontent-length:3\n", b"a\x00b"),
        (b"content-length:3\nContent-Length:1\n", b"a\x00b"),
        (b"CONTENT-LENGTH: 3\nContent-Length:1\n", b"a\x00b"),
        (b"Content-Length:x\n", b"a"),
    ],
)
def test_content_length_in_any_case(head: bytes, body: bytes) -> None:
    assert parse(b"SEND\n" + head + b"\na\x00b\x00", "1.0")[0].body == body


@pytest.mark.parametrize(
    ("version", "lines", "header"),
    [
        ("1.0", b"Destination: /q\n", {"destination": "/q"}),
        ("1.0", b"DESTINATION:/a\ndestination:/b\n", {"destination": "/b"}),
        ("1.0", b"Destination:/a\nDESTINATION:/b\n", {"destination": "/a"}),
        ("1.0", b"JMSType:x\nMine:y\nmine:z\n", {"JMSType": "x", "Mine": "y", "mine": "z"}),
        ("1.0", b"UserName:me\n", {"username": "me"}),
        ("1.0", b"a: \t b \r \r\n", {"a": "b"}),
        ("1.0", b"a: \r\n", {"a": ""}),
        ("1.1", b"Destination: /q\n", {"Destination": " /q"}),
        ("1.2", b"Destination: /q\nUserName:me\n", {"Destination": " /q", "UserName": "me"}),
    ],
)
def test_effective_headers(version: str, lines: bytes, header: dict[str, str]) -> None:
    [frame] = parse(b"SEND\n" + lines + b"\n\x00", version)
    assert frame.header == header
    names = [line.split(b":")[0].decode() for line in lines.split(b"\n")[:-1]]
    assert [name for name, _ in frame.headers] == names  # as on the wire
