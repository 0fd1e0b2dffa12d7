"""`stompcap export --inner`: what a stream carries as plain TCP, as the tables have it, whatever carried it."""


import pytest

from stompcap.errors import UsageError
from stompcap.lake import tables as lakes
from stompcap.options import Options
from tests.cli.exported import Lake, tshark
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.mangler.packagings import Packaging
from tests.transport.headers import behind, v2

RECORDINGS = DATA / "transports"
INSIDE = [("rabbitmq_websocket.pcap", ""), ("rabbitmq_deflate.pcapng", ""), ("rabbitmq_tls.pcap", "rabbitmq_tls.keys.txt")]
SAME = ("direction", "stream_offset", "length_octets", "kind", "raw")


def lake_of(folder, path, options=None):
    lake = Lake(folder, [path], options)
    lakes.append(lake.where, "raw_frames", lake.tables["raw_frames"], ["batch"], "r")
    return lake


def rows_of(tables, stream_id=None):
    rows = tables["raw_frames"].to_pylist()
    return sorted(tuple(row[name] for name in SAME) for row in rows if stream_id in (None, row["stream_id"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rabbitmq_dialogue.pcap", "artemis_bodies.pcapng", "activemq_midstream.pcap"])
def test_the_rows_of_each_stream_come_again(name, tmp_path):
    lake = lake_of(tmp_path, DATA / name)
    for stream in lake.streams()[:8]:
        out, told = lake.export(stream["stream_id"], "out.pcap", "--inner")
        checked = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", "tcp.checksum.status == 1"]
        lines = tshark(out, *checked, "-T", "fields", "-e", "tcp.stream")
        assert lines == ["0"] * told["packets"], "every checksum is right, and all is one connection"
        again = tables_of([out])
        assert rows_of(again) == rows_of(lake.tables, stream["stream_id"])


def test_a_header_of_a_balancer_is_not_in_it(tmp_path):
    [path] = Packaging(behind(v2("203.0.113.7", 40000))).files(DATA / "rabbitmq_heartbeats.pcap", tmp_path)
    lake = lake_of(tmp_path, path)
    stream = lake.streams()[0]
    out, _ = lake.export(stream["stream_id"], "out.pcap", "--inner")
    assert rows_of(tables_of([out])) == rows_of(lake.tables, stream["stream_id"])


def test_inner_and_original_exclude_each_other(tmp_path):
    lake = lake_of(tmp_path, DATA / "rabbitmq_heartbeats.pcap")
    with pytest.raises(UsageError, match="exclude each other"):
        lake.export(lake.streams()[0]["stream_id"], "out.pcap", "--inner", "--original")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "keys"), INSIDE)
def test_what_was_inside_other_layers_is_in_it(name, keys, tmp_path):
    lake = lake_of(tmp_path, RECORDINGS / name, Options(keylog=(str(RECORDINGS / keys),) if keys else ()))
    for stream in [row for row in lake.streams() if row["protocol"] == "stomp"][:3]:
        out, _ = lake.export(stream["stream_id"], "out.pcap", "--inner")
        assert rows_of(tables_of([out])) == rows_of(lake.tables, stream["stream_id"])


def test_the_packets_of_a_websocket_are_written_only_as_they_were_captured(tmp_path):
    lake = lake_of(tmp_path, RECORDINGS / "rabbitmq_websocket.pcap")
    stream = lake.streams()[0]
    with pytest.raises(UsageError, match=r"inside websocket, where secrets cannot be masked; add --inner .* or --original"):
        lake.export(stream["stream_id"])
    out, _ = lake.export(stream["stream_id"], "out.pcap", "--original")
    assert {row["transport"] for row in tables_of([out])["streams"].to_pylist()} == {"websocket"}
