"""Octets of stretches come from where they lie, and never from another segment."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stompcap.tcp.octets import octets_at

PAYLOADS = [b"abc", None, b"", b"defg", None]
CHUNKS = {"one": [PAYLOADS], "several": [PAYLOADS[:2], PAYLOADS[2:]], "a slice": [[b"before", *PAYLOADS, b"behind"]]}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_of_a_segment_without_octets_there_are_asterisks(chunks: list[list[bytes | None]]) -> None:
    payload = pa.chunked_array([pa.array(part, pa.binary()) for part in chunks])
    payload = payload.slice(payload.length() - len(PAYLOADS) - (payload.length() > len(PAYLOADS)), len(PAYLOADS))
    count = len(PAYLOADS)
    segments = pa.table({"capture": np.zeros(count, np.int32), "file_offset": np.full(count, -1), "payload": payload})
    rows, skip, lengths = np.array([4, 3, 1, 0]), np.array([0, 1, 2, 0]), np.array([3, 2, 2, 3])
    assert octets_at(rows, skip, lengths, segments, {}).tobytes() == b"***ef**abc"
