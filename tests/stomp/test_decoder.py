"""Decoder: columns of frames by version, what stays visible, which rules decoding finds broken."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stompcap.stomp import Runs, Syntax, decode, decode_column, delimit, parse
from stompcap.tables import TABLES

MESSAGE = (
    b"MESSAGE\nsubscription:0\nmessage-id:7\nack:a\\c1\ndestination:/q\\n\ncontent-type:text/plain\ncontent-length: 5 \n"
    b"destination:/other\nreceipt:r\nhuh\n\nhello\x00"
)


def decoded(data: bytes, version: int = 2, **options: int | bool) -> pa.RecordBatch:
    octets = np.frombuffer(data, np.uint8)
    frames = delimit(octets, Runs.whole(octets)).frames()
    return decode(octets, frames, np.full(len(frames), version, np.int8), **options)


def test_columns() -> None:
    batch = decoded(MESSAGE)
    [row] = batch.to_pylist()
    syntax = Syntax(row.pop("syntax"))
    assert row == {
        "command": "MESSAGE", "command_raw": "MESSAGE", "destination": "/q\n", "id": None, "subscription": "0", "message_id": "7",
        "ack": "a:1", "transaction": None, "receipt": "r", "receipt_id": None, "content_type": "text/plain", "content_length": 5,
        "body_octets": 5, "body_preview": "hello", "eol": "lf", "delimited_by": "content_length", "decode_errors": ["FR-15"],
        "headers": [
            {"name": "subscription", "value": "0"}, {"name": "message-id", "value": "7"}, {"name": "ack", "value": "a:1"},
            {"name": "destination", "value": "/q\n"}, {"name": "content-type", "value": "text/plain"},
            {"name": "content-length", "value": " 5 "}, {"name": "destination", "value": "/other"},
            {"name": "receipt", "value": "r"}, {"name": "huh", "value": None},
        ],
        "header": [
            ("subscription", "0"), ("message-id", "7"), ("ack", "a:1"), ("destination", "/q\n"), ("content-type", "text/plain"),
            ("content-length", " 5 "), ("receipt", "r"),
        ],
    }
    assert syntax == (
        Syntax.LF_LINE | Syntax.NO_COLON | Syntax.BACKSLASH | Syntax.PADDED | Syntax.REPEATED | Syntax.CONFLICTING
    )


def test_types_are_those_of_the_table() -> None:
    schema = TABLES["frames"].arrow
    for field in decoded(MESSAGE).schema:
        assert field.type == schema.field(field.name).type


def test_no_frames() -> None:
    assert decoded(b"").num_rows == 0


@pytest.mark.parametrize(
    ("version", "head", "value", "effective", "errors"),
    [
        ("1.0", b"SEND\na: x\\n \r\n", " x\\n \r", "x\\n", ["FR-02"]),
        ("1.1", b"SEND\na: x\\n\\r \r\n", " x\n\\r \r", " x\n\\r ", ["FR-02", "FR-19"]),
        ("1.2", b"SEND\na: x\\n\\r \r\n", " x\n\r ", " x\n\r ", []),
        (None, b"SEND\na:\\n\\q\r\n", "\n\\q", "\n\\q", []),
        ("1.1", b"CONNECTED\na:\\n\\q\r\n", "\\n\\q", "\\n\\q", []),
        ("1.0", b"STOMP\na: x\r\n", " x", "x", []),
        ("1.2", b"SEND\na:x\ry\r\r\n", "x\ry\r", "x\ry\r", ["FR-03"]),
        ("1.2", b"SEND\na:\xff\xe2\x82\xac\xc3\n", "\\xff\u20ac\\xc3", "\\xff\u20ac\\xc3", ["FR-18"]),
        ("1.0", b"SEND\na:\xc3\xa9\n", "\u00e9", "\u00e9", ["FR-17"]),
        ("1.2", b"SEND\na:\\\n", "\\", "\\", ["FR-19"]),
        ("1.2", b"SEND\na:\\\\n\\\\\n", "\\n\\", "\\n\\", []),
        ("1.2", b"send\na:b\n", "b", "b", ["FR-04"]),
        ("1.0", b"send\na:b\n", "b", "b", []),
        ("1.0", b"WHAT\na:b\n", "b", "b", ["FR-04"]),
        (None, b"send\na:b\n", "b", "b", []),
    ],
)
def test_values_by_version(version: str | None, head: bytes, value: str, effective: str, errors: list[str]) -> None:
    [frame] = parse(head + b"\n\x00", version)
    assert frame.headers == (("a", value),)
    assert frame.header == {"a": effective}
    assert list(frame.decode_errors) == errors


@pytest.mark.parametrize(
    ("data", "preview", "bits"),
    [
        (b"SEND\n\n\x00", None, 0),
        (b"SEND\n\nabcdef\x00", "abcd", 0),
        (b"SEND\n\nab\xe2\x82\xac\x00", "ab", 0),
        (b"SEND\n\na\xe2\x82\xac\x00", "a\u20ac", 0),
        (b"SEND\n\nabc\xff\x00", "abc\\xff", Syntax.BODY_NON_UTF8),
        (b"SEND\n\nabc\xe2\x00", "abc\\xe2", Syntax.BODY_NON_UTF8),
        (b"SEND\n\nabcd\xe2\x00", "abcd", Syntax.BODY_NON_UTF8),
        (b"SEND\ncontent-length:3\n\na\x00b\x00", "a\x00b", Syntax.BODY_NUL),
    ],
)
def test_body(data: bytes, preview: str | None, bits: Syntax) -> None:
    [row] = decoded(data, body_preview=4).to_pylist()
    assert row["body_preview"] == preview
    assert row["syntax"] & (Syntax.BODY_NUL | Syntax.BODY_NON_UTF8) == bits


@pytest.mark.parametrize(
    ("data", "bit"),
    [
        (b"SEND\n:x\n\n\x00", Syntax.EMPTY_NAME),
        (b"SEND\na:\n\n\x00", Syntax.EMPTY_VALUE),
        (b"SEND\na:b:c\n\n\x00", Syntax.RAW_COLON),
        (b"SEND\nreceipt: 1\n\n\x00", Syntax.PADDED),
        (b"SEND\nreceipt :1\n\n\x00", Syntax.PADDED),
        (b"SEND\na:1\na:2\n\n\x00", Syntax.REPEATED),
        (b"SEND\nreceipt:1\nreceipt:2\n\n\x00", Syntax.REPEATED | Syntax.CONFLICTING),
        (b"SEND\nreceipt:1\nreceipt:1\n\n\x00", Syntax.REPEATED),
        (b"SEND\nmine: 1\n\n\x00", Syntax(0)),
    ],
)
def test_facts(data: bytes, bit: Syntax) -> None:
    [frame] = parse(data)
    assert frame.syntax & ~Syntax.LF_LINE == bit


def test_eol_and_content_length() -> None:
    rows = decoded(
        b"SEND\r\na:b\r\n\r\n\x00SEND\na:b\r\n\n\x00SEND\ncontent-length:9223372036854775807\n\n\x00"
        b"SEND\ncontent-length:-1\n\n\x00SEND\ncontent-length:99999999999999999999\n\n\x00"
    ).to_pylist()
    assert [row["eol"] for row in rows] == ["crlf", "mixed", "lf", "lf", "lf"]
    assert [row["content_length"] for row in rows] == [None, None, 2**63 - 1, None, None]


def test_many_headers_take_linear_time() -> None:
    lines = b"".join(b"name%d:%d\n" % (k, k) for k in range(200_000))
    batch = decoded(b"SEND\n" + lines + lines + b"\n\x00")
    assert len(batch.column("header")[0]) == 200_000
    assert len(batch.column("headers")[0]) == 400_000


def test_column_of_single_frames() -> None:
    raw = pa.array([b"SEND\na:\\c\n\n\x00", None, b"", b"\nACK\nid:1\n\n\x00\n", b"\x00", b"SEND\npasscode:x\n\n\x00"], pa.binary())
    rows = decode_column(raw.slice(0), "1.0").to_pylist()
    assert [row and row["command"] for row in rows] == ["SEND", None, None, "ACK", None, "SEND"]
    assert rows[5]["headers"] == [{"name": "passcode", "value": "***"}]
    versions = pa.array(["1.2", "1.2", "1.2", None, "9", "1.1"])
    table = pa.table({"raw": pa.chunked_array([raw, raw]), "version": pa.chunked_array([versions, versions])})
    rows = decode_column(table["raw"].slice(3, 4), table["version"].slice(3, 4)).to_pylist()
    assert [row and row["headers"][0]["value"] for row in rows] == ["1", None, "***", ":"]


def test_a_value_that_ends_before_its_declared_length_is_a_frame() -> None:
    raw = b"SEND\ndestination:/q\ncontent-length:40\n\nshort\0"
    [frame] = decode_column(pa.array([raw], pa.binary())).to_pylist()
    assert (frame["command"], frame["body_octets"]) == ("SEND", 5)
    [cut] = decode_column(pa.array([raw[:-1]], pa.binary())).to_pylist()
    assert cut is None
