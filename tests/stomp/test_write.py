"""Frames written again: the octets that were parsed, or a frame that reads alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.stomp import Frame, Syntax, parse, serialise, write_frame
from tests.stomp.test_properties import octets

VERSIONS = ["1.0", "1.1", "1.2", None]
ODD = Syntax.UNDEFINED_ESCAPE | Syntax.RAW_COLON | Syntax.BARE_CR


def leaves_a_choice(frame: Frame) -> bool:
    mixed = Syntax.LF_LINE in frame.syntax and Syntax.CRLF_LINE in frame.syntax
    escaped = frame.version != "1.0" and frame.command not in ("CONNECT", "STOMP", "CONNECTED")
    half = escaped and Syntax.BACKSLASH in frame.syntax and bool(frame.syntax & ODD)
    return mixed or half or bool(frame.syntax & (Syntax.NON_UTF8 | Syntax.BLANK_PADDED))


@given(octets, st.sampled_from(VERSIONS))
def test_what_was_parsed_is_written(data: bytes, version: str | None) -> None:
    for frame in parse(data, version):
        if not leaves_a_choice(frame):
            assert serialise(frame) == data[frame.offset : frame.offset + frame.length]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "data",
    [
        b"SEND\ndestination:/q\n\nhello\x00",
        b"CONNECT\r\nhost:a:b\r\nlogin:a\\cb\r\n\r\n\x00",
        b"send  \na: b \na:c\ncontent-length:3\n\na\x00b\x00",
        b"MESSAGE\r\nno colon\r\na:b\r\n\r\nx\x00",
        b"ACK\nid:a:b\n:\n\n\x00",
        b"SEND\nn\\cme:v\\\\l\\nue\\c\n\n\x00",
        b"SEND\ncontent-length:99\n\nshort\x00ACK\nid:1\n\n\x00",
    ],
)
def test_octets_come_back(data: bytes, version: str | None) -> None:
    frames = parse(data, version)
    assert not any(leaves_a_choice(frame) for frame in frames)
    assert b"".join(map(serialise, frames)) == data


@pytest.mark.parametrize(
    "data",
    [
        b"SEND\na:\xff\\\n\n\x00",
        b"SEND\na:b\\q\\c:\n\n\x00",
        b"SEND\r\na:b\n\r\nx\x00",
        b"SEND\na:b\rc\\r\n\n\x00",
    ],
)
def test_a_choice_reads_alike(data: bytes) -> None:
    [frame] = parse(data)
    [again] = parse(serialise(frame))
    assert leaves_a_choice(frame)
    assert (again.command_raw, again.header, again.body) == (frame.command_raw, frame.header, frame.body)


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12).filter(lambda n: n != "content-length")
values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@given(st.lists(st.tuples(names, values), max_size=5), st.binary(max_size=40), st.sampled_from([b"\n", b"\r\n"]))
def test_what_is_written_is_read(headers: list[tuple[str, str]], body: bytes, eol: bytes) -> None:
    headers = [*headers, ("content-length", str(len(body)))]
    [frame] = parse(write_frame("SEND", headers, body, eol=eol))
    assert (frame.command, list(frame.headers), frame.body, frame.decode_errors) == ("SEND", headers, body, ())


@pytest.mark.parametrize(
    ("command", "headers", "version"),
    [
        ("SEND", [("a", "b\nc")], "1.0"),
        ("CONNECT", [("a", "b\nc")], "1.2"),
        ("SEND", [("a:b", "c")], "1.0"),
        ("SEND", [("", "c")], "1.2"),
        ("SEND", [("a", "\0")], "1.2"),
        ("SEND", [], "2.0"),
    ],
)
def test_what_cannot_be_written(command: str, headers: list[tuple[str, str]], version: str) -> None:
    with pytest.raises(ValueError, match=r"header|not in"):
        write_frame(command, headers, version=version)
    with pytest.raises(ValueError, match="EOL"):
        write_frame("SEND", eol=b"\n\n")
