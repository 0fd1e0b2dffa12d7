"""Simple link headers that scapy does not know and that are too rare for kernels: their length, and what follows.

Each function takes the first octets of a frame and gives the length of the header and the link type of what follows, or None where the
octets are no such header. Formats as on tcpdump.org's page of link-layer header types.
"""

from __future__ import annotations

from collections.abc import Callable

from stompcap.capture.links import ETHERNET_LINK, RAW_LINK, TYPED_LINK

Peeled = tuple[int, int] | None
LLC = TYPED_LINK  # where a length, not an ethertype, precedes it
NFLOG_PAYLOAD = 9
NLPID_IP, NLPID_IPV6, NLPID_SNAP = 0xCC, 0x8E, 0x80  # RFC 2427, 3


def fixed(octets: int, link: int) -> Callable[[bytes], Peeled]:
    """A header of a fixed length before that link type."""
    return lambda frame: (octets, link) if len(frame) > octets else None


def typed(position: int, octets: int) -> Callable[[bytes], Peeled]:
    """A header of a fixed length with an ethertype at `position`."""
    return lambda frame: (octets, TYPED_LINK | int.from_bytes(frame[position : position + 2], "big")) if len(frame) > octets else None


def nflog(frame: bytes) -> Peeled:
    """Family, version, resource; then fields of length, type, value, padded to four octets, in the capturing host's order."""
    for order in ("little", "big"):
        at = 4
        while at + 4 <= len(frame):
            size, kind = (int.from_bytes(frame[at + i : at + i + 2], order) for i in (0, 2))
            if kind & 0x7FFF == NFLOG_PAYLOAD and size > 4:
                return at + 4, RAW_LINK
            if size < 4:
                break
            at += -(-size // 4) * 4
    return None


def pktap(frame: bytes) -> Peeled:
    """Apple's: length of the header, type of the record (1: a packet), link type of what follows; little endian."""
    size, record, link = (int.from_bytes(frame[i : i + 4], "little") for i in (0, 4, 8))
    return (size, link) if record == 1 and 12 <= size < len(frame) and link < TYPED_LINK and link not in (PKTAP, APPLE_PKTAP) else None


def pflog(frame: bytes) -> Peeled:
    """OpenBSD's firewall log: its first octet is its length without padding."""
    size = -(-frame[0] // 4) * 4 if frame else 0
    return (size, RAW_LINK) if 4 <= size < len(frame) else None


def frame_relay(frame: bytes) -> Peeled:
    """A two-octet address, then RFC 2427's NLPID, or Cisco's ethertype."""
    if len(frame) < 5:
        return None
    if frame[2] != 3:
        return 4, TYPED_LINK | int.from_bytes(frame[2:4], "big")
    at = 3 + (frame[3] == 0)  # a pad before the NLPID
    match frame[at]:
        case kind if kind in (NLPID_IP, NLPID_IPV6):
            return at + 1, RAW_LINK
        case kind if kind == NLPID_SNAP and len(frame) > at + 6:
            return at + 6, TYPED_LINK | int.from_bytes(frame[at + 4 : at + 6], "big")
    return None


def avs(frame: bytes) -> Peeled:
    """The AVS header before IEEE 802.11: a magic, then its length."""
    size = int.from_bytes(frame[4:8], "big")
    return (size, 105) if 8 <= size < len(frame) else None


def token_ring(frame: bytes) -> Peeled:
    """IEEE 802.5: with source routes where the source address has that bit set."""
    route = frame[14] & 31 if len(frame) > 14 and frame[8] & 0x80 else 0
    return fixed(14 + route, LLC)(frame)


APPLE_PKTAP, PKTAP = 149, 258  # Apple's tools write the first, one of those reserved for private use
HEADERS: dict[int, Callable[[bytes], Peeled]] = {
    6: token_ring,
    10: fixed(13, LLC),  # FDDI
    100: fixed(0, LLC),  # ATM, RFC 2684
    104: typed(2, 4),  # Cisco HDLC
    107: frame_relay,
    109: fixed(12, RAW_LINK),  # OpenBSD's enc
    117: pflog,
    122: fixed(16, LLC),  # IP over Fibre Channel, RFC 2625
    123: fixed(4, LLC),  # SunATM
    138: typed(16, 18),  # Apple's IP over IEEE 1394
    APPLE_PKTAP: pktap,
    163: avs,
    205: typed(3, 5),  # Cisco HDLC behind a direction
    219: fixed(0, TYPED_LINK | 0x8847),  # MPLS
    239: nflog,
    240: fixed(4, ETHERNET_LINK),  # netANALYZER
    PKTAP: pktap,
}
