"""Compressed captures: the same tables as the plain file, whatever the compression, the members, the windows; bombs and cuts."""

import bz2
import gzip
import hashlib
import lzma

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import PACKETS, SEGMENTS, examine, is_capture, octets, packets, read_segments, survey
from stompcap.capture.files import open_capture
from stompcap.capture.records import Walk
from stompcap.errors import CaptureError, UsageError
from stompcap.tcp import reassemble
from tests.capture import packaging as p
from tests.capture.packaging import Frame
from tests.capture.test_segments import ETHER, PAYLOAD, TUNNELS, tcp4


def arrow(codec):
    def compress(content):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(content)
        return sink.getvalue().to_pybytes()

    return compress


COMPRESS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": arrow("zstd"), "lz4": arrow("lz4")}
FRAMES = [
    Frame(bytes(frame), 1_700_000_000_000_000_000 + i)
    for i, frame in enumerate([ETHER / tcp4(), bytes(60), ETHER / tcp4(b"x" * 500), TUNNELS["GTP-U"], ETHER / tcp4(b"")] * 3)
]
WRITERS = {"pcap": lambda path: p.pcap(path, FRAMES, nano=True), "pcapng": lambda path: p.pcapng(path, FRAMES)}


def segments(path):
    """The rows of a capture with their octets, but for where these lie."""
    table = pa.Table.from_batches(read_segments(str(path), 0), SEGMENTS)
    data = octets(str(path))
    found = []
    for row in table.to_pylist():
        place = row.pop("file_offset")
        if place >= 0:
            row["payload"] = data[place : place + row["captured_octets"]].tobytes()
        found.append(row)
    return found


