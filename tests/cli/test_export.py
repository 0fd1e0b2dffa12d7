"""`stompcap export`: exactly the packets of one stream, as captured, that Wireshark opens and that give the same rows again."""

import gzip
import os
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.ppp import PPP

from stompcap.cli.commands import export_command
from stompcap.errors import CaptureError, EnvironmentProblem, UsageError
from stompcap.export import find
from stompcap.options import Options
from tests.capture.packaging import Frame, frames, pcap, pcapng
from tests.cli.exported import START, Lake, conversation, cooked, ether, gtp, mixed, packets, same_rows, tshark, vxlan
from tests.e2e.truth import DATA
from tests.examples import slow_behind

SHAPES = {
    "Ethernet": (ether, {}),
    "a tag": (lambda p: ether(Dot1Q(vlan=7) / p), {}),
    "VXLAN": (vxlan, {}),
    "GTP-U": (gtp, {}),
    "VLAN ids as part of the key": (lambda p: Ether() / Dot1Q(vlan=7) / p, {"vlan": True}),
}


@pytest.mark.parametrize(
    ("name", "write"), slow_behind(4, [("VXLAN", pcapng), ("Ethernet", pcapng), *((name, pcap) for name in SHAPES)], several=True)
)
def test_all_packets_of_a_stream_and_no_others(tmp_path, name, write):
    wrap, options = SHAPES[name]
    mine, other = [wrap(p) for p in conversation()], [wrap(p) for p in conversation(port=40001)]
    noise = [ether(ARP()), ether(IP() / UDP() / b"x")] * 3
    all_frames = frames(mixed(mine, other, noise), step_ns=1_234_567)
    lake = Lake(tmp_path, [write(tmp_path / "a.cap", all_frames, **({"nano": True} if write is pcap else {}))], Options(**options))
    stream_id = next(row["stream_id"] for row in lake.streams() if row["client_port"] == 40000)
    out, told = lake.export(stream_id)
    wanted = {bytes(p) for p in mine}
    assert packets(out) == [(f.ts_ns, f.octets, f.wire, 1) for f in all_frames if f.octets in wanted]
    assert told == {"stream_id": stream_id, "output": out, "format": "pcap", "packets": len(mine), "captures": lake.paths}
    same_rows(lake, stream_id, out)


@pytest.mark.slow
def test_wireshark_reads_it_as_one_stream_with_nanoseconds(tmp_path):
    all_frames = frames(mixed([ether(p) for p in conversation()], [ether(p) for p in conversation(port=40001)]), 1_000_001, START + 7)
    lake = Lake(tmp_path, [pcap(tmp_path / "a.pcap", all_frames, nano=True)])
    for name in ("out.pcap", "out.pcapng"):
        out, told = lake.export(lake.streams()[0]["stream_id"], name)
        assert told["format"] == name.split(".")[1]
        lines = tshark(out, "-T", "fields", "-e", "tcp.stream", "-e", "frame.time_epoch")
        assert len(lines) == told["packets"] == 11
        times = [line.split("\t")[1] for line in lines]
        assert {line.split("\t")[0] for line in lines} == {"0"}
        seconds, fraction = times[0].split(".")
        assert int(seconds) * 10**9 + int(fraction.ljust(9, "0")) == all_frames[0].ts_ns
        assert any(not time.endswith("000") for time in times)


@pytest.mark.slow
def test_fragments_come_all(tmp_path):
    body = bytes(range(1, 256)) * 20
    whole = [ether(p) for p in conversation(body=body)]
    pieces = [piece if isinstance(piece, Ether) else Ether() / piece for p in whole for piece in fragment(p[IP], 600)]
    all_frames = frames(mixed(pieces, [ether(p) for p in conversation(port=40001)]))
    lake = Lake(tmp_path, [pcap(tmp_path / "a.pcap", all_frames)])
    stream_id = next(row["stream_id"] for row in lake.streams() if row["client_port"] == 40000)
    out, told = lake.export(stream_id)
    # a retransmission in fragments is a datagram of its own only by its identification: scapy gives both the same one
    assert told["packets"] == len(pieces)
    assert [octets for _, octets, _, _ in packets(out)] == [bytes(p) for p in pieces]
    same_rows(lake, stream_id, out)


