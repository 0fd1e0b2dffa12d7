"""A connection that lies in several captures, and the public way to one capture's connections."""

import dataclasses
import gzip
import tempfile

import numpy as np
import pyarrow as pa
import pytest

from stompcap.capture import read_segments
from stompcap.errors import CaptureError
from stompcap.tcp import connections, flows, reassemble, reassemble_columns, sorted_runs
from tests.capture.packaging import Frame, pcap, pcapng
from tests.e2e.truth import DATA
from tests.tcp.wire import CLIENT, SERVER, START_NS, STEP_NS, Wire, streams_of, table_of


def talk() -> Wire:
    wire = Wire().handshake().c(0, b"hello ").s(0, b"HELLO ", ack=6).c(6, b"world").s(6, b"WORLD", ack=11)
    return wire.c(11, flags="FA", ack=11).s(11, flags="FA", ack=12)


@pytest.mark.parametrize("cut", range(1, 9))
def test_rotated_files_give_the_streams_of_the_whole(tmp_path, cut):
    frames = talk().frames
    (whole,) = streams_of([pcap(tmp_path / "whole", frames, nano=True)])
    parts = [pcap(tmp_path / "1", frames[:cut], nano=True), pcapng(tmp_path / "2", frames[cut:])]
    assert streams_of(parts) == [whole]


def test_a_file_given_twice_changes_only_counters(tmp_path):
    frames = talk().frames
    path = pcap(tmp_path / "whole", frames, nano=True)
    (once,), (twice,) = streams_of([path]), streams_of([path, path])
    assert (twice.stream_id, twice.chunks, twice.close, twice.resent) == (once.stream_id, once.chunks, once.close, 0)
    assert (twice.again, twice.copies) == ([0, 0], [2, 2])


def test_files_with_two_connections_given_twice(tmp_path):
    wire = talk()
    wire.isn = (100_000, 200_000)
    path = pcap(tmp_path / "whole", wire.handshake().c(0, b"again").frames, nano=True)
    once, twice = streams_of([path]), streams_of([path, path])
    assert [s.chunks for s in twice] == [s.chunks for s in once]
    assert [s.stream_id for s in twice] == [s.stream_id for s in once]


def test_the_id_depends_on_the_source_and_on_nothing_of_the_file(tmp_path):
    frames = talk().frames
    one, two = table_of([pcap(tmp_path / "a", frames, nano=True)]), table_of([pcapng(tmp_path / "b", frames)])

    def ids(table: pa.Table, source: str) -> list[str]:
        return reassemble_columns(table, source).streams.stream_id.to_pylist()

    assert ids(one, "tap") == ids(two, "tap") != ids(one, "other tap")
    assert all(len(each) == 20 and int(each, 16) for each in ids(one, "tap"))


def test_connections_one_by_one(tmp_path):
    wire = talk()
    wire.isn = (100_000, 200_000)
    wire.handshake().c(0, b"ab").c(5, b"fg")
    first, second = reassemble(str(pcap(tmp_path / "a", wire.frames)))
    assert (first.client, first.server) == (CLIENT, SERVER)
    assert (first.c2s.length, first.c2s.chunks) == (11, [(0, b"hello world")])
    assert first.s2c.chunks == [(0, b"HELLO WORLD")]
    assert (first.close_kind, first.history) == ("fin", "ShADdFf")
    assert (second.c2s.length, second.c2s.chunks, second.s2c.chunks) == (7, [(0, b"ab"), (5, b"fg")], [])
    assert first.first_ns < first.last_ns < second.first_ns


def test_incarnations_gaps_and_times(tmp_path):
    wire = Wire().handshake().c(0, b"hello").c(8, b"world").c(5, b", ").s(0, b"HELLO", ack=15).c(15, flags="FA", ack=5)
    wire.isn = (100_000, 200_000)
    wire.handshake().s(3, b"again")
    first, second = reassemble(str(pcap(tmp_path / "a", wire.frames, nano=True)))
    assert (first.incarnation, second.incarnation, first.client) == (0, 1, second.client)
    assert (first.first_packet, second.first_packet) == (1, 9)
    assert first.c2s.gaps == [(7, 1), (13, 2)]
    times = [START_NS + i * STEP_NS for i in range(len(wire.frames))]
    assert list(first.c2s.pieces()) == [(0, times[3], b"hello"), (5, times[5], b", "), (8, times[4], b"world")]
    assert (second.s2c.gaps, second.c2s.gaps, second.c2s.length) == ([(0, 3)], [], 0)


def told(path):
    """All that `reassemble` says of a capture."""
    return [
        [getattr(one, field.name) for field in dataclasses.fields(one) if field.name not in ("c2s", "s2c")]
        + [(side.length, side.chunks, side.gaps, list(side.pieces())) for side in (one.c2s, one.s2c)]
        for one in reassemble(str(path))
    ]


@pytest.mark.parametrize("held", [4, 60, 700])
@pytest.mark.parametrize("compressed", [False, True])
def test_how_much_stands_in_memory_changes_nothing(tmp_path, monkeypatch, held, compressed):
    path = DATA / "rabbitmq_dialogue.pcap"
    if compressed:
        (tmp_path / "a.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "a.gz"
    whole = told(path)
    monkeypatch.setattr(flows, "HELD_ROWS", held)
    monkeypatch.setattr(sorted_runs, "PARTS", 3)
    monkeypatch.setattr(connections, "READ_OCTETS", 1000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spilled"))
    (tmp_path / "spilled").mkdir()
    assert told(path) == whole
    assert not list((tmp_path / "spilled").iterdir())


def test_flows_whose_hashes_agree_are_told_apart_in_parts(tmp_path, monkeypatch):
    wire = talk()
    other = [Frame(one.octets.replace(bytes([10, 0, 0, 9]), bytes([10, 0, 0, 8])), one.ts_ns) for one in wire.frames]
    path = pcap(tmp_path / "a", [frame for pair in zip(wire.frames, other, strict=True) for frame in pair])
    whole = told(path)

    def alike(batches):
        for batch in batches:
            yield batch.set_column(3, batch.schema.field(3), pa.array([7] * batch.num_rows, pa.int64()))

    monkeypatch.setattr(connections, "read_segments", lambda *a, **k: alike(read_segments(*a, **k)))
    assert told(path) == whole
    monkeypatch.setattr(flows, "HELD_ROWS", 5)
    assert told(path) == whole


def test_without_a_handshake_the_known_port_is_the_server(tmp_path):
    (one,) = reassemble(str(pcap(tmp_path / "a", Wire().s(0, b"x").c(0, b"y").frames)))
    assert (one.client, one.c2s.chunks) == (CLIENT, [(0, b"y")])


def test_a_capture_without_tcp_has_no_connections(tmp_path):
    assert list(reassemble(str(pcap(tmp_path / "a", [])))) == []
    with pytest.raises(CaptureError):
        list(reassemble(str(tmp_path / "missing")))


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="first"):
        reassemble_columns(table_of([]), "s", "middle")


def test_every_row_belongs_to_a_stream(tmp_path):
    table = table_of([pcap(tmp_path / "a", talk().frames)])
    result = reassemble_columns(table, "s")
    assert np.array_equal(result.stream_of, np.zeros(table.num_rows, np.int32))
