"""Frame vectors distilled from other projects' test suites.

Where a strict reader must refuse (no frames in the vector), this one is tolerant: TOLERATED says what comes out, and the fact that a strict
reader refuses for is a syntax bit or a rule of decode_errors.
"""

from __future__ import annotations

import json

import pytest

from stompcap.stomp import Delimiter, Syntax, parse
from tests.shared import SHARED, shared
from tests.stomp.rows import chunked, rows_of

FILE = "vectors/stomp_vectors.json"
PATH = SHARED / FILE
VECTORS = json.loads(PATH.read_text())["vectors"] if PATH.exists() else []
DECIDED = {"FR-02", "FR-03", "FR-04", "FR-07", "FR-08", "FR-15", "FR-17", "FR-18", "FR-19"}

# vector: kinds of rows, (command, headers, body) of the frames, the syntax bit that shows why a strict reader refuses
TOLERATED = {
    "sp16": (["partial"], [], Syntax.LENGTH_MISSED),
    "rb04": (["junk"], [], Syntax.BARE_CR),
    "rb05": (["junk"], [], Syntax.BARE_CR),
    "rb06": (["junk"], [], Syntax.BARE_CR),
    "rb08": (
        ["frame"], [("CONNECT", (("hdr1", "val1"), ("hdrerror", None), ("hdr2", "val2")), b"")], Syntax.NO_COLON
    ),
    "rb10": (["frame"], [("SEND", (("destination", "/q"), ("head\rer", "val")), b"")], Syntax.BARE_CR),
    "rb11": (["frame"], [("SEND", (("destination", "/q"), ("header", "val\rue")), b"")], Syntax.BARE_CR),
    "rc03": (["partial"], [], Syntax.LENGTH_MISSED),
    "se02a": (
        ["frame"], [("MESSAGE", (("content-length", "4"),), b"\xf0\n\t\xff\x01\n\nCONNECT\n")], Syntax.LENGTH_MISSED
    ),
    "se02b": (["frame"], [("MESSAGE", (("content-length", "4"),), b"\xf0\n\t\xff\x01")], Syntax.LENGTH_MISSED),
    "se02c": (["partial"], [], Syntax.LENGTH_MISSED),
    "se02d": (["partial"], [], Syntax.LENGTH_MISSED),
    "go03": (["partial"], [], Syntax.LENGTH_MISSED),
    "spec02": (["partial"], [], Syntax.NUL_IN_HEAD),
}


def test_the_vectors_are_there() -> None:
    shared(FILE)
    assert len(VECTORS) == 101
    refused = {v["id"] for v in VECTORS if v["strict_error"] and not v["frames"]}
    assert refused == set(TOLERATED)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_frames(vector: dict) -> None:
    data = bytes.fromhex(vector["input_hex"])
    rows = rows_of(data)
    frames = parse(data, vector["version"])
    if vector["id"] in TOLERATED:
        kinds, expected, bit = TOLERATED[vector["id"]]
        assert [row[0] for row in rows] == kinds
        syntax = Syntax(0)
        for row in rows:
            syntax |= row[4]
        for frame in frames:
            syntax |= frame.syntax
        assert bit in syntax
    else:
        expected = [
            (f["command"], tuple((n, v) for n, v in f["headers"]), bytes.fromhex(f["body_hex"])) for f in vector["frames"]
        ]
        assert ("partial" in [row[0] for row in rows]) == vector["incomplete"]
    assert [(f.command_raw, f.headers, f.body) for f in frames] == expected
    if frames:
        assert {e for f in frames for e in f.decode_errors} == DECIDED & set(vector["flags"])


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["eols_outside"] is not None], ids=lambda v: v["id"])
def test_eols_outside(vector: dict) -> None:
    data = bytes.fromhex(vector["input_hex"])
    eols = sum(data[row[1] : row[1] + row[2]].count(b"\n") for row in rows_of(data) if row[0] == "eol")
    assert eols == vector["eols_outside"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_chunks(vector: dict) -> None:
    data = bytes.fromhex(vector["input_hex"])
    whole = rows_of(data)
    assert chunked(data, [1] * len(data)) == whole
    if isinstance(vector["chunks"], list):
        assert chunked(data, vector["chunks"]) == whole
    delimiter = Delimiter()
    rows = [row for octet in data for row in delimiter.feed(bytes([octet]))] + delimiter.close()
    assert [(row.kind, row.offset, row.length, row.delimited_by, row.syntax) for row in rows] == [r[:5] for r in whole]
    assert b"".join(row.octets or b"" for row in rows) == data