def test_one_incarnation_of_a_port_that_is_used_again(tmp_path):
    first, second = [ether(p) for p in conversation()], [ether(p) for p in conversation(isn=90_000_000, body=b"second")]
    all_frames = frames([*first, *second])
    lake = Lake(tmp_path, [pcap(tmp_path / "a.pcap", all_frames)])
    assert len(lake.streams()) == 2
    for row, mine in zip(lake.streams(), (first, second), strict=True):
        out, _ = lake.export(row["stream_id"])
        assert [octets for _, octets, _, _ in packets(out)] == [bytes(p) for p in mine]
        same_rows(lake, row["stream_id"], out)


@pytest.mark.slow
def test_captures_of_several_link_types_become_one_file(tmp_path):
    talk = conversation()
    one = pcap(tmp_path / "one.pcap", frames([ether(p) for p in talk[:5]]))
    two = pcap(tmp_path / "two.pcap", frames([cooked(p) for p in talk[5:8]], start_ns=START + 10**9), 113)
    three = pcap(tmp_path / "three.pcap", frames([PPP() / p for p in talk[8:]], start_ns=START + 2 * 10**9), 9)
    lake = Lake(tmp_path, [one, two, three])
    (row,) = lake.streams()
    out, told = lake.export(row["stream_id"])
    assert (told["format"], told["packets"], told["captures"]) == ("pcapng", 11, [str(one), str(two), str(three)])
    assert packets(out) == packets(one) + packets(two) + packets(three)
    same_rows(lake, row["stream_id"], out)
    names = tshark(out, "-T", "fields", "-e", "frame.interface_name")
    assert names == ["one.pcap"] * 5 + ["two.pcap"] * 3 + ["three.pcap"] * 3
    assert set(tshark(out, "-T", "fields", "-e", "tcp.stream")) == {"0"}


def test_compressed_and_cut_packets(tmp_path):
    talk = [ether(p) for p in conversation(body=b"x" * 500)]
    cut = [Frame(bytes(p)[:96], START + i * 1000, len(bytes(p))) for i, p in enumerate(talk)]
    plain = pcap(tmp_path / "plain.pcap", cut)
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    lake = Lake(tmp_path, [path])
    (row,) = lake.streams()
    out, _ = lake.export(row["stream_id"])
    assert packets(out) == packets(plain)
    same_rows(lake, row["stream_id"], out)


def test_only_captures_of_its_time_are_read(tmp_path):
    day = 86_400 * 10**9
    talks = [[ether(p) for p in conversation(port=40000 + i)] for i in (0, 1)]
    paths = [pcap(tmp_path / f"{i}.pcap", frames(talks[i], start_ns=START + i * day)) for i in (0, 1)]
    lake = Lake(tmp_path, paths)
    paths[1].unlink()  # it is not asked for
    out, told = lake.export(lake.streams()[0]["stream_id"])
    assert told["captures"] == [str(paths[0])]
    assert packets(out) == packets(paths[0])


def test_a_recorded_stream(tmp_path):
    lake = Lake(tmp_path, [DATA / "rabbitmq_bodies.pcap"])
    for row in lake.streams()[:1]:
        out, told = lake.export(row["stream_id"])
        ports = tshark(out, "-T", "fields", "-e", "tcp.stream")
        assert set(ports) == {"0"}
        assert len(ports) == told["packets"]
        assert len(tshark(DATA / "rabbitmq_bodies.pcap", "-Y", f"tcp.port=={row['client_port']}")) == told["packets"]
        same_rows(lake, row["stream_id"], out)


@pytest.fixture
def small(tmp_path):
    return Lake(tmp_path, [pcap(tmp_path / "a.pcap", frames([ether(p) for p in conversation()]))])


