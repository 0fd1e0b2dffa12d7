"""198 public traces: every stream side on which two independent reassemblers agree, by length and SHA-256."""

import csv
import hashlib
from collections import Counter, defaultdict

import pytest

from stompcap.tcp import reassemble
from tests.shared import SHARED, shared

FOLDER = "captures/tcp"


def expected():
    """(source, destination, octets, SHA-256) of each stream side that carries data, by trace."""
    sides = defaultdict(Counter)
    table = SHARED / FOLDER / "expected.tsv"
    if table.exists():
        with table.open() as file:
            for row in csv.DictReader(file, delimiter="\t"):
                sides[row["file"]][row["src"], row["dst"], int(row["bytes"]), row["sha256"]] += 1
    return sides


EXPECTED = expected()


def endpoint(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


@pytest.mark.parametrize("trace", sorted(EXPECTED) or ["expected.tsv"])
def test_streams_are_those_two_others_agree_on(trace):
    found = Counter()
    for connection in reassemble(str(shared(f"{FOLDER}/{trace}"))):
        ends = endpoint(*connection.client), endpoint(*connection.server)
        for way, stream in ((ends, connection.c2s), (ends[::-1], connection.s2c)):
            octets = b"".join(piece for _, piece in stream.chunks)
            found[*way, len(octets), hashlib.sha256(octets).hexdigest()] += bool(octets)
    assert not EXPECTED[trace] - found
