"""The heart-beat header and its negotiation, by the vectors that other implementations test with."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from stompcap.session.heartbeats.header import negotiate, parse
from tests.shared import shared

CASES = [
    (None, 0, 0),
    ("0,0", 0, 0),
    ("1000,2000", 1000, 2000),
    ("86400000,31536000000", 86_400_000, 31_536_000_000),
    ("1000", 0, 0),
    ("1000,", 0, 0),
    (",1000", 0, 0),
    ("1000, 1000", 0, 0),
    ("-1,1000", 0, 0),
    ("1,2,3", 0, 0),
    ("1.5,2", 0, 0),
    ("99999999999999999999,1", 0, 0),
    ("", 0, 0),
]


def test_headers() -> None:
    can, wants = parse(pa.array([c[0] for c in CASES], pa.string()))
    assert list(zip(can.tolist(), wants.tolist(), strict=True)) == [c[1:] for c in CASES]


def test_no_headers() -> None:
    can, wants = parse(pa.array([], pa.string()))
    assert len(can) == len(wants) == 0


def test_header_vectors() -> None:
    vectors = [v for v in json.loads(shared("vectors/stomp_vectors.json").read_text())["heartbeat_header"] if v["valid"] is not None]
    can, wants = parse(pa.array([v["value"] for v in vectors]))
    assert [[int(c), int(w)] for c, w in zip(can, wants, strict=True)] == [v["parsed"] or [0, 0] for v in vectors]


def test_pairwise_vectors() -> None:
    vectors = json.loads(shared("vectors/stomp_vectors.json").read_text())["heartbeat_pairwise"]
    can, wants = np.array([v["can"] for v in vectors]), np.array([v["wants"] for v in vectors])
    assert negotiate(can, wants).tolist() == [v["interval"] for v in vectors]


def test_session_vectors() -> None:
    for v in json.loads(shared("vectors/stomp_vectors.json").read_text())["heartbeat_sessions"]:
        (cx, cy), (sx, sy) = v["client"], v["server"]
        found = [negotiate(np.array([a]), np.array([b]))[0] for a, b in ((cx, sy), (sx, cy))]
        assert found == [v["c2s"], v["s2c"]]


@pytest.mark.parametrize(("can", "wants", "interval"), [(0, 0, 0), (5, 0, 0), (0, 5, 0), (3, 5, 5), (5, 3, 5), (4, 4, 4)])
def test_the_larger_of_the_two_unless_one_declines(can: int, wants: int, interval: int) -> None:
    assert negotiate(np.array([can]), np.array([wants])).tolist() == [interval]
