"""Ways in which a capture program may write the same frames: each takes frames to one file or several."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from tests.capture import packaging as p
from tests.capture.packaging import Frame

Write = Callable[[Path, Sequence[Frame], int], list[Path]]  # folder, frames, link type
NS = 9


def one(content: Callable[[Sequence[Frame], int], bytes]) -> Write:
    """One file with that content."""

    def write(folder: Path, frames: Sequence[Frame], link: int) -> list[Path]:
        path = folder / "capture"
        path.write_bytes(content(frames, link))
        return [path]

    return write


def pcap(big: bool = False, nano: bool = True, link_bits: int = 0) -> Write:
    """A classic file; `link_bits` are those above the link type."""

    def write(folder: Path, frames: Sequence[Frame], link: int) -> list[Path]:
        return [p.pcap(folder / "capture.pcap", frames, link | link_bits, big, nano)]

    return write


def modified(big: bool) -> Write:
    """Kuznetzov's form."""
    return lambda folder, frames, link: [p.modified_pcap(folder / "capture.pcap", frames, link, big)]


def section_of(frames: Sequence[Frame], link: int, big: bool = False, resolution: int = NS, offset_s: int | None = None) -> bytes:
    """A section of one interface and enhanced blocks."""
    blocks = [p.enhanced(frame, ticks(frame.ts_ns, resolution, offset_s or 0), big) for frame in frames]
    return p.section(big) + p.interface(link, resolution=resolution, offset_s=offset_s, big=big) + b"".join(blocks)


