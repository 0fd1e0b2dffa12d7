"""A remote capture's payload travels with its segments: each byte is asked for once, and is what the local file has at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap import capture
from stompcap.capture import uris
from stompcap.spark.workers.read import Read
from stompcap.tasks.failures import Failures
from stompcap.tasks.packing import Packs
from tests.e2e.truth import DATA
from tests.s3 import store

PATH = DATA / "rabbitmq_dialogue.pcap"


def test_each_byte_is_asked_for_once_and_travels_with_its_segment() -> None:
    pytest.importorskip("moto")
    uris._filesystem.cache_clear()
    octets = Path(PATH).read_bytes()
    with store() as s3:
        found = capture.examine(s3.put("a.pcap", octets), "s", 1 << 16)
        assert found is not None
        s3.asked.clear()
        rows = [
            row
            for batch in Read(Packs([[(0, split) for split in found.splits]]), 1, False, True)._read(0, Failures())
            for row in batch.to_pylist()
        ]
        asked = sum(end - begin for begin, end in s3.ranges)
    uris._filesystem.cache_clear()
    local = [row for batch in capture.read_segments(str(PATH), 0) for row in batch.to_pylist()]
    assert len(rows) == len(local)
    for there, here in zip(rows, local, strict=True):
        at = here["file_offset"]
        assert there["payload"] == octets[at : at + here["captured_octets"]]
        assert there["file_offset"] == -1
    assert found.carried_octets == sum(len(row["payload"]) for row in rows)
    assert asked < 1.3 * len(octets), "parts overlap by what begins before them"
