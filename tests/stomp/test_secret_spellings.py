"""Passcodes that a broker spells out octet by octet in its ERROR, and lines torn off in another call than the one that brings them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.stomp import Runs, Syntax, decode, delimit, redact
from tests.stomp.rows import runs_of
from tests.timing import assert_quick


def masked(*parts: bytes | int, synced: bool = True) -> bytes:
    octets, runs = runs_of(list(parts), synced)
    return redact(octets, delimit(octets, runs))[0].tobytes()


def spelled(quoted: bytes, *, colons: bool = True) -> bytes:
    """As Artemis dumps what it refuses; in its header `message` the colons are lost."""
    signed = [octet - 256 if octet > 127 else octet for octet in quoted]
    words = ["" if o == 58 and not colons else str(o) if o < 33 else chr(o) for o in signed]
    return "".join(word + "," for word in words).encode()


def error(quoted: bytes) -> bytes:
    """Artemis's ERROR for these octets."""
    body = b"AMQ339024: Invalid STOMP frame: " + spelled(quoted)
    head = b"ERROR\nmessage:AMQ339023 Invalid STOMP frame " + spelled(quoted, colons=False)
    return head + b"\ncontent-type:text/plain\ncontent-length:%d\n\n" % len(body) + body + b"\x00"


HEAD = b"ERROR\nmessage:AMQ339023 Invalid STOMP frame "


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"L,10,P,A,S,S,C,O,D,E,,p,c,-,0,9,10,10,0,", b"L,10,P,A,S,S,C,O,D,E,,*********,10,10,0,"),
        (b"L,10,P,A,S,S,C,O,D,E,:,p,c,-,0,1,10,10,", b"L,10,P,A,S,S,C,O,D,E,:,*********,10,10,"),
        (b"p,a,s,s,c,o,d,e,32,9,:,0,10,h,o,s,t", b"p,a,s,s,c,o,d,e,32,9,:,*,10,h,o,s,t"),
        (b"p,a,s,s,c,o,d,e,\\c,:,a,13,10,x", b"p,a,s,s,c,o,d,e,\\c,******,10,x"),
        (b"p,a,s,s,c,o,d,e,9,b,0,d,10,x", b"p,a,s,s,c,o,d,e,*******,10,x"),
        (b"p,a,s,s,c,o,d,e,:,a,,,b,10,x", b"p,a,s,s,c,o,d,e,:,*****,10,x"),
        (b"p,a,s,s,c,o,d,e,:,-61,-10,10,x", b"p,a,s,s,c,o,d,e,:,*******,10,x"),
        (b"p,a,s,s,c,o,d,e,:,10,l,o,g", b"p,a,s,s,c,o,d,e,:,10,l,o,g"),
        (b"p,a,s,s,c,o,d,e,:,a,b", b"p,a,s,s,c,o,d,e,:,***"),
        (b"p,a,s,s,c,o,d,e,:,a,10,p,a,s,s,c,o,d,e,:,b,10", b"p,a,s,s,c,o,d,e,:,*,10,p,a,s,s,c,o,d,e,:,*,10"),
        (b"p,a,s,s,w,o,r,d,:,a,10", b"p,a,s,s,w,o,r,d,:,*,10"),
        (b"10,X,-,T,o,k,e,n,32,:,a,13,10,h,:,p", b"10,X,-,T,o,k,e,n,32,:,****,10,h,:,p"),
        (b"10,p,w,d,,a,10,a,p,w,d,:,b,10", b"10,p,w,d,,*,10,a,p,w,d,:,b,10"),
    ],
)
def test_in_the_head_and_the_body_of_an_error(line: bytes, expected: bytes) -> None:
    assert masked(HEAD + line + b"\na:b\n\n\x00") == HEAD + expected + b"\na:b\n\n\x00"
    assert masked(HEAD + line + b"\r\n\r\n\x00") == HEAD + expected + b"\r\n\r\n\x00"
    assert masked(b"ERROR\n\nAMQ: " + line + b"\x00") == b"ERROR\n\nAMQ: " + expected + b"\x00"
    assert masked(b"? junk " + line) == b"? junk " + expected
    other = b"SEND\na:b\n\n" + line + b"\x00"
    assert masked(other) == other


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([HEAD + b"p,a,s,s,c,o,d,e,:,p", 9, b"9,b,10,10,\na:b\n\n\x00"], HEAD + b"p,a,s,s,c,o,d,e,:,***********\na:b\n\n\x00"),
        ([HEAD + b"p,a,s,s", 9, b"c,o,d,e,:,9,b,10,10,\n\n\x00"], HEAD + b"p,a,s,s" + b"*" * 20 + b"\n\n\x00"),
        ([9, b"9,b,0,10,10,0,\ncontent-type:text/plain\n"], b"**************\ncontent-type:text/plain\n"),
    ],
)
def test_torn_by_a_gap(parts: list[bytes | int], expected: bytes) -> None:
    assert masked(*parts) == expected


