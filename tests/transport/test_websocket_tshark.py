"""tshark reads the same payload of recorded WebSockets, compressed ones too."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict

import pytest

from stompcap.options import Options
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.examples import slow_behind

RECORDINGS = DATA / "transports"
UNMASKED = 1 << 18
"""Octets of a frame that tshark unmasks: of a direction with a larger one, what is before their end is compared."""
CONTINUATION, TEXT, BINARY = "0", "1", "2"


def layers_of(pairs):
    """An object of JSON in which names come twice, as a packet with several frames has them."""
    found = defaultdict(list)
    for name, value in pairs:
        found[name].append(value)
    return dict(found)


def by_tshark(path, *, inflated):
    command = ["tshark", "-r", str(path), "-d", "tcp.port==15674,http", "-Y", "websocket", "-T", "jsonraw"]
    packets = json.loads(subprocess.run(command, capture_output=True, check=True).stdout, object_pairs_hook=layers_of)
    found, ended = defaultdict(bytes), set()
    for packet in packets:
        layers = packet["_source"][0]["layers"][0]
        tcp = layers["tcp"][0]
        port = int(tcp["tcp.port_raw"][0][0], 16), int(tcp["tcp.port_raw"][1][0], 16)
        for one in layers["websocket"]:
            if one["websocket.opcode_raw"][0][0] in (CONTINUATION, TEXT, BINARY) and not inflated and "websocket.payload_raw" in one:
                payload = bytes.fromhex(one["websocket.payload_raw"][0][0])
                found[port] += b"" if port in ended else payload
                ended |= {port} if len(payload) == UNMASKED else set()
        for one in layers.get("data-text-lines_raw", []) if inflated else []:
            found[port] += bytes.fromhex(one[0])
    return dict(found), ended


def by_tables(path):
    tables = tables_of([str(path)], Options(keep_credentials=True))
    ports = {row["stream_id"]: (row["client_port"], row["server_port"]) for row in tables["streams"].to_pylist()}
    found = defaultdict(bytes)
    for row in sorted(tables["raw_frames"].to_pylist(), key=lambda row: row["stream_offset"]):
        client, server = ports[row["stream_id"]]
        found[(client, server) if row["direction"] == "c2s" else (server, client)] += row["raw"]
    return dict(found)


@pytest.mark.parametrize(
    ("name", "inflated"), slow_behind(1, [("rabbitmq_deflate.pcapng", True), ("rabbitmq_websocket.pcap", False)], several=True)
)
def test_tshark_reads_the_same_payload(name, inflated):
    (theirs, ended), ours = by_tshark(RECORDINGS / name, inflated=inflated), by_tables(RECORDINGS / name)
    assert theirs.keys() == ours.keys()
    for way in ours:
        assert theirs[way] == (ours[way][: len(theirs[way])] if way in ended else ours[way]), way
    assert len(ended) <= 2
