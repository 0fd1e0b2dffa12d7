"""A passcode that a connection repeats is masked, in whatever frame of whichever side; nothing is made to mean something else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.stomp import Runs, decode, delimit, mask_repeats, parse, passcodes_of, redact

SECRET = b"pa55word"
OPEN = b"CONNECT\nlogin:u\npasscode:%b\n\n\x00"
STARS = b"*" * len(SECRET)


def masked(client: bytes, server: bytes = b"", *others: bytes) -> list[bytes]:
    """The octets of each side of some connections as they may be shown."""
    sides = [client, server, *others]
    octets = np.frombuffer(b"".join(sides), np.uint8)
    length = np.array([len(side) for side in sides])
    count = len(sides)
    runs = Runs(
        np.arange(count, dtype=np.int32), np.cumsum(length) - length, length, np.zeros(count, np.int64), np.ones(count, bool),
        np.ones(count, bool), length,
    )  # fmt: skip
    rows = delimit(octets, runs)
    once, _ = redact(octets, rows)
    twice, flags = mask_repeats(once, rows, passcodes_of(octets, rows))
    for at, size, said in zip(rows.position, rows.length, flags, strict=True):
        assert (once[at : at + size] != twice[at : at + size]).any() == said
    shown = twice.tobytes()
    return [shown[at : at + size] for at, size in zip(np.cumsum(length) - length, length, strict=True)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"ERROR\nmessage:m\n\nbad passcode 'pa55word' for u\x00", b"ERROR\nmessage:m\n\nbad passcode '********' for u\x00"),
        (b"ERROR\nmessage:pa55word, pa55word\n\n\x00", b"ERROR\nmessage:********, ********\n\n\x00"),
        (b"MESSAGE\nx:1\n\npa55wordpa55word\x00", b"MESSAGE\nx:1\n\n****************\x00"),
        (b"ERROR\nmessage:m\n\npa55wor pa55word", b"ERROR\nmessage:m\n\npa55wor ********"),
        (b"?pa55word\n", b"?********\n"),
        (b"MESSAGE\npa55word:x\n\n\x00", b"MESSAGE\npa55word:x\n\n\x00"),
        (b"ERROR\nmessage:a\\\\pa55word\n\n\x00", b"ERROR\nmessage:a\\\\********\n\n\x00"),
        (b"ERROR\nmessage:a\\\\\\pa55word\n\n\x00", b"ERROR\nmessage:a\\\\*********\n\n\x00"),
        (b"\n\n", b"\n\n"),
        (b"", b""),
    ],
)
def test_what_the_other_side_repeats(said: bytes, expected: bytes) -> None:
    client, server = masked(OPEN % SECRET, said)
    assert client == OPEN % STARS
    assert server == expected


@pytest.mark.parametrize(
    ("given_as", "quoted"),
    [(b"se:cret\\x", b"se\\ccret\\\\x"), (b"se\\ccret", b"se:cret"), (b"se\\\\nret", b"se\\nret"), (b" secret ", b" secret ")],
)
def test_escaped_or_not(given_as: bytes, quoted: bytes) -> None:
    head, body = (b"ERROR\nmessage:bad %b\n\n\x00" % quoted, b"ERROR\nmessage:bad\n\n%b\x00" % quoted)
    for said in (head, body):
        assert masked(OPEN % given_as, said)[1] == said.replace(quoted, b"*" * len(quoted))


@pytest.mark.parametrize(
    ("head", "repeated"),
    [
        (b"CONNECT\nx:stomp://bob:pa55word@h/q\n", b"pa55word"), (b"SEND\nx:stomp\\c//bob\\cpa55word-@h\n", b"pa55word-"),
        (b"SEND\nx:failover:(tcp://h,tcp://u:pa%2F55word@h)\n", b"pa/55word"), (b"SEND\nx:https://t0ken-0f-git@h\n", b"t0ken-0f-git"),
        (b"CONNECT\nlogin:eyJhbGciOi.eyJzdWIi.c2ln\n", b"eyJhbGciOi.eyJzdWIi.c2ln"), (b"SEND\nx:a eyJh.eyJz.c2ln\n", b"eyJh.eyJz.c2ln"),
    ],
)  # fmt: skip
def test_what_values_give(head: bytes, repeated: bytes) -> None:
    assert masked(head + b"\n\0", b"MESSAGE\na:b\n\nsee %b.\0" % repeated)[1] == b"MESSAGE\na:b\n\nsee %b.\0" % (b"*" * len(repeated))


@pytest.mark.parametrize("head", [b"CONNECT\nx:http://manager@host\n", b"SEND\nx:http://u:manager@h\n", b"ERROR\nx:a://u:pa55word@h\n"])
def test_what_may_be_a_mere_name_or_is_quoted_is_not_given(head: bytes) -> None:
    said = b"MESSAGE\na:b\n\nmanager pa55word\0"
    assert masked(head + b"\n\0", said)[1] == said


def test_short_ones_are_left_alone_and_other_connections_masked() -> None:
    said = b"MESSAGE\nx:1\n\nguest pa55word\x00"
    assert masked(OPEN % b"guest", said)[1] == said
    assert masked(OPEN % SECRET, b"", b"", said)[3] == said.replace(SECRET, STARS)


@pytest.mark.parametrize(
    ("passcode", "frame"),
    [
        (b"CONNECTED", b"CONNECTED\nversion:1.2\n\n\x00"),
        (b"destination", b"SEND\ndestination:/q\n\n\x00"),
        (b"100000", b"CONNECTED\nheart-beat:100000,100000\ncontent-length:100000\n\n\x00"),
        (b"1.1,1.2", b"CONNECT\naccept-version:1.1,1.2\n\n\x00"),
        (b"a\\nb:cd", b"SEND\na\nb:cd\n\n\x00"),
    ],
)
def test_no_passcode_makes_a_frame_mean_something_else(passcode: bytes, frame: bytes) -> None:
    assert masked(OPEN % passcode, frame)[1] == frame


def test_a_client_that_tries_many_passcodes() -> None:
    tries = [b"passcode%d" % number for number in range(20)]
    client, server = masked(b"".join(OPEN % one for one in tries), b"".join(b"ERROR\n\n%b\x00" % one for one in tries))
    assert b"passcode0" not in server
    assert not any(b":%b\n" % one in client for one in tries)


OCTETS = st.sampled_from([b"pa55word", b"pa55", b"word", b"\\", b"\n", b":", b"a", b"\x00", b"SEND\n", b"destination:", b"\n\n", b"\\c"])


@given(st.lists(OCTETS, max_size=30).map(b"".join))
def test_nothing_is_left_and_all_else_stays(said: bytes) -> None:
    """In whatever stands behind a head the passcode is gone; frames keep their bounds, commands, names and errors."""
    octets = np.frombuffer(OPEN % SECRET + said, np.uint8)
    rows = delimit(octets, Runs.whole(octets))
    shown, _ = mask_repeats(redact(octets, rows)[0], rows, passcodes_of(octets, rows))
    frames, again = rows.frames(), delimit(shown, Runs.whole(shown)).frames()
    for name in ("offset", "length", "command", "body"):
        assert getattr(again, name).tolist() == getattr(frames, name).tolist(), name
    versions = np.full(len(frames), 2, np.int8)
    before, after = decode(octets, frames, versions), decode(shown, frames, versions)
    assert after.column("decode_errors") == before.column("decode_errors")
    for old, new in zip(before.column("headers").to_pylist(), after.column("headers").to_pylist(), strict=True):
        assert [entry["name"] for entry in new] == [entry["name"] for entry in old]
        assert not any(entry["value"] and "pa55word" in entry["value"] for entry in new)
    for row in np.flatnonzero(rows.body >= 0):
        begin, end = rows.position[row] + rows.body[row], rows.position[row] + rows.length[row]
        assert SECRET not in shown[begin:end].tobytes()


def test_what_is_parsed_alone_is_not_touched() -> None:
    assert next(iter(parse(b"SEND\ndestination:/q\n\npa55word\x00"))).body == SECRET
