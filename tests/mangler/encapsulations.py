"""Ways in which a network may carry the same IP packet: each takes a segment to the frames of one link type."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from tests.capture.packaging import Frame
from tests.mangler.taken_apart import Segment, ip, length

Wrap = Callable[[bytes], bytes]
MACS = bytes.fromhex("020000000001 020000000002")
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
OUTER_4 = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
OUTER_6 = bytes.fromhex("20010db8" + "00" * 11 + "01"), bytes.fromhex("20010db8" + "00" * 11 + "02")


@dataclass(frozen=True)
class Encapsulation:
    """`link` is the number of the link type; `frames` takes a segment to its frames."""

    link: int
    frames: Callable[[Segment], list[Frame]]


def kind(packet: bytes) -> bytes:
    """The ethertype of an IP packet."""
    return IPV4 if packet[0] >> 4 == 4 else IPV6


def plain(link: int, wrap: Wrap) -> Encapsulation:
    """One frame for each packet."""
    return Encapsulation(link, lambda one: [Frame(wrap(one.ip), one.ts_ns)])


def ethernet(packet: bytes, tags: bytes = b"") -> bytes:
    """Ethernet, VLAN tags (each with the ethertype before it) in between."""
    return MACS + tags + kind(packet) + packet


def padded(packet: bytes) -> bytes:
    """Filled up to 60 octets with what was in the card's buffer, and a frame check sequence."""
    frame = ethernet(packet)
    return frame + b"SEND\n\n\0"[: max(0, 60 - len(frame))] * 9 + b"\xde\xad\xbe\xef"


def tagged(*tags: str) -> Wrap:
    """Tags in hexadecimal: ethertype and tag control information."""
    return lambda packet: ethernet(packet, bytes.fromhex("".join(tags)))


def mpls(*labels: int) -> Wrap:
    """Labels, the last one with the bottom bit."""

    def wrap(packet: bytes) -> bytes:
        stack = b"".join(struct.pack(">I", label << 12 | (i == len(labels) - 1) << 8 | 64) for i, label in enumerate(labels))
        return MACS + b"\x88\x47" + stack + packet

    return wrap


def pppoe(packet: bytes) -> bytes:
    """A PPPoE session (RFC 2516)."""
    ppp = (b"\x00\x21" if kind(packet) == IPV4 else b"\x00\x57") + packet
    return MACS + b"\x88\x64" + struct.pack(">BBHH", 0x11, 0, 7, length(len(ppp))) + ppp


def snap(packet: bytes) -> bytes:
    """IEEE 802.3 with LLC and SNAP; the length of a frame too long for it is left 1500."""
    content = b"\xaa\xaa\x03\0\0\0" + kind(packet) + packet
    return MACS + struct.pack(">H", min(len(content), 1500)) + content


def cooked(packet: bytes) -> bytes:
    """Linux cooked capture."""
    return struct.pack(">HHH", 4, 1, 6) + MACS[:6] + b"\0\0" + kind(packet) + packet


def cooked_2(packet: bytes) -> bytes:
    """Linux cooked capture, version 2."""
    return kind(packet) + struct.pack(">HIHBB", 0, 3, 1, 4, 6) + MACS[:6] + b"\0\0" + packet


def null(order: str, six: int) -> Wrap:
    """BSD loopback: the address family in the order of some host, IPv6 by the number its system has for it."""
    return lambda packet: struct.pack(order + "I", 2 if kind(packet) == IPV4 else six) + packet


def inside(protocol: int, head: Wrap, outer: tuple[bytes, bytes] = OUTER_4) -> Wrap:
    """Ethernet and an outer IP packet of that protocol; `head` makes its content of the inner packet."""
    return lambda packet: ethernet(ip(*outer, protocol, head(packet)))


def udp(port: int, head: Wrap) -> Wrap:
    """UDP from some port, without a checksum."""

    def wrap(packet: bytes) -> bytes:
        content = head(packet)
        return struct.pack(">HHHH", 50_123, port, length(8 + len(content)), 0) + content

    return wrap