@pytest.fixture(params=list(WRITERS))
def plain(request, tmp_path):
    return WRITERS[request.param](tmp_path / "plain")


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_compressed_capture_gives_what_the_plain_one_gives(tmp_path, plain, kind):
    path = tmp_path / "any name"
    path.write_bytes(COMPRESS[kind](plain.read_bytes()))
    assert is_capture(str(path))
    assert segments(path) == segments(plain)
    rows, expected = survey(str(path), "s"), survey(str(plain), "s")
    changed = {
        "path": str(path),
        "compression": kind,
        "size_octets": path.stat().st_size,
        "used_octets": path.stat().st_size,  # it is taken to be finished
        "capture_id": hashlib.sha256(path.read_bytes()).hexdigest(),
        "used_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert rows == {**expected, **changed}
    friendly = [pa.Table.from_batches(packets(str(one)), PACKETS).drop(["path"]) for one in (path, plain)]
    assert friendly[0].equals(friendly[1])


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_and_frames_may_follow_one_another(tmp_path, plain, kind):
    content = plain.read_bytes()
    path = tmp_path / "members"
    path.write_bytes(b"".join(COMPRESS[kind](content[i : i + 400]) for i in range(0, len(content), 400)))
    assert segments(path) == segments(plain)
    assert survey(str(path), "s")["status"] == "complete"


@given(st.sampled_from(sorted(WRITERS)), st.integers(1, 700), st.integers(700, 3000), st.integers(1, 20))
def test_any_window_gives_the_same_segments(tmp_path_factory, write, piece, window, batch):
    folder = tmp_path_factory.mktemp("window")
    plain = WRITERS[write](folder / "plain")
    path = folder / "a"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stompcap.capture.compressed.CHUNK_OCTETS", piece)
        patch.setattr("stompcap.capture.compressed.Decompressed.more.__defaults__", (window,))
        seen = segments_by(path, batch)
    assert seen == segments_by(plain, batch)


def segments_by(path, batch):
    """(octets, time, link) of each record."""
    return [
        (records.octets[at : at + size].tobytes(), ts_ns, link)
        for records in Walk(open_capture(str(path)), batch)
        for at, size, ts_ns, link in zip(
            *(column.tolist() for column in (records.position, records.captured, records.ts_ns, records.links)), strict=True
        )
    ]


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_file_cut_anywhere_gives_what_is_readable(tmp_path, plain, kind):
    whole = COMPRESS[kind](plain.read_bytes())
    complete = segments(plain)
    longest = 0
    for cut in range(len(whole) // 3, len(whole), 13):
        path = tmp_path / "cut"
        path.write_bytes(whole[:cut])
        try:
            row = survey(str(path), "s")
        except CaptureError:
            continue  # nothing of its first block
        assert row["status"] == "truncated", cut
        assert f"the {kind} data is cut off" in row["damage"]
        seen = segments(path)
        assert seen == complete[: len(seen)]
        longest = max(longest, row["packets"])
    assert longest > 0 or kind in ("bzip2", "zstd", "lz4", "xz")  # block compressors give nothing of a first block that is cut


def test_of_a_cut_member_every_octet_before_the_cut_is_read(tmp_path):
    path = WRITERS["pcap"](tmp_path / "plain")
    content = path.read_bytes()
    compressor = gzip.zlib.compressobj(0, wbits=31)  # stored: the octets lie in the file as they are
    path.write_bytes((compressor.compress(content) + compressor.flush())[: -8 - len(FRAMES[-1].octets)])
    row = survey(str(path), "s")
    assert (row["status"], row["packets"]) == ("truncated", len(FRAMES) - 1)
    assert "the last record is cut off at decompressed offset" in row["damage"]


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_a_wrong_checksum_is_damage_and_loses_at_most_the_last_record(tmp_path, plain, kind):
    whole = bytearray(COMPRESS[kind](plain.read_bytes()))
    at = {"gzip": len(whole) - 6, "bzip2": len(whole) - 3, "xz": len(whole) - 14}[kind]
    whole[at] ^= 0x55
    path = tmp_path / "a"
    path.write_bytes(whole)
    row = survey(str(path), "s")
    assert row["status"] == "damaged"
    assert row["packets"] >= len(FRAMES) - 1
    assert "is corrupt" in row["damage"]


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_zeros_behind_a_member_are_padding_and_other_octets_damage(tmp_path, plain, kind):
    path = tmp_path / "a"
    path.write_bytes(COMPRESS[kind](plain.read_bytes()) + bytes(512))
    assert survey(str(path), "s")["status"] == "complete"
    path.write_bytes(COMPRESS[kind](plain.read_bytes()) + b"neither member nor padding")
    row = survey(str(path), "s")
    assert (row["status"], row["packets"]) == ("damaged", len(FRAMES))


@pytest.mark.parametrize("kind", [kind if kind == "gzip" else pytest.param(kind, marks=pytest.mark.slow) for kind in COMPRESS])
def test_a_bomb_stops_at_the_limit(tmp_path, monkeypatch, kind):
    path = tmp_path / "bomb"
    path.write_bytes(COMPRESS[kind](p.pcap(tmp_path / "plain", FRAMES).read_bytes() + bytes(40_000_000)))
    monkeypatch.setenv("STOMPCAP_MAX_DECOMPRESSED_OCTETS", "1000000")
    says = "bomb: decompresses to more than 1000000 bytes; .* --max-decompressed or STOMPCAP_MAX_DECOMPRESSED_OCTETS$"
    for use in (lambda: survey(str(path), "s"), lambda: list(read_segments(str(path), 0)), lambda: list(packets(str(path)))):
        with pytest.raises(CaptureError, match=says):
            use()
    with pytest.raises(CaptureError):
        list(Walk(open_capture(str(path), limit=2_000_000)))
    found = examine(str(path), "s", limit=100_000_000)
    assert found.row["packets"] == sum(map(len, packets(found.splits[0]))) + sum(found.row["skipped"].values())
    monkeypatch.setenv("STOMPCAP_MAX_DECOMPRESSED_OCTETS", "100000000")
    assert survey(str(path), "s") == found.row


def test_a_limit_that_is_no_number_is_a_usage_error(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(WRITERS["pcap"](tmp_path / "plain").read_bytes()))
    monkeypatch.setenv("STOMPCAP_MAX_DECOMPRESSED_OCTETS", "64 GiB")
    with pytest.raises(UsageError, match="number of bytes"):
        survey(str(path), "s")


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_compressed_file_that_is_no_capture_is_named_so(tmp_path, kind):
    path = tmp_path / "notes.gz"
    path.write_bytes(COMPRESS[kind](b"not packets at all"))
    assert not is_capture(str(path))
    with pytest.raises(CaptureError, match=f"compressed with {kind} and contains no pcap"):
        survey(str(path), "s")


def test_an_xz_file_cannot_ask_for_any_memory(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(lzma.compress(WRITERS["pcap"](tmp_path / "plain").read_bytes(), preset=6))
    monkeypatch.setattr("stompcap.capture.compressed.MAX_MEMORY_OCTETS", 1 << 20)
    with pytest.raises(CaptureError, match="emory"):
        survey(str(path), "s")


@pytest.mark.slow
def test_memory_stays_bounded(tmp_path, monkeypatch):
    frames = [Frame(bytes(ETHER / tcp4(PAYLOAD * 40)), 10**18 + i) for i in range(3000)]
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(p.pcap(tmp_path / "plain", frames).read_bytes()))
    monkeypatch.setattr("stompcap.capture.compressed.CHUNK_OCTETS", 10_000)
    monkeypatch.setattr("stompcap.capture.compressed.Decompressed.more.__defaults__", (100_000,))
    sizes = [len(records.octets) for records in Walk(open_capture(str(path)))]
    assert len(sizes) > 30
    assert max(sizes[1:]) <= 100_000 + 2 * 2_000  # behind the head: a window, a record and a part of one


def test_connections_of_a_compressed_capture(tmp_path):
    plain = WRITERS["pcap"](tmp_path / "plain")
    path = tmp_path / "a"
    path.write_bytes(lzma.compress(plain.read_bytes()))
    one, two = ([(c.stream_id, c.c2s.chunks, c.s2c.chunks) for c in reassemble(str(file))] for file in (plain, path))
    assert one == two != []
