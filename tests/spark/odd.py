"""A folder of odd and damaged captures of every kind, made of the first packets of a recorded one, and what is no capture among them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random

from tests.capture import packaging as p
from tests.capture.packaging import Frame
from tests.fuzz.mutations import MUTATIONS, ODD_NUMBERS, mutated
from tests.mangler.files import COMPRESS, section_of
from tests.mangler.packagings import Packaging, source

PLAIN, PACKETS = Packaging(), 12
# sizes of the fields of each kind of header, in octets
PCAP_FILE, PCAP_RECORD, MODIFIED_RECORD = (4, 2, 2, 4, 4, 4, 4), (4, 4, 4, 4), (4, 4, 4, 4, 4, 2, 1, 1)
SECTION, INTERFACE, ENHANCED = (4, 4, 4, 2, 2, 8, 4), (4, 4, 2, 2, 4, 8, 4, 4, 4, 4), (4, 4, 4, 4, 4, 4, 4)
FOREIGN = {
    "snoop": b"snoop\0\0\0\0\0\0\2\0\0\0\4" + bytes(200),
    "netmon": b"GMBU\0\2" + bytes(200),
    "erf": bytes.fromhex("8c4a11f21a2b3c4d0200005000000040") + bytes(64),
    "text": b"No.     Time        Source                Destination\n      1 0.000000\n",
    "page": b"<!doctype html><title>captures</title>",
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "archive": b"PK\3\4" + bytes(100),
    "ones": b"\xff" * 300,
    "zeros": bytes(300),
    "two octets": b"\xd4\xc3",
}


def made(folder: Path, capture: Path) -> None:
    """Fill a folder that is empty."""
    for name, octets in contents(folder, capture):
        (folder / name).write_bytes(octets)


def contents(scratch: Path, capture: Path) -> Iterator[tuple[str, bytes]]:
    """Names of files and what they hold; `scratch` is a folder to write in meanwhile."""
    segments = source(capture, True, False)[:PACKETS]
    frames = [frame for one in segments for frame in PLAIN.encapsulation.frames(one)]
    place = scratch / "whole"
    whole = {
        "pcap": p.pcap(place, frames).read_bytes(),
        "big": p.pcap(place, frames, big=True, nano=True).read_bytes(),
        "modified": p.modified_pcap(place, frames).read_bytes(),
        "pcapng": section_of(frames, p.ETHERNET),
        "pcapng-big": section_of(frames, p.ETHERNET, big=True),
    }
    place.unlink()
    for kind, octets in whole.items():
        *places, end = sorted({0, *structure(kind, frames)})
        if end != len(octets):
            raise AssertionError(f"a {kind} is {len(octets)} octets long, by its fields {end}")
        yield f"{kind}.cap", octets
        for at in places:
            yield f"{kind}-cut-{at}.cap", octets[:at]
            yield f"{kind}-cut-{at + 1}.cap", octets[: at + 1]
        yield from flipped(kind, octets, places)
        yield from numbered(kind, octets, places)
    for kind, compress in COMPRESS.items():
        packed = compress(whole["pcap"])
        yield f"pcap.{kind}", packed
        for at in (len(packed) // 4, len(packed) // 2, len(packed) - 1):
            yield f"pcap-cut-{at}.{kind}", packed[:at]
            yield f"pcap-flipped-{at}.{kind}", packed[:at] + bytes([packed[at] ^ 4]) + packed[at + 1 :]
    dice, seeds = Random(14), list(whole.values())
    for number in range(20 * len(MUTATIONS)):
        yield f"mutated-{number}.cap", mutated(dice.choice(seeds), dice, seeds)
    yield from odd_numbers(frames)
    for kind, octets in FOREIGN.items():
        yield f"foreign-{kind}.pcap", octets
    yield "empty.pcap", b""


def structure(kind: str, frames: Sequence[Frame]) -> Iterator[int]:
    """Where the fields of a file begin: of its headers, and of its first, second and last record."""
    if kind.startswith("pcapng"):
        sizes = [*SECTION, *INTERFACE]
        for frame in frames:
            octets = len(frame.octets)
            # behind the octets come padding, a comment with its padding, the end of options, and the length again
            sizes += [*ENHANCED, octets, -octets % 4 + 4 + 9, 3 + 4, 4]
    else:
        sizes = list(PCAP_FILE)
        for frame in frames:
            sizes += [*(MODIFIED_RECORD if kind == "modified" else PCAP_RECORD), len(frame.octets)]
    ends = list(accumulate(sizes))
    return iter(ends[:40] + ends[-12:])


def flipped(kind: str, octets: bytes, places: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    """A bit of each field flipped, the lowest and the highest one of its first octet."""
    for at in places:
        for bit in (0, 7):
            yield f"{kind}-flipped-{at}-{bit}.cap", octets[:at] + bytes([octets[at] ^ 1 << bit]) + octets[at + 1 :]


def numbered(kind: str, octets: bytes, places: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    """Odd numbers in the place of fields, each number somewhere."""
    dice = Random(kind)
    for number in ODD_NUMBERS:
        at = dice.choice(places)
        order = ">" if "big" in kind else "<"
        yield f"{kind}-{number}-at-{at}.cap", octets[:at] + struct.pack(order + "I", number) + octets[at + 4 :]


def odd_numbers(frames: Sequence[Frame]) -> Iterator[tuple[str, bytes]]:
    """pcapng whose numbers are beyond what a column or a packet has."""
    blocks = [p.enhanced(frame, frame.ts_ns // 1000) for frame in frames]
    for snaplen in (1, 2**31 - 1, 2**31, 2**32 - 1):
        yield f"snaplen-{snaplen}.cap", p.section() + p.interface(snaplen=snaplen) + b"".join(blocks)
    for link in (0, 147, 0x7FFF, 0xFFFF):
        yield f"link-{link}.cap", p.section() + p.interface(link) + b"".join(blocks)
    for resolution in (0, 1, 9, 18, 0x7F, 0x80, 0xA0, 0xBF, 0xC0, 0xFF):
        for ticks in (0, 2**63, 2**64 - 1):
            head = p.section() + p.interface(resolution=resolution)
            yield f"time-{resolution}-{ticks}.cap", head + b"".join(p.enhanced(frame, ticks) for frame in frames)
    for offset in (-(2**63), -1, 2**33, 2**63 - 1):
        yield f"offset-{offset}.cap", p.section() + p.interface(offset_s=offset) + b"".join(blocks)
    for original in (0, 2**24 + 1, 2**31, 2**32 - 1):
        longer = [Frame(frame.octets, frame.ts_ns, original) for frame in frames]
        yield f"original-{original}.cap", p.section() + p.interface() + b"".join(p.enhanced(f, f.ts_ns // 1000) for f in longer)
    for interface in (1, 2**16 - 1, 2**31, 2**32 - 1):
        stray = p.enhanced(Frame(frames[0].octets, interface=interface), 0)
        yield f"interface-{interface}.cap", p.section() + p.interface() + b"".join(block + stray for block in blocks)
    yield "interfaces.cap", p.section() + b"".join(p.interface() + block for block in blocks) * 100
    yield "sections.cap", b"".join(p.section() + p.interface() + block for block in blocks) * 100
    yield "no-interface.cap", p.section() + b"".join(blocks)
    yield "short-interface.cap", p.section() + p.block(1, b"\1\0") + b"".join(blocks)