passcodes = st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), min_size=1, max_size=12).map(
    lambda text: text.encode() + b"~Zq~"
)


@given(passcodes, st.sampled_from([b"passcode:", b"PASSCODE:", b"PassCode :"]), st.lists(st.integers(0, 400), max_size=2))
def test_no_spelling_of_a_passcode_is_left(passcode: bytes, name: bytes, cuts: list[int]) -> None:
    data = error(b"LOGIN\n" + name + passcode + b"\nhost:x\n\n\x00")
    octets, runs = runs_of([data])
    rows = delimit(octets, runs)
    shown, flags = redact(octets, rows)
    assert (rows.kind.tolist(), flags.tolist()) == ([0], [True])
    assert Syntax.PASSCODE in Syntax(int(rows.syntax[0]))
    assert shown.size == octets.size
    assert b"~" not in shown.tobytes()
    assert spelled(passcode)[:-1] not in shown.tobytes()
    assert shown.tobytes().count(b"h,o,s,t") == 2
    assert "~" not in str(decode(octets, rows, np.full(1, 2, np.int8)).to_pylist())
    # masked octets are taken for what they were
    again = delimit(shown, runs)
    assert again.length.tolist() == rows.length.tolist()
    assert (redact(shown, again)[0] == shown).all()
    # wherever a gap cuts it: what is left of the value does not show
    first, *rest = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    parts: list[bytes | int] = [data[:first]]
    for begin, end in zip([first, *rest], rest, strict=False):
        parts += [1, data[begin + 1 : end]]
    assert b"~" not in masked(*parts)


@pytest.mark.parametrize(
    "unit", [b"p,", b"p,a,s,s,c,o,d,e,", b"p,a,s,s,c,o,d,e,32,", b"32,", b"\x00", b"\x00 p", b"passcode\x00", b"\r", b"p"]
)
@pytest.mark.parametrize("start", [b"ERROR\n\n", b"?", b"p,a,s,s,c,o,d,e,"])
def test_linear_time(unit: bytes, start: bytes) -> None:
    octets, runs = runs_of([start + unit * (300_000 // len(unit))])
    assert_quick(lambda: redact(octets, delimit(octets, runs)))


@pytest.mark.parametrize("head", [b"CONNECT\npasscode:sec", b"CONNECT\nhost:x", b"CONN", b"SEND\npassc", b"ERROR\n\nlogin"])
@pytest.mark.parametrize("step", [1, 2, 7])
def test_a_line_torn_calls_before_it_comes(head: bytes, step: int) -> None:
    """The partial row and the gap come in one call, the octets behind the gap in others."""
    octets, runs = runs_of([head, 9, b"ret\nhost:y\n\n\x00SEND\na:b\n\n\x00"])
    total = int(runs.stream_octets[0])
    shown, marked = octets.copy(), Syntax(0)
    state, pending = None, 0
    for reach in [*range(len(head) + 9 + step, total, step), total]:
        keep = (runs.offset < reach) & (runs.offset + runs.length > pending)
        begin, end = np.maximum(runs.offset, pending)[keep], np.minimum(runs.offset + runs.length, reach)[keep]
        window = Runs(
            runs.direction[keep], runs.position[keep] + begin - runs.offset[keep], end - begin, begin, runs.synced,
            np.array([reach == total]), runs.stream_octets,
        )
        rows = delimit(octets, window, state)
        state, pending = rows.state, int(rows.pending[0])
        hidden, _ = redact(octets, rows)
        shown[hidden != octets] = ord("*")
        marked |= Syntax(int(np.bitwise_or.reduce(rows.syntax, initial=0)))
    assert shown.tobytes() == redact(octets, delimit(octets, runs))[0].tobytes()
    assert b"ret" not in shown.tobytes()
    assert shown.tobytes().endswith(b"***\nhost:y\n\n\x00SEND\na:b\n\n\x00")
    assert Syntax.TORN in marked
