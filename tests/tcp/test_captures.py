"""A connection that lies in several captures, and the public way to one capture's connections."""

import numpy as np
import pyarrow as pa
import pytest

from stompcap.errors import CaptureError
from stompcap.tcp import reassemble, reassemble_columns
from tests.capture.packaging import pcap, pcapng
from tests.tcp.wire import CLIENT, SERVER, Wire, streams_of, table_of


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
