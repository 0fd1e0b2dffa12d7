"""Which connections are looked at: known ports, ports named, or all; every connection keeps its row."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from stompcap.options import STOMP_PORTS, Options
from tests.e2e.pure import tables_of
from tests.e2e.truth import captures

STOMP, ODD = struct.pack(">H", 61613), struct.pack(">H", 7777)
PORTS_AT = 14 + 20  # Ethernet and an IPv4 header without options


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A capture whose server listens on a port nobody knows."""
    octets = bytearray(Path(next(path for path in captures() if path.endswith("rabbitmq_midstream.pcap"))).read_bytes())
    at = 24
    while at < len(octets):
        frame = at + 16
        for place in (frame + PORTS_AT, frame + PORTS_AT + 2):
            if octets[place : place + 2] == STOMP:
                octets[place : place + 2] = ODD
        at = frame + struct.unpack_from("<I", octets, at + 8)[0]
    path = tmp_path_factory.mktemp("moved") / "odd.pcap"
    path.write_bytes(octets)
    return str(path)


def test_an_unknown_port_is_left_alone(moved: str) -> None:
    tables = tables_of([moved])
    assert tables["streams"].num_rows > 5
    assert set(tables["streams"].column("protocol").to_pylist()) == {"other"}
    assert "raw_frames" not in tables or tables["raw_frames"].num_rows == 0


@pytest.mark.parametrize("options", [Options(all_ports=True), Options(ports=STOMP_PORTS | {7777})], ids=["all", "named"])
def test_asked_for_it_is_found(options: Options, moved: str) -> None:
    tables = tables_of([moved], options)
    original = tables_of([path for path in captures() if path.endswith("rabbitmq_midstream.pcap")])
    assert set(tables["streams"].column("protocol").to_pylist()) == {"stomp"}
    assert set(tables["streams"].column("server_port").to_pylist()) == {7777}
    for name in ("frames", "sessions", "deliveries", "receipts", "raw_frames"):
        assert tables[name].num_rows == original[name].num_rows, name