def test_a_capture_that_grew_gives_the_same_packets(small):
    path = Path(small.paths[0])
    before = packets(path)
    path.write_bytes(path.read_bytes() + b"\0" * 7)
    out, _ = small.export(small.streams()[0]["stream_id"])
    assert packets(out) == before


def test_an_unknown_stream_is_told_with_the_way_to_find_one(small):
    with pytest.raises(UsageError, match=r"no such stream in .*stompcap sql"):
        small.export("0" * 20)


@pytest.mark.parametrize(("change", "says"), [
    (lambda path: path.unlink(), "no such file"),
    (lambda path: path.write_bytes(path.read_bytes()[:-1]), "SHA-256 differs"),
    (lambda path: path.write_bytes(path.read_bytes()[:50] + b"\1" + path.read_bytes()[51:]), "SHA-256 differs"),
    (lambda path: path.write_bytes(b"something else altogether"), "put it back"),
])  # fmt: skip
def test_a_capture_that_is_gone_or_changed_is_named(small, change, says):
    path = Path(small.paths[0])
    change(path)
    with pytest.raises(CaptureError, match=says) as told:
        small.export(small.streams()[0]["stream_id"])
    assert told.value.path == str(path)
    assert told.value.exit_code == 4
    assert not os.path.exists(small.folder / "out.pcap")


def test_an_older_file_is_written_over_and_a_capture_is_not(small):
    stream_id = small.streams()[0]["stream_id"]
    out, _ = small.export(stream_id)
    Path(out).write_bytes(b"old")
    small.export(stream_id)
    assert len(packets(out)) == 11
    before = Path(small.paths[0]).read_bytes()
    with pytest.raises(UsageError, match="is a capture of this lake"):
        small.export(stream_id, "a.pcap")
    assert Path(small.paths[0]).read_bytes() == before


def test_a_place_that_cannot_be_written_is_told(small):
    with pytest.raises(EnvironmentProblem, match="cannot be written") as told:
        small.export(small.streams()[0]["stream_id"], "no such folder/out.pcap")
    assert told.value.exit_code == 3


def test_a_full_disk_leaves_nothing_behind(small, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stompcap.capture.writing.Writer.write", full)
    with pytest.raises(EnvironmentProblem, match=r"No space left on device.*make room"):
        small.export(small.streams()[0]["stream_id"])
    assert not list(small.folder.glob("out.pcap*"))


def test_a_lake_that_does_not_fit_its_captures_is_told(small):
    row = dict(small.streams()[0], outer_octets_c2s=1)
    with pytest.raises(CaptureError, match="run them into a new lake"):
        find(row, export_command.known(small.where, row["stream_id"])[1])


@pytest.mark.parametrize("wrap", [ether, vxlan])
@pytest.mark.parametrize("size", slow_behind(1, [600, 0]))
def test_secrets_are_masked_and_checksums_right(tmp_path, wrap, size):
    secret = b"hush-hush-9"
    body = b"passcode=" + secret + b"&x" * 500
    mine = [wrap(p) for p in conversation(body=body)]
    if size:
        mine = [wrap(piece) for p in conversation(body=body) for piece in fragment(p, size)]
    lake = Lake(tmp_path, [pcap(tmp_path / "a.pcap", frames(mine))])
    (row,) = lake.streams()
    out, told = lake.export(row["stream_id"])
    plain, _ = lake.export(row["stream_id"], "plain.pcap", "--original")
    assert told["packets"] == len(mine)
    assert [octets for _, octets, _, _ in packets(plain)] == [bytes(p) for p in mine]
    shown = [octets for _, octets, _, _ in packets(out)]
    assert [len(octets) for octets in shown] == [len(bytes(p)) for p in mine]
    assert secret not in b"".join(shown)
    assert secret in b"".join(octets for _, octets, _, _ in packets(plain))
    assert sum(octets != bytes(p) for octets, p in zip(shown, mine, strict=True)) == 2  # one, and its retransmission
    said = tshark(out, "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-T", "fields", "-e", "tcp.checksum.status")
    assert "1" in said
    assert set(said) <= {"1", ""}
