"""The kernel that reads link, IP and TCP headers of a batch of records into the columns of segments.

It decodes the usual encapsulations and says of every other packet why not: `REFUSED` ones are for scapy
(`stompcap.capture.dissect`), the rest is counted as skipped by that reason. Payload lengths follow the IP length (RFC
791, 3.1; RFC 8200, 3), so Ethernet padding and frame check sequences are no payload; an IP length of 0 (segmentation
offload) means all that the frame has.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numpy.typing import NDArray

from stompcap.capture.integers import Int, u16, u32
from stompcap.kernel import inline, kernel

USED, REFUSED, NOT_IP, NOT_TCP, FRAGMENT, MALFORMED, UNKNOWN_LINK, OVERLAP = 0, 1, 2, 3, 4, 5, 6, 7
REASONS = {
    NOT_IP: "not_ip",
    NOT_TCP: "not_tcp",
    FRAGMENT: "ip_fragment",
    MALFORMED: "malformed",
    UNKNOWN_LINK: "unknown_link",
    OVERLAP: "ip_fragment_overlap",
}
ENDPOINT_OCTETS = 36

# what the kernel makes of a packet, an array each, in the units of stompcap.capture.columns; `endpoints` has 36 columns
Decoded = namedtuple(
    "Decoded",
    "verdict flow endpoints forward seq ack flags window ip_id ttl wire_octets captured_octets place",
)
KINDS = {
    "verdict": np.uint8,
    "forward": np.uint8,
    "flags": np.int32,
    "window": np.int32,
    "ip_id": np.int32,
    "ttl": np.int32,
}


def empty(packets: Int) -> Decoded:
    """Columns for that many packets, not initialised."""
    return Decoded(
        *(
            np.empty(
                (packets, ENDPOINT_OCTETS) if name == "endpoints" else packets,
                np.uint8 if name == "endpoints" else KINDS.get(name, np.int64),
            )
            for name in Decoded._fields
        )
    )


# how a link type's frames begin
NO_LINK, ETHERNET, COOKED, COOKED_2, RAW, NULL = 0, 1, 2, 3, 4, 5


@inline
def link_kind(link: Int) -> Int:
    """How frames of a link type (LINKTYPE_ number) begin; NO_LINK: not known here."""
    if link == 1:
        return ETHERNET
    if link == 113:
        return COOKED
    if link == 276:
        return COOKED_2
    if link == 101 or link == 12 or link == 14 or link == 228 or link == 229:
        return RAW
    if link == 0 or link == 108:
        return NULL
    return NO_LINK


@inline
def find_ip(octets: NDArray[np.uint8], at: Int, limit: Int, link: Int) -> tuple[Int, Int]:
    """Walk the link header of the frame in [at, limit): (USED, where IP begins) or (why not, 0)."""
    kind = link_kind(link)
    if kind == RAW:
        return (USED, at) if at < limit else (MALFORMED, 0)
    if kind == NULL:
        if at + 4 > limit:
            return MALFORMED, 0
        family = min(u32(octets, at, False), u32(octets, at, True))  # the capturing host's order, or network order
        ip = family == 2 or family == 10 or family == 24 or family == 28 or family == 30
        return (USED, at + 4) if ip else (NOT_IP, 0)
    if kind == ETHERNET:
        head, where = 14, 12
    elif kind == COOKED:
        head, where = 16, 14
    elif kind == COOKED_2:
        head, where = 20, 0
    else:
        return REFUSED, 0
    if at + head > limit:
        return MALFORMED, 0
    ethertype = u16(octets, at + where, True)
    at += head
    while ethertype == 0x8100 or ethertype == 0x88A8 or ethertype == 0x9100 or ethertype == 0x9200:
        if at + 4 > limit:
            return MALFORMED, 0
        ethertype = u16(octets, at + 2, True)
        at += 4
    if ethertype == 0x0800 or ethertype == 0x86DD:
        return USED, at
    if ethertype == 0x8847 or ethertype == 0x8848 or ethertype == 0x8864 or ethertype == 0x88E7 or ethertype == 0x6558:
        return REFUSED, 0  # MPLS, PPPoE, PBB, transparent Ethernet bridging
    if ethertype <= 1500:
        return REFUSED, 0  # IEEE 802.3 with LLC, maybe SNAP
    return NOT_IP, 0


@inline
def ipv6_upper(octets: NDArray[np.uint8], at: Int, limit: Int, protocol: Int) -> tuple[Int, Int, Int]:
    """Pass IPv6 extension headers from `at` on: (USED or why not, upper protocol, where it begins)."""
    while True:
        if protocol == 0 or protocol == 43 or protocol == 60:
            if at + 8 > limit:
                return MALFORMED, 0, 0
            protocol, at = np.int64(octets[at]), at + (np.int64(octets[at + 1]) + 1) * 8
        elif protocol == 44:
            if at + 8 > limit:
                return MALFORMED, 0, 0
            if u16(octets, at + 2, True) & 0xFFF9:
                return FRAGMENT, 0, 0
            protocol, at = np.int64(octets[at]), at + 8
        elif protocol == 51:
            if at + 8 > limit:
                return MALFORMED, 0, 0
            protocol, at = np.int64(octets[at]), at + (np.int64(octets[at + 1]) + 2) * 4
        else:
            return USED, protocol, at


@inline
def not_tcp(octets: NDArray[np.uint8], at: Int, limit: Int, protocol: Int) -> Int:
    """Why a packet of another upper protocol is left out: REFUSED where it may be a tunnel, else NOT_TCP."""
    if protocol == 4 or protocol == 41 or protocol == 47 or protocol == 51 or protocol == 137:
        return REFUSED  # IP in IP, GRE, AH, MPLS in IP
    if protocol == 17 and at + 4 <= limit:
        for place in (at, at + 2):
            port = u16(octets, place, True)
            if port == 4789 or port == 8472 or port == 6081 or port == 2152 or port == 3544:
                return REFUSED  # VXLAN, Geneve, GTP-U, Teredo
    return NOT_TCP


@inline
def write_endpoint(octets: NDArray[np.uint8], address: Int, width: Int, port: Int, row: Int, to: Int, endpoints: NDArray[np.uint8]) -> None:
    """Write address and port as 18 octets, an IPv4 address as its IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2)."""
    if width == 4:
        for i in range(10):
            endpoints[row, to + i] = 0
        endpoints[row, to + 10] = endpoints[row, to + 11] = 255
    for i in range(width):
        endpoints[row, to + 16 - width + i] = octets[address + i]
    endpoints[row, to + 16], endpoints[row, to + 17] = octets[port], octets[port + 1]


@inline
def in_order(octets: NDArray[np.uint8], source: Int, target: Int, width: Int, ports: Int) -> bool:
    """Whether the source endpoint is the low one; equal endpoints count as such."""
    for i in range(width):
        if octets[source + i] != octets[target + i]:
            return bool(octets[source + i] < octets[target + i])
    return bool(u16(octets, ports, True) <= u16(octets, ports + 2, True))


@kernel
def flow_hash(endpoints: NDArray[np.uint8], row: Int) -> Int:
    """A 64-bit hash of a row of endpoints."""
    state = np.int64(0x51ED270B)
    for word in range(0, ENDPOINT_OCTETS, 4):
        piece = np.int64(endpoints[row, word]) << 24 | np.int64(endpoints[row, word + 1]) << 16
        piece |= np.int64(endpoints[row, word + 2]) << 8 | np.int64(endpoints[row, word + 3])
        state = (state ^ piece) * np.int64(0x9E3779B97F4A7C1)
        state ^= (state >> 29) & np.int64(0x7FFFFFFFF)
    return state


@inline
def find_tcp(octets: NDArray[np.uint8], at: Int, limit: Int, wire_limit: Int) -> tuple[Int, Int, Int, Int]:
    """Walk the IP packet at `at`: (USED or why not, its TCP header, its TCP payload, where it ends on the wire)."""
    version = octets[at] >> 4 if at < limit else 0
    if version == 4:
        if at + 20 > limit:
            return MALFORMED, 0, 0, 0
        head, total = np.int64(octets[at] & 15) * 4, u16(octets, at + 2, True)
        if head < 20 or (total != 0 and total < head):
            return MALFORMED, 0, 0, 0
        if u16(octets, at + 6, True) & 0x3FFF:
            return FRAGMENT, 0, 0, 0
        verdict, protocol, upper = USED, np.int64(octets[at + 9]), at + head
        wire_end = at + total if total else wire_limit
    elif version == 6:
        if at + 40 > limit:
            return MALFORMED, 0, 0, 0
        total = u16(octets, at + 4, True)
        verdict, protocol, upper = ipv6_upper(octets, at + 40, limit, np.int64(octets[at + 6]))
        wire_end = at + 40 + total if total else wire_limit
    else:
        return MALFORMED, 0, 0, 0
    if verdict != USED:
        return verdict, 0, 0, 0
    if protocol != 6:
        return not_tcp(octets, upper, limit, protocol), 0, 0, 0
    if upper + 20 > limit or upper + 20 > wire_end:
        return MALFORMED, 0, 0, 0
    payload = upper + np.int64(octets[upper + 12] >> 4) * 4
    if payload < upper + 20 or payload > wire_end:
        return MALFORMED, 0, 0, 0
    return USED, upper, payload, wire_end


@kernel
def decode(
    octets: NDArray[np.uint8],
    places: NDArray[np.int64],
    captured: NDArray[np.int64],
    original: NDArray[np.int64],
    links: NDArray[np.int32],
    out: Decoded,
) -> Int:
    """Decode a batch of records into `out`, a row each; the number of rows that are not USED."""
    # one name for each array: a field of a tuple costs a reference count each time it is named
    verdicts, flows, endpoints, forwards, seqs, acks, flags, window, ip_id, ttl, wire_octets, captured_octets, place = out
    others = 0
    for row in range(len(places)):
        limit = places[row] + captured[row]
        verdict, ip = find_ip(octets, places[row], limit, links[row])
        if verdict == USED:
            verdict, tcp, payload, wire_end = find_tcp(octets, ip, limit, places[row] + max(captured[row], original[row]))
        verdicts[row] = verdict
        if verdict != USED:
            others += 1
            place[row] = ip  # for fragments to be put together
            continue
        if octets[ip] >> 4 == 4:
            source, width = ip + 12, 4
            ip_id[row], ttl[row] = u16(octets, ip + 4, True), octets[ip + 8]
        else:
            source, width = ip + 8, 16
            ip_id[row], ttl[row] = -1, octets[ip + 7]
        forward = in_order(octets, source, source + width, width, tcp)
        forwards[row] = forward
        write_endpoint(octets, source, width, tcp, row, 0 if forward else 18, endpoints)
        write_endpoint(octets, source + width, width, tcp + 2, row, 18 if forward else 0, endpoints)
        flows[row] = flow_hash(endpoints, row)
        seqs[row], acks[row] = u32(octets, tcp + 4, True), u32(octets, tcp + 8, True)
        flags[row], window[row] = octets[tcp + 13], u16(octets, tcp + 14, True)
        place[row] = payload
        wire_octets[row] = wire_end - payload
        captured_octets[row] = max(0, min(limit, wire_end) - payload)
    return others
