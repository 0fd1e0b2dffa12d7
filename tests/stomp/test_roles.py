"""What one side quotes of the other's frames, NULs included, begins no frame: boundaries are believed by the sender's role."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.stomp import Syntax, parse
from tests.stomp.rows import Tuple, chunked, kinds, rows_of

CONNECT = b"CONNECT\nhost:x\n\n\x00"
CONNECTED = b"CONNECTED\nversion:1.2\n\n\x00"
SEND = b"SEND\ndestination:/q\n\nhello\x00"
MESSAGE = b"MESSAGE\nmessage-id:1\n\nhello\x00"
# as ActiveMQ answers a body whose content-length was too short
QUOTING = b"ERROR\ncontent-type:text/plain\nmessage:Unknown STOMP action: cd\x00SEND\ndestination:/q\nreceipt:r\n\nat Stomp.java\x00"


JUNK = b"?\x00"


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        # a NUL in the head
        ([CONNECTED, QUOTING, b"\n"], []),
        ([QUOTING], []),
        ([CONNECT, b"ERROR\nmessage:x\x00", SEND], [1]),
        ([CONNECT, b"SEND\na:b\x00MESSAGE\nc:d\n\n\x00"], []),
        # content-length too long and too short
        ([b"ERROR\ncontent-length:99\n\ncd\x00SEND\n\x00", MESSAGE], []),
        ([b"ERROR\ncontent-length:1\n\ncd\x00SEND\n\x00", MESSAGE], []),
        ([b"SEND\ncontent-length:1\n\ncd\x00", b"SEND\n\n\x00"], []),
        # junk, and what lies behind a gap
        ([CONNECTED, b"?\x00SEND\na:b\n\n\x00", MESSAGE], [1]),
        ([JUNK, SEND, JUNK, MESSAGE], [0, 2]),
        ([CONNECTED, 5, SEND, MESSAGE], [2]),
        ([CONNECTED, 5, MESSAGE], []),
        # where a command is expected any is taken, and one of the wrong way changes no one's mind
        ([CONNECT, MESSAGE, SEND], []),
        ([CONNECT, SEND, MESSAGE, JUNK + MESSAGE + JUNK, SEND], [3]),
        # what a search found says nothing of the sender
        ([3, SEND + JUNK, MESSAGE], [1]),  # nor is it believed where junk follows it
        ([3, SEND, MESSAGE, JUNK, MESSAGE], [3]),
    ],
)
def test_boundaries(expected: list[bytes | int], wrong: list[int]) -> None:
    """The parts are the rows: frames but for gaps, EOLs and the ones named as junk."""
    names = ["gap" if isinstance(part, int) else "eol" if part == b"\n" else "frame" for part in expected]
    for place in wrong:
        names[place] = "junk"
    lengths = [part if isinstance(part, int) else len(part) for part in expected]
    assert kinds(*expected) == list(zip(names, lengths, strict=True))


def test_the_quotation_is_the_header() -> None:
    [error] = parse(QUOTING, "1.1")
    assert error.header["message"] == "Unknown STOMP action: cd\0SEND"
    assert Syntax.NUL_IN_HEAD in error.syntax


pieces = st.sampled_from(
    [CONNECT, CONNECTED, SEND, MESSAGE, QUOTING, b"SEND\n", b"MESSAGE\n", b"ERROR\nmessage:x", b"\x00", b"\n", b"a:b\n", b"?", b"S", b"M",
     b"content-length:4\n", b"content-length:40\n", b"\x00SEND\n", b"\x00MESSAGE\na:b\n\n"]
)


@given(st.lists(pieces, max_size=14).map(b"".join), st.lists(st.integers(0, 20), max_size=30), st.booleans())
def test_any_chunking_gives_the_same_rows(data: bytes, sizes: list[int], synced: bool) -> None:
    assert chunked(data, sizes, synced) == rows_of(data, synced=synced)


def frames_in(rows: list[Tuple]) -> list[tuple[int, int]]:
    return [(row[1], row[2]) for row in rows if row[0] == "frame"]


@given(st.lists(st.sampled_from([SEND, CONNECT, b"ACK\nid:1\n\n\x00", b"cd\x00", b"\n"]), max_size=6).map(b"".join))
def test_a_server_may_quote_anything_a_client_sends(quoted: bytes) -> None:
    """In a body whose content-length is one too long: the next frame of the server ends it, and none of the client does."""
    error = b"ERROR\ncontent-length:%d\n\n%s\x00" % (len(quoted) + 1, quoted)
    rows = rows_of(CONNECTED + error + MESSAGE)
    assert frames_in(rows) == [(0, len(CONNECTED)), (len(CONNECTED), len(error)), (len(CONNECTED + error), len(MESSAGE))]
