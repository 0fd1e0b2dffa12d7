"""Octets that are read for several directions at once are those of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from stompcap.capture.segment_columns import SEGMENTS
from stompcap.columns import Octets, column
from stompcap.transport import ahead
from stompcap.transport.ahead import Ahead
from stompcap.transport.carried import Carried
from stompcap.transport.stretches import NO_STRETCHES, Stretches

STREAMS, PIECES = 5, 3


def carried() -> tuple[Carried, list[bytes]]:
    """Streams of which each side has some pieces, and what each direction says."""
    count = STREAMS * 2 * PIECES
    payload = [b"%d." % number * (1 + number % 4) for number in range(count)]
    rows = np.arange(count)
    columns = {field.name: pa.array(np.zeros(count)).cast(field.type) for field in SEGMENTS if pa.types.is_primitive(field.type)}
    columns |= {field.name: pa.nulls(count, field.type) for field in SEGMENTS if field.name not in columns}
    columns |= {"file_offset": pa.array(np.full(count, -1)), "payload": pa.array(payload, SEGMENTS.field("payload").type)}
    segments = pa.table([columns[name] for name in SEGMENTS.names], names=SEGMENTS.names)
    lengths = np.array([len(one) for one in payload])
    offsets = np.concatenate([np.cumsum(one) - one for one in lengths.reshape(-1, PIECES)])
    side = (rows // PIECES % 2).astype(np.int8)
    found = Stretches((rows // PIECES // 2).astype(np.int32), side, offsets, lengths, rows, rows + 1, rows, rows * 0, rows < 0)
    said = [b"".join(payload[at : at + PIECES]) for at in range(0, count, PIECES)]
    ends, there = lengths.reshape(STREAMS, 2, PIECES).sum(axis=2), np.ones((STREAMS, 2), np.bool_)
    return Carried(found, ends, there, there[:, 0], segments, {}), said


@pytest.mark.parametrize("most", [0, 1, 20, 1 << 20])
@pytest.mark.parametrize("streams", [[0, 1, 2, 3, 4], [1, 3], [4, 0], [2]])
@pytest.mark.parametrize("alone", [False, True])
def test_each_direction_has_its_octets(most: int, streams: list[int], alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "AHEAD", most)
    below, said = carried()
    read = Ahead(below, np.array(streams))
    for direction in (2 * stream + side for stream in streams for side in (0, 1)):
        begin, end = below.bounds[direction : direction + 2].tolist()
        assert read.read(begin, end, alone=alone).tobytes() == said[direction]
        assert read.read(begin + 1, end, alone=alone).tobytes() == below.read(below.stretches.take(slice(begin + 1, end))).tobytes()


def test_several_directions_are_one_reading_and_those_of_other_streams_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    below, said = carried()
    sizes: list[int] = []

    def read_(self: Carried, stretches: Stretches) -> Octets:
        sizes.append(len(stretches))
        return np.zeros(int(stretches.length.sum()), np.uint8)

    monkeypatch.setattr(Carried, "read", read_)
    read = Ahead(below, np.array([0, 1, 3]))
    for direction in (0, 1, 2, 3, 6, 7):
        assert read.read(*below.bounds[direction : direction + 2].tolist()).size == len(said[direction])
    assert sizes == [4 * PIECES, 2 * PIECES]


def test_nothing_is_nothing() -> None:
    below, _ = carried()
    empty = replace(below, stretches=NO_STRETCHES)
    assert not Ahead(empty, np.array([0])).read(0, 0).size
    assert column(below.segments, "file_offset").max() == -1
