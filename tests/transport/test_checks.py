"""How the layers below STOMP were used, as the rules TR take it: what is broken is found, and nothing is concluded from what is missing."""

from __future__ import annotations

import struct
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.options import Options
from stompcap.transport.checks import of_layers, of_text, text_of
from stompcap.transport.crc32c import crc32c
from stompcap.transport.proxy import NO_CHECKSUM, RIGHT, SIGNATURE, WRONG, checksum_of
from tests.transport.headers import behind, v1, v2
from tests.transport.in_websocket import Writer, answer, frame, inside, request
from tests.transport.test_proxy import wire as proxied
from tests.transport.test_tls import wire as encrypted
from tests.transport.test_websocket_frames import DEFLATE, LAYER, cut, read
from tests.transport.tls_traffic import inside as in_tls

MASK = b"abcd"
HEADS = request(), answer("Sec-WebSocket-Protocol: v12.stomp")


def close(code: int | None, mask: bytes | None = None) -> bytes:
    return frame(b"" if code is None else struct.pack(">H", code) + b"why", 8, mask=mask)


def sent(octets: bytes, opcode: int = 1, **how) -> tuple[bytes, bytes]:
    """A frame of the client, and none of the server."""
    return frame(octets, opcode, mask=MASK, **how), b""


def answered(octets: bytes, opcode: int = 1, **how) -> tuple[bytes, bytes]:
    return b"", frame(octets, opcode, **how)


def checks(kept) -> dict[tuple[str, int], str]:
    return {(one.what, one.side): one.outcome for summary in LAYER.summaries(kept) for one in summary.checks}


def checked(client: bytes, server: bytes, heads=HEADS, **how) -> dict[tuple[str, int], str]:
    pieces = [(0, 0, heads[0]), (1, 0, heads[1]), (0, len(heads[0]), client), (1, len(heads[1]), server)]
    return checks(read([one for one in pieces if one[2]], **how)[3])


BROKEN = {
    "a client's frame without mask": ((frame(b"a", 1), b""), ("mask", 0)),
    "a server's frame with mask": ((b"", frame(b"a", 1, mask=MASK)), ("mask", 1)),
    "RSV1 without deflate": (sent(b"a", rsv1=True), ("reserved", 0)),
    "RSV2": ((b"", b"\xa1\x00"), ("reserved", 1)),
    "an opcode that is none": (answered(b"a", 5), ("reserved", 1)),
    "a long length": ((b"", b"\x81\x7e\x00\x01a"), ("length", 1)),
    "a large ping": (answered(bytes(126), 9), ("control", 1)),
    "half a pong": (sent(b"", 10, fin=False), ("control", 0)),
    "a continuation of nothing": (sent(b"a", 0), ("fragments", 0)),
    "a message in a message": ((b"", frame(b"a", 1, fin=False) + frame(b"b", 1)), ("fragments", 1)),
    "a message behind Close": ((b"", close(1000) + frame(b"a", 1)), ("after_close", 1)),
    "1005": ((close(1005, MASK), b""), ("close_code", 0)),
    "999": ((b"", close(999)), ("close_code", 1)),
    "5000": ((b"", close(5000)), ("close_code", 1)),
    "half a code": ((b"", frame(b"\x03", 8)), ("close_code", 1)),
    "no Close for a Close": ((close(1000, MASK), frame(b"a", 1)), ("close_answer", 1)),
}


