"""Passcodes: in whatever row, at whatever line's start, none of their octets is left; everything else stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.stomp import Runs, Syntax, decode, delimit, redact
from tests.stomp.rows import runs_of


def redacted(*parts: bytes | int, synced: bool = True) -> tuple[bytes, list[bool]]:
    octets, runs = runs_of(list(parts), synced)
    masked, flags = redact(octets, delimit(octets, runs))
    return masked.tobytes(), flags.tolist()


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([b"CONNECT\npasscode:secret\n\n\x00"], b"CONNECT\npasscode:******\n\n\x00"),
        ([b"CONNECT\r\npasscode:secret\r\n\r\n\x00"], b"CONNECT\r\npasscode:******\r\n\r\n\x00"),
        ([b"SEND\n PassCode\t:se:ret\n\npasscode:body\x00"], b"SEND\n PassCode\t:******\n\npasscode:body\x00"),
        ([b"HELLO\npasscode:s\npasscode:t\n\n\x00"], b"HELLO\npasscode:*\npasscode:*\n\n\x00"),
        ([b"SEND\npasscode:\nxpasscode:y\n\n\x00"], b"SEND\npasscode:\nxpasscode:*\n\n\x00"),
        ([b"SEND\nxpass:y\nx-author:z\n\n\x00"], b"SEND\nxpass:y\nx-author:z\n\n\x00"),
        ([b"ERROR\nmessage:m\n\nCONNECT\npasscode:secret\n\x00"], b"ERROR\nmessage:m\n\nCONNECT\npasscode:******\n\x00"),
        ([b"CONNECT\npasscode:sec"], b"CONNECT\npasscode:***"),
        ([b"? junk\npasscode:secret\n"], b"? junk\npasscode:******\n"),
        ([b"?\x00passcode:secret\n"], b"?\x00passcode:******\n"),
        ([b"CONNECT\npasscode:sec", 3, b"ret\nhost:x\n\n\x00"], b"CONNECT\npasscode:******\nhost:x\n\n\x00"),
        ([b"CONNECT\npassc", 3, b"ode:secret\nhost:x\n\n\x00"], b"CONNECT\npassc**********\nhost:x\n\n\x00"),
        ([b"CONNECT\nhost:x", 30, b"ret\nhost:x\n\n\x00"], b"CONNECT\nhost:x***\nhost:x\n\n\x00"),
        ([b"CONN", 30, b"ret\nhost:x\n\n\x00"], b"CONN***\nhost:x\n\n\x00"),
        ([b"CONNECT\nhost:x", 3, b"y", 9, b"ret\n\n\x00"], b"CONNECT\nhost:x****\n\n\x00"),
        ([b"SEND\npasscode:s", 3, b"ret\n\n\x00"], b"SEND\npasscode:****\n\n\x00"),
        ([b"SEND\ndestination:s", 3, b"ret\n\n\x00"], b"SEND\ndestination:sret\n\n\x00"),
        ([30, b"ret\nhost:x\n\n\x00"], b"***\nhost:x\n\n\x00"),
        ([b"SEND\na:b\x00passcode:s\n\n\x00"], b"SEND\na:b\x00passcode:*\n\n\x00"),
        ([b"SEND\na:b\rpasscode:s\n\n\x00"], b"SEND\na:b\rpasscode:*\n\n\x00"),
        ([b"ERROR\nmessage:m\n\nCONNECT\nlogin:x", 3, b"ret\nhost:x\x00"], b"ERROR\nmessage:m\n\nCONNECT\nlogin:x***\nhost:x\x00"),
        ([b"\x00\x00?junk\n"], b"\x00\x00?junk\n"),
        ([b"ERROR\n\npasscode:\x00"], b"ERROR\n\npasscode:\x00"),
    ],
)
def test_masked(parts: list[bytes | int], expected: bytes) -> None:
    masked, flags = redacted(*parts)
    assert masked == expected
    assert any(flags) == (masked != b"".join(p for p in parts if isinstance(p, bytes)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"ret\naccept-version:1.2\n\n\x00", b"***\naccept-version:1.2\n\n\x00"),
        (b"ret\n\n\x00", b"***\n\n\x00"),
        (b"lo world\x00", b"lo world\x00"),
    ],
)
def test_mid_stream(data: bytes, expected: bytes) -> None:
    assert redacted(data, synced=False)[0] == expected


def test_nothing_to_mask_is_no_copy() -> None:
    octets = np.frombuffer(b"SEND\na:b\n\n\x00", np.uint8)
    assert redact(octets, delimit(octets, Runs.whole(octets)))[0] is octets


SECRET = "Zq8~Zq9"
around = st.sampled_from(
    [b"CONNECT\n", b"STOMP\r\n", b"SEND\n", b"HELLO\n", b"ERROR\nmessage:x\n\n", b"\x00", b"\n", b"? junk\n", b"host:x\n", b"\r\n",
     b"destination:/q\n", b"content-length:40\n", b"passcode:" + SECRET.encode() + b"\n", b"Passcode : " + SECRET.encode() + b"\r\n",
     b"CONNECT\nlogin:u\npasscode:" + SECRET.encode() + b"\n\n\x00"]
)


@given(st.lists(around, max_size=12).map(b"".join), st.booleans())
def test_no_octet_of_a_passcode_is_left(data: bytes, synced: bool) -> None:
    octets, runs = runs_of([data], synced)
    rows = delimit(octets, runs)
    masked, flags = redact(octets, rows)
    assert masked.size == octets.size
    changed = masked != octets
    assert (masked[changed] == ord("*")).all()
    frames = rows.frames()
    batch = decode(octets, frames, np.full(len(frames), 2, np.int8))
    for row, frame in enumerate(batch.to_pylist()):
        head = masked[frames.position[row] : frames.position[row] + frames.body[row]].tobytes()
        assert SECRET.encode() not in head
        if frame["command"] == "ERROR":
            assert SECRET not in str(frame)
        assert SECRET not in str(frame["headers"]) + str(frame["header"])
        whole = masked[frames.position[row] : frames.position[row] + frames.length[row]].tobytes()
        searched = (whole if frame["command"] == "ERROR" else head).partition(b"\n")[2]
        assert (Syntax.PASSCODE in Syntax(frame["syntax"])) == (b"asscode" in searched)
    for row in np.flatnonzero(rows.kind > 1):
        assert SECRET.encode() not in masked[rows.position[row] : rows.position[row] + rows.length[row]].tobytes()
    assert flags.any() == changed.any()


def test_decode_masks_or_keeps() -> None:
    data = b"CONNECT\nlogin:u\npasscode:secret\xff\n\n\x00ERROR\n\n\npasscode:secret\x00"
    octets = np.frombuffer(data, np.uint8)
    frames = delimit(octets, Runs.whole(octets)).frames()
    versions = np.full(2, 2, np.int8)
    masked = decode(octets, frames, versions)
    assert "secret" not in str(masked.to_pylist())
    assert masked.column("header")[0].as_py() == [("login", "u"), ("passcode", "***")]
    kept = decode(octets, frames, versions, keep_credentials=True)
    assert kept.column("header")[0].as_py()[1] == ("passcode", "secret\\xff")
    assert kept.column("body_preview")[1].as_py() == "\npasscode:secret"
