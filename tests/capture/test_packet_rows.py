"""Packets in the form people read them."""

import pyarrow as pa

from stompcap.capture import PACKETS, packets
from tests.capture.packaging import Frame, pcap
from tests.capture.test_segments import ETHER, PAYLOAD, TUNNELS, tcp4, tcp6

T = 1_700_000_000_123_456_789


def test_addresses_are_text_and_payload_is_there(tmp_path):
    frames = [ETHER / tcp4(), ETHER / tcp6(), bytes(60), TUNNELS["GRE"], bytes(ETHER / tcp4())[:-4]]
    path = pcap(tmp_path / "a", [Frame(bytes(f), T + i, len(bytes(f)) + 4 * (i == 4)) for i, f in enumerate(frames)], nano=True)
    rows = pa.Table.from_batches(packets(str(path)), PACKETS).to_pylist()
    assert [(r["packet"], r["ts_ns"] - T, r["src_ip"], r["dst_ip"], r["payload"]) for r in rows] == [
        (1, 0, "10.0.0.2", "10.0.0.1", PAYLOAD),
        (2, 1, "fd00::2", "fd00::1", PAYLOAD),
        (4, 3, "10.0.0.2", "10.0.0.1", PAYLOAD),
        (5, 4, "10.0.0.2", "10.0.0.1", PAYLOAD[:-4]),
    ]
    assert {(r["path"], r["src_port"], r["dst_port"], r["payload_octets"]) for r in rows} == {(str(path), 40000, 61613, len(PAYLOAD))}
    assert rows[0]["ts"].microsecond == 123456


def test_both_directions_of_a_flow(tmp_path):
    there, back = ETHER / tcp4(), ETHER / tcp4()
    back["IP"].src, back["IP"].dst, back["TCP"].sport, back["TCP"].dport = "10.0.0.1", "10.0.0.2", 61613, 40000
    path = pcap(tmp_path / "a", [Frame(bytes(there), T), Frame(bytes(back), T)])
    rows = pa.Table.from_batches(packets(str(path)), PACKETS).to_pylist()
    assert [(r["src_ip"], r["src_port"]) for r in rows] == [("10.0.0.2", 40000), ("10.0.0.1", 61613)]


def test_large_batches_are_cut_by_their_octets(tmp_path, monkeypatch):
    monkeypatch.setattr("stompcap.capture.packet_rows.BATCH_OCTETS", 3 * len(PAYLOAD))
    path = pcap(tmp_path / "a", [Frame(bytes(ETHER / tcp4()), T + i) for i in range(10)], nano=True)
    batches = list(packets(str(path)))
    assert len(batches) == 4
    assert pa.Table.from_batches(batches).column("packet").to_pylist() == list(range(1, 11))