@pytest.mark.parametrize(("octets", "what"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_found_of_the_side_that_breaks_it(octets, what):
    found = checked(*octets)
    assert found[what] == "broken"
    others = {key: outcome for key, outcome in found.items() if key != what and key[0] != "close_answer"}
    assert set(others.values()) <= {"kept", "unknown"}, others


@pytest.mark.parametrize(("octets", "what"), BROKEN.values(), ids=BROKEN)
def test_it_is_the_same_in_several_runs(octets, what):
    whole = checked(*octets)
    pieces = [(0, 0, HEADS[0]), (1, 0, HEADS[1])]
    for side, part in enumerate(octets):
        pieces += cut(side, part, [len(part) // 2], len(HEADS[side])) if part else []
    kept = read([one for one in pieces if one[2]], len(pieces))[3]
    assert checks(kept) == whole


@pytest.mark.parametrize(("octets", "what"), BROKEN.values(), ids=BROKEN)
def test_behind_missing_heads_nothing_is_broken(octets, what):
    """What looks so may be octets of a frame that is missing, and what was missed may be broken."""
    side = what[1]
    lost = [len(head) + (9 if number == side else 0) for number, head in enumerate(HEADS)]
    pieces = [(0, 0, HEADS[0]), (1, 0, HEADS[1])] + [(number, lost[number], part) for number, part in enumerate(octets) if part]
    found = checks(read(pieces)[3])
    assert not [key for key, outcome in found.items() if outcome == "broken" and key[1] == side and key[0] != "close_answer"]
    assert "kept" not in {found.get((name, side)) for name in ("mask", "reserved", "length", "fragments")}


PIECES = "a \u00e9 \u20ac \U0001f600 z".encode()
NO_UTF8 = {
    "a lone octet": [b"a\xff"], "half a character at the end": [b"a\xe2\x82"], "half of one between fragments": [b"\xe2\x82", b"a"],
    "a surrogate": [b"\xed\xa0\x80"], "a surrogate in fragments": [b"\xed", b"\xa0\x80"], "overlong": [b"\xe0", b"\x80\x80"],
    "beyond the last": [b"\xf4", b"\x90", b"\x80", b"\x80"], "four and three": [b"\xf0\x9f", b"\x98a"],
}  # fmt: skip


def fragments(parts: list[bytes], opcode: int) -> bytes:
    return b"".join(frame(part, 0 if number else opcode, fin=number == len(parts) - 1) for number, part in enumerate(parts))


@pytest.mark.parametrize("parts", NO_UTF8.values(), ids=NO_UTF8)
@pytest.mark.parametrize("steps", [1, 5])
def test_a_text_that_is_no_utf8_is_found_and_no_binary_message(parts, steps):
    for opcode, outcome in ((1, "broken"), (2, None)):
        octets = frame(b"first", opcode) + fragments(parts, opcode) + frame(b"last", opcode)
        pieces = [(0, 0, HEADS[0]), (1, 0, HEADS[1]), *cut(1, octets, list(range(2, len(octets), 3)), len(HEADS[1]))]
        assert checks(read(pieces, min(steps, len(pieces)))[3]).get(("utf8", 1)) == outcome


@given(st.lists(st.integers(0, len(PIECES)), max_size=6), st.integers(1, 9), st.booleans())
def test_a_text_that_is_utf8_is_kept_wherever_it_is_cut(cuts, steps, empty):
    edges = [0, *sorted(cuts), len(PIECES)]
    parts = [PIECES[a:b] for a, b in pairwise(edges) if a < b or empty]
    octets = fragments(parts, 1) + frame(PIECES, 1) + fragments([b"", b"\xff"], 2)
    pieces = [(0, 0, HEADS[0]), (1, 0, HEADS[1]), *cut(1, octets, list(range(1, len(octets), steps)), len(HEADS[1]))]
    assert checks(read(pieces, min(steps, len(pieces)))[3])["utf8", 1] == "kept"


@pytest.mark.parametrize(("octets", "outcome"), [(PIECES, "kept"), (b"\xff", "broken")])
def test_compressed_texts_are_judged_too(octets, outcome):
    heads = request(), answer(f"Sec-WebSocket-Extensions: {DEFLATE}")
    writes = Writer(False, deflate=True)
    sent = frame(writes.packed(octets), 1, rsv1=True)
    assert checked(b"", sent, heads)["utf8", 1] == outcome


def test_what_is_fine_is_kept():
    found = checked(frame(b"CONNECT\n\n\0", 1, mask=MASK) + frame(b"", 9, mask=MASK) + close(1000, MASK),
                    frame(b"CONNECTED\n\n\0", 2, fin=False) + frame(b"x", 10) + frame(b"", 0) + close(1000))  # fmt: skip
    assert set(found.values()) == {"kept"}
    assert {what for what, _ in found} == {
        "accept", "subprotocol", "version", "mask", "reserved", "length", "control", "fragments", "after_close", "close_code",
        "close_answer", "utf8",
    }  # fmt: skip


def test_a_hole_within_a_payload_hides_no_frame():
    head, size = len(HEADS[0]), 300
    whole = frame(bytes(size), 1, mask=MASK) + frame(b"a", 1)
    pieces = [(0, 0, HEADS[0]), (1, 0, HEADS[1]), (0, head, whole[:50]), (0, head + 100, whole[100:])]
    assert checks(read(pieces)[3])["mask", 0] == "broken"


HANDSHAKES = {
    "asked for": ("v12.stomp, v11.stomp", "Sec-WebSocket-Protocol: v11.stomp", "kept"),
    "not asked for": ("v12.stomp, v11.stomp", "Sec-WebSocket-Protocol: v10.stomp", "broken"),
    "a token": ("v12.stomp, v11.stomp", "Sec-WebSocket-Protocol: s3cret", "unknown"),
    "none": ("v12.stomp, v11.stomp", "X: y", None),
}


@pytest.mark.parametrize(("_", "line", "outcome"), HANDSHAKES.values(), ids=HANDSHAKES)
def test_the_subprotocol_is_one_of_those_asked_for(_, line, outcome):
    assert checked(b"", frame(b"a", 1), (request(), answer(line))).get(("subprotocol", 1)) == outcome


def test_an_answer_to_another_key_is_found():
    wrong = answer().replace(b"s3pPLMB", b"s3pPLMC")
    assert checked(b"", frame(b"a", 1), (request(), wrong))["accept", 1] == "broken"


def test_rsv1_is_fine_where_deflate_was_agreed_on():
    heads = request(), answer(f"Sec-WebSocket-Extensions: {DEFLATE}")
    assert checked(b"", frame(b"\xcaH\xcd\xc9\xc9\x07\x00", 1, rsv1=True), heads)["reserved", 1] == "kept"


VECTORS = [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)]


@pytest.mark.parametrize(("octets", "expected"), VECTORS)
def test_crc32c_is_that_of_rfc_3720(octets, expected):
    assert crc32c(octets) == expected


def with_checksum(header: bytes, wrong: int = 0) -> bytes:
    """A header whose last TLV is its checksum, as of four zeros."""
    return header[:-4] + struct.pack(">I", crc32c(header) ^ wrong)


CHECKSUM = b"\x03\x00\x04" + bytes(4)
CHECKED = {
    "right": (with_checksum(v2("203.0.113.7", 40000, CHECKSUM)), RIGHT),
    "right, behind another": (with_checksum(v2("2001:db8::7", 40000, b"\x05\x00\x03abc" + CHECKSUM)), RIGHT),
    "wrong": (with_checksum(v2("203.0.113.7", 40000, CHECKSUM), 1), WRONG),
    "none": (v2("203.0.113.7", 40000, b"\x05\x00\x03abc"), NO_CHECKSUM),
    "too short": (v2("203.0.113.7", 40000, b"\x03\x00\x02ab"), NO_CHECKSUM),
    "beyond the header": (v2("203.0.113.7", 40000, b"\x03\x00\x04a"), NO_CHECKSUM),
    "version 1": (v1("203.0.113.7", 40000), NO_CHECKSUM),
    "LOCAL": (with_checksum(SIGNATURE + b"\x20\x00\x00\x07" + CHECKSUM), RIGHT),
}


@pytest.mark.parametrize(("header", "expected"), CHECKED.values(), ids=CHECKED)
def test_the_checksum_of_a_header(header, expected):
    assert checksum_of(header, len(header)) == expected
    assert checksum_of(header[:-1], len(header)) == NO_CHECKSUM


@given(st.binary(max_size=60))
def test_the_rest_of_a_header_may_be_anything(octets):
    assert checksum_of(v2("203.0.113.7", 40000, octets), 28 + len(octets)) in (NO_CHECKSUM, RIGHT, WRONG)


def verdicts(tables: dict[str, pa.Table], rule: str) -> set[tuple[int, int, int]]:
    """What the rows of compliance of a rule say: passed, failed, not evaluable."""
    return {(row["passed"], row["failed"], row["not_evaluable"]) for row in tables["compliance"].to_pylist() if row["rule_id"] == rule}


@pytest.mark.parametrize(("wrong", "expected"), [(0, {(1, 0, 0)}), (7, {(0, 1, 0)})])
def test_a_wrong_checksum_is_a_finding(wrong, expected, tmp_path):
    tables = proxied(tmp_path / "a", behind(with_checksum(v2("203.0.113.7", 40000, CHECKSUM), wrong))).tables()
    assert verdicts(tables, "TR-13") == expected


@pytest.mark.parametrize("closing", [True, False])
def test_a_close_without_close_notify_is_a_finding(closing, tmp_path):
    log = str(tmp_path / "keys.log")
    tables = encrypted(tmp_path / "a", in_tls(log, "1.3 AES-256-GCM", closing=closing)).tables(Options(keylog=(log,)))
    found = verdicts(tables, "TR-12")
    assert (sum(failed for _, failed, _ in found) > 0) == (not closing)


def test_rules_of_websocket_are_judged_by_what_the_layer_saw(tmp_path):
    tables = proxied(tmp_path / "a", inside(fragments=3, pings=True)).tables()
    for rule in ("TR-04", "TR-05", "TR-06", "TR-08"):
        assert verdicts(tables, rule) == {(2, 0, 0)}, rule
    assert verdicts(tables, "TR-01") == {(1, 0, 0)}


def test_the_text_of_checks_is_read_again():
    found = [one for summary in LAYER.summaries(read([(0, 0, HEADS[0]), (1, 0, HEADS[1]), (1, len(HEADS[1]), close(1005))])[3])
             for one in summary.checks]  # fmt: skip
    assert of_text(text_of(found, 0) or "") == found
    assert of_text(of_layers([text_of(found[:2], 0), None, text_of(found[2:], 0)]) or "") == found
    assert text_of([], 0) is of_layers([None]) is None