def vxlan(packet: bytes) -> bytes:
    """VXLAN (RFC 7348) with a tagged frame."""
    return bytes.fromhex("08000000 00000500") + ethernet(packet, bytes.fromhex("81000064"))


def geneve(options: bytes, bare: bool) -> Wrap:
    """Geneve (RFC 8926) with options, and Ethernet or IP inside."""
    head = bytes([len(options) // 4, 0])
    return lambda packet: head + (kind(packet) if bare else b"\x65\x58") + b"\0\0\5\0" + options + (packet if bare else ethernet(packet))


def gre(bits: str, fields: str = "") -> Wrap:
    """GRE (RFC 2784, 2890) with IP inside."""
    return lambda packet: bytes.fromhex(bits) + kind(packet) + bytes.fromhex(fields) + packet


def extended(chain: str) -> Callable[[Segment], list[Frame]]:
    """IPv6 with extension headers; `chain` has an H, D, R, F, A for hop-by-hop, destination, routing, fragment, authentication."""
    numbers = {"H": 0, "D": 60, "R": 43, "F": 44, "A": 51}
    bodies = {"H": "00 0104 00000000", "D": "01 1e0a" + "41" * 10 + "0100", "R": "00 0400 00000000", "F": "00 0000 00000007",
              "A": "04 0000 00000001 00000001" + "42" * 12}  # fmt: skip

    def frames(one: Segment) -> list[Frame]:
        content, protocol = one.tcp, 6
        for letter in reversed(chain):
            content = bytes([protocol]) + bytes.fromhex(bodies[letter]) + content
            protocol = numbers[letter]
        return [Frame(ethernet(ip(one.src, one.dst, protocol, content, ttl=one.ttl)), one.ts_ns)]

    return frames


def fragmented(octets: int, arrange: Callable[[list[bytes]], list[bytes]], wrap: Wrap = ethernet) -> Callable[[Segment], list[Frame]]:
    """Fragments of at most that many octets (a multiple of 8), arranged, all captured at the time of the packet.

    A packet and its copies have one identification.
    """
    numbers: dict[tuple[bytes, int, bytes], int] = {}

    def frames(one: Segment) -> list[Frame]:
        content, parts = one.tcp, []
        number = numbers.setdefault((one.src, one.ip_id, content), len(numbers) % 65536)
        for begin in range(0, len(content), octets):
            part, more = content[begin : begin + octets], begin + octets < len(content)
            if len(one.src) == 4:
                parts.append(ip(one.src, one.dst, 6, part, number, one.ttl, more << 13 | begin >> 3))
            else:
                head = struct.pack(">BBHI", 6, 0, begin | more, number)
                parts.append(ip(one.src, one.dst, 44, head + part, ttl=one.ttl))
        return [Frame(wrap(part), one.ts_ns) for part in arrange(parts)]

    return frames


def offloaded(one: Segment) -> list[Frame]:
    """The IP length is 0, as segmentation offload leaves it."""
    packet = one.ip
    at = 2 if packet[0] >> 4 == 4 else 4
    return [Frame(ethernet(packet[:at] + b"\0\0" + packet[at + 2 :]), one.ts_ns)]


def jumbo(one: Segment) -> list[Frame]:
    """The length is in a hop-by-hop option (RFC 2675)."""
    head = bytes.fromhex("06 00 c2 04") + struct.pack(">I", len(one.tcp) + 8)
    packet = ip(one.src, one.dst, 0, head + one.tcp, ttl=one.ttl)
    return [Frame(ethernet(packet[:4] + b"\0\0" + packet[6:]), one.ts_ns)]


def among_others(one: Segment) -> list[Frame]:
    """An ARP request, a UDP datagram, a frame too short to be one, and a fragment whose rest is never seen, before each packet."""
    others = (
        MACS + bytes.fromhex("0806 0001 0800 0604 0001") + bytes(20),
        ethernet(ip(*OUTER_4, 17, struct.pack(">HHHH", 53, 53, 12, 0) + b"SEND")),
        b"\x02\x00",
        ethernet(ip(*OUTER_4, 6, one.tcp[:8], one.ts_ns & 0xFFFF, more=0x2000)),
    )
    return [Frame(octets, one.ts_ns) for octets in (*others, ethernet(one.ip))]


def swapped(parts: list[bytes]) -> list[bytes]:
    """The second half first."""
    half = len(parts) // 2
    return parts[half:] + parts[:half]


def repeated(parts: list[bytes]) -> list[bytes]:
    """Every fragment but the last twice."""
    return [part for part in parts[:-1] for _ in range(2)] + parts[-1:]


ANY_IP = {
    "ethernet": plain(1, ethernet),
    "padded, with a frame check sequence": plain(1, padded),
    "raw": plain(101, bytes),
    "raw as OpenBSD numbers it": plain(14, bytes),
    "raw as DLT_RAW numbers it": plain(12, bytes),
    "null, little endian": plain(0, null("<", 30)),
    "null, big endian": plain(0, null(">", 24)),
    "null of Linux": plain(0, null("<", 10)),
    "loop": plain(108, null(">", 28)),
    "Linux cooked": plain(113, cooked),
    "Linux cooked 2": plain(276, cooked_2),
    "802.1Q": plain(1, tagged("81000064")),
    "priority tag": plain(1, tagged("8100e000")),
    "QinQ": plain(1, tagged("88a80007", "81000064")),
    "QinQ of old": plain(1, tagged("91000007", "81000064")),
    "three tags": plain(1, tagged("88a80007", "81000008", "81000009")),
    "MPLS": plain(1, mpls(100)),
    "MPLS, three labels": plain(1, mpls(100, 200, 3)),
    "PPPoE": plain(1, pppoe),
    "VXLAN": plain(1, inside(17, udp(4789, vxlan))),
    "VXLAN over IPv6": plain(1, inside(17, udp(4789, vxlan), OUTER_6)),
    "Geneve": plain(1, inside(17, udp(6081, geneve(b"", bare=False)))),
    "Geneve with options": plain(1, inside(17, udp(6081, geneve(bytes.fromhex("0102 80 01 deadbeef"), bare=True)))),
    "GRE": plain(1, inside(47, gre("0000"))),
    "GRE with key and sequence number": plain(1, inside(47, gre("3000", "00000005 00000009"))),
    "GRE over IPv6": plain(1, inside(47, gre("0000"), OUTER_6)),
    "among other traffic": Encapsulation(1, among_others),
    "offloaded": Encapsulation(1, offloaded),
    "fragments": Encapsulation(1, fragmented(64, list)),
    "fragments, the last one first": Encapsulation(1, fragmented(64, lambda parts: parts[::-1])),
    "fragments, halves swapped": Encapsulation(1, fragmented(16, swapped)),
    "fragments, repeated": Encapsulation(1, fragmented(128, repeated)),
    "fragments in two tags": Encapsulation(1, fragmented(256, list, tagged("88a80007", "81000064"))),
    "fragments in VXLAN": Encapsulation(1, fragmented(256, list, inside(17, udp(4789, vxlan)))),
    "fragments, Linux cooked": Encapsulation(113, fragmented(256, list, cooked)),
}
ONLY_IPV4 = {
    "raw IPv4": plain(228, bytes),
    "IP in IP": plain(1, inside(4, bytes)),
    "IPv4 in IPv6": plain(1, inside(4, bytes, OUTER_6)),
    "802.3 with SNAP": plain(1, snap),
}
ONLY_IPV6 = {
    "raw IPv6": plain(229, bytes),
    "IPv6 in IPv4": plain(1, inside(41, bytes)),
    "IPv6 in IPv6": plain(1, inside(41, bytes, OUTER_6)),
    "hop-by-hop options": Encapsulation(1, extended("H")),
    "destination options": Encapsulation(1, extended("D")),
    "an atomic fragment": Encapsulation(1, extended("F")),
    "all extension headers": Encapsulation(1, extended("HDRFAD")),
    "jumbo": Encapsulation(1, jumbo),
}