def ticks(ts_ns: int, resolution: int, offset_s: int) -> int:
    """The first tick of an interface that is not before a time."""
    base, power = (2, resolution & 0x7F) if resolution & 0x80 else (10, resolution)
    return -((offset_s * 1_000_000_000 - ts_ns) * base**power // 1_000_000_000)


def early(frames: Sequence[Frame]) -> int:
    """A whole second before all frames."""
    return min(frame.ts_ns for frame in frames) // 1_000_000_000 - 5


def many_interfaces(frames: Sequence[Frame], link: int) -> bytes:
    """Three interfaces of their own resolution and offset, described where they are first needed, one of them never used."""
    start = early(frames)
    kinds = [(NS, None), (0x80 | 30, None), (12, start), (6, None)]
    described = [p.interface(link, resolution=r, offset_s=o) for r, o in kinds]
    parts = [p.section(), described[0]]
    for i, frame in enumerate(frames):
        if i == 2:
            parts += described[1:]
        which = i % 3 if i > 1 else 0
        resolution, offset = kinds[which]
        parts.append(p.enhanced(replace(frame, interface=which), ticks(frame.ts_ns, resolution, offset or 0)))
    return b"".join(parts)


def mixed_sections(frames: Sequence[Frame], link: int) -> bytes:
    """Several sections, every other one big endian, each with an interface of another resolution."""
    size = -(-len(frames) // 5)
    kinds = [(NS, None), (0x80 | 30, None), (NS, -3), (12, early(frames)), (NS, 1000)]
    return b"".join(
        section_of(frames[i * size : (i + 1) * size], link, bool(i % 2), resolution, offset)
        for i, (resolution, offset) in enumerate(kinds)
    )


def obsolete(frames: Sequence[Frame], link: int) -> bytes:
    """Packet blocks as they were first."""
    return p.section() + p.interface(link, resolution=NS) + b"".join(p.obsolete(frame, frame.ts_ns) for frame in frames)


def simple(frames: Sequence[Frame], link: int) -> bytes:
    """Simple packet blocks: no times, no interface."""
    return p.section(True) + p.interface(link, big=True) + b"".join(p.simple(frame, True) for frame in frames)


def among_other_blocks(frames: Sequence[Frame], link: int) -> bytes:
    """Blocks of every other kind before each packet: names, statistics, secrets, journal, custom, local, unknown."""
    others = [
        p.block(4, bytes.fromhex("0000 0000")),
        p.block(5, struct.pack("<III", 0, 1, 2)),
        p.block(10, b"TLSK" + struct.pack("<I", 8) + b"CLIENT_R"),
        p.block(9, b"MESSAGE=hello\n"),
        p.block(0xBAD, struct.pack("<I", 32473) + b"anything"),
        p.block(0x40000BAD, struct.pack("<I", 32473)),
        p.block(0x80000001, b"local"),
        p.block(0x5AFE, b""),
    ]
    parts = [p.section(), p.interface(link, resolution=NS)]
    for i, frame in enumerate(frames):
        parts += [others[i % len(others)], p.enhanced(frame, frame.ts_ns)]
    return b"".join(parts)


def with_comments(frames: Sequence[Frame], link: int) -> bytes:
    """Options in every block that may have them."""
    comment = p.option(1, "Grüße".encode()) + p.option(2988, struct.pack("<I", 32473) + b"custom") + p.option(0, b"")
    head = p.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + comment)
    options = p.option(1, b"tap") + p.option(9, bytes([NS])) + p.option(3, b"x" * 33) + comment
    described = p.block(1, struct.pack("<HHI", link, 0, 0) + options)
    return head + described + b"".join(p.enhanced(frame, frame.ts_ns) for frame in frames)


def of_known_length(frames: Sequence[Frame], link: int) -> bytes:
    """Two sections that say how long they are."""
    parts = []
    for big, part in ((False, frames[: len(frames) // 2]), (True, frames[len(frames) // 2 :])):
        whole = section_of(part, link, big)
        rest, order = whole[28:], ">" if big else "<"
        parts += [p.block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, len(rest)), big), rest]
    return b"".join(parts)


def arrow(codec: str) -> Callable[[bytes], bytes]:
    """Compression by one of Arrow's codecs."""

    def compress(content: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(content)
        return sink.getvalue().to_pybytes()

    return compress


COMPRESS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": arrow("zstd"), "lz4": arrow("lz4")}


def compressed(how: str, write: Write, members: int = 1) -> Write:
    """The files that `write` writes, compressed, in several members."""

    def written(folder: Path, frames: Sequence[Frame], link: int) -> list[Path]:
        paths = write(folder, frames, link)
        for path in paths:
            content = path.read_bytes()
            size = -(-len(content) // members)
            path.write_bytes(b"".join(COMPRESS[how](content[at : at + size]) for at in range(0, len(content), size)))
        return paths

    return written


def rotated(*writers: Write) -> Write:
    """As many files as there are writers, named in the opposite order, each written by its own."""

    def write(folder: Path, frames: Sequence[Frame], link: int) -> list[Path]:
        size = -(-len(frames) // len(writers))
        found = []
        for i, writer in enumerate(writers):
            place = folder / str(len(writers) - i)
            place.mkdir()
            found += writer(place, frames[i * size : (i + 1) * size], link)
        return found[::-1]

    return write


def given_twice(write: Write) -> Write:
    """The same packets again, in a file of another format."""

    def written(folder: Path, frames: Sequence[Frame], link: int) -> list[Path]:
        again = folder / "again"
        again.mkdir()
        return write(folder, frames, link) + one(section_of)(again, frames, link)

    return written


NANO = {
    "pcap, nanoseconds": pcap(),
    "pcap, nanoseconds, big endian": pcap(big=True),
    "pcap that tells of a frame check sequence": pcap(link_bits=0x24000000),
    "pcapng": one(section_of),
    "pcapng, big endian": one(lambda frames, link: section_of(frames, link, big=True)),
    "pcapng, 2^-30 s": one(lambda frames, link: section_of(frames, link, resolution=0x80 | 30)),
    "pcapng, an offset": one(lambda frames, link: section_of(frames, link, offset_s=early(frames))),
    "pcapng, a negative offset": one(lambda frames, link: section_of(frames, link, offset_s=-86400)),
    "pcapng, picoseconds and an offset": one(lambda frames, link: section_of(frames, link, resolution=12, offset_s=early(frames))),
    "pcapng, 2^-48 s and an offset": one(lambda frames, link: section_of(frames, link, resolution=0x80 | 48, offset_s=early(frames))),
    "pcapng, several interfaces": one(many_interfaces),
    "pcapng, sections of both byte orders": one(mixed_sections),
    "pcapng, sections of known length": one(of_known_length),
    "pcapng, obsolete packet blocks": one(obsolete),
    "pcapng, other blocks in between": one(among_other_blocks),
    "pcapng, comments and custom options": one(with_comments),
    "gzip": compressed("gzip", pcap()),
    "gzip, three members": compressed("gzip", pcap(), 3),
    "zstd": compressed("zstd", pcap()),
    "zstd, three frames": compressed("zstd", one(section_of), 3),
    "lz4": compressed("lz4", pcap(big=True)),
    "bzip2": compressed("bzip2", one(mixed_sections)),
    "xz": compressed("xz", pcap()),
    "pcapng, xz": compressed("xz", one(section_of)),
    "rotated": rotated(pcap(), pcap(), pcap(), pcap()),
    "rotated, every file of another form": rotated(
        pcap(big=True), one(section_of), compressed("gzip", pcap()), compressed("zstd", one(mixed_sections)), one(obsolete)
    ),
}
MICRO = {
    "pcap, microseconds": pcap(nano=False),
    "pcap, microseconds, big endian": pcap(big=True, nano=False),
    "pcap, modified": modified(big=False),
    "pcap, modified, big endian": modified(big=True),
    "pcapng, microseconds": one(lambda frames, link: section_of(frames, link, resolution=6)),
    "rotated, microseconds, compressed": rotated(*[compressed(how, pcap(nano=False)) for how in COMPRESS]),
}
UNTIMED = {"pcapng, simple packet blocks": one(simple)}
