"""The kernel that reads link, IP and TCP headers of a batch of records into the columns of segments.

It decodes the usual encapsulations and tunnels and gives a reason for every other packet: `REFUSED` ones go to scapy
(`stompcap.capture.dissect`), the rest is counted as skipped for that reason. Payload lengths follow the IP length (RFC
791, 3.1; RFC 8200, 3), so Ethernet padding and frame check sequences are not payload; an IP length of 0 (segmentation
offload) means the rest of the frame.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from stompcap.capture.chains import MAX_PACKET_OCTETS
from stompcap.capture.integers import Int, u16, u32
from stompcap.capture.links import find_ip
from stompcap.capture.tunnels import inside, ipv6_upper, jumbo_octets
from stompcap.capture.verdicts import FRAGMENT, MALFORMED, NOT_IP, NOT_TCP, REFUSED, TUNNEL, USED
from stompcap.columns import I32, I64, U8, Octets
from stompcap.kernel import callee, inline, kernel

ENDPOINT_OCTETS = 36
MAX_TUNNELS = 8  # nested

# results per packet, one array each, in the units of stompcap.capture.segment_columns; `endpoints` has 36 columns
Decoded = namedtuple(
    "Decoded",
    "verdict flow endpoints forward seq ack flags window ip_id ttl wire_octets captured_octets bad_checksum position outer",
)
KINDS = {
    "verdict": np.uint8,
    "forward": np.uint8,
    "flags": np.int32,
    "window": np.int32,
    "ip_id": np.int32,
    "ttl": np.int32,
    "bad_checksum": np.uint8,
}


def empty(packets: Int) -> Decoded:
    """Columns for so many packets, not initialised."""
    return Decoded(
        *(
            np.empty(
                (packets, ENDPOINT_OCTETS) if name == "endpoints" else packets,
                np.uint8 if name == "endpoints" else KINDS.get(name, np.int64),
            )
            for name in Decoded._fields
        )
    )


@inline
def write_endpoint(octets: Octets, address: Int, width: Int, port: Int, row: Int, to: Int, endpoints: U8) -> None:
    """Write address and port as 18 octets, an IPv4 address as its IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2)."""
    if width == 4:
        for i in range(10):
            endpoints[row, to + i] = 0
        endpoints[row, to + 10] = endpoints[row, to + 11] = 255
    for i in range(width):
        endpoints[row, to + 16 - width + i] = octets[address + i]
    endpoints[row, to + 16], endpoints[row, to + 17] = octets[port], octets[port + 1]


@inline
def in_order(octets: Octets, source: Int, target: Int, width: Int, ports: Int) -> bool:
    """Whether the source endpoint is the low one, or both are equal."""
    for i in range(width):
        if octets[source + i] != octets[target + i]:
            return bool(octets[source + i] < octets[target + i])
    return bool(u16(octets, ports, True) <= u16(octets, ports + 2, True))


@kernel
def flow_hash(endpoints: U8, row: Int) -> Int:
    """A 64-bit hash of a row of endpoints."""
    state = np.int64(0x51ED270B)
    for word in range(0, ENDPOINT_OCTETS, 4):
        word_value = np.int64(endpoints[row, word]) << 24 | np.int64(endpoints[row, word + 1]) << 16
        word_value |= np.int64(endpoints[row, word + 2]) << 8 | np.int64(endpoints[row, word + 3])
        state = (state ^ word_value) * np.int64(0x9E3779B97F4A7C1)
        state ^= (state >> 29) & np.int64(0x7FFFFFFFF)
    return state


@callee
def wrong_sum(octets: Octets, addresses: Int, width: Int, tcp: Int, end: Int) -> bool:
    """Whether the checksum of the segment in [tcp, end) does not match its octets and addresses (RFC 9293, 3.1; RFC 8200, 8.1)."""
    total = np.int64(6) + end - tcp
    for i in range(0, 2 * width, 2):
        total += u16(octets, addresses + i, True)
    high, low = np.int64(0), np.int64(0)
    segment = octets[tcp:end]
    for i in range(len(segment) >> 1):
        high += segment[2 * i]
        low += segment[2 * i + 1]
    if len(segment) & 1:
        high += segment[len(segment) - 1]
    total += (high << 8) + low
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return bool(total != 0xFFFF)


@inline
def find_tcp(octets: Octets, at: Int, limit: Int, wire_limit: Int) -> tuple[Int, Int, Int, Int]:
    """Walk the IP packet at `at`: (USED or a reason, its TCP header, its TCP payload, where it ends on the wire).

    For a tunnel: (TUNNEL, where its header begins, its protocol, where it ends on the wire).
    """
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
        while protocol == 51:  # authenticated, not encrypted (RFC 4302)
            if upper + 8 > limit:
                return MALFORMED, 0, 0, 0
            protocol, upper = np.int64(octets[upper]), upper + (np.int64(octets[upper + 1]) + 2) * 4
    elif version == 6:
        if at + 40 > limit:
            return MALFORMED, 0, 0, 0
        total = u16(octets, at + 4, True)
        verdict, protocol, upper = ipv6_upper(octets, at + 40, limit, np.int64(octets[at + 6]))
        if total == 0 and octets[at + 6] == 0:
            total = jumbo_octets(octets, at + 40, limit)
            if total > MAX_PACKET_OCTETS:
                return MALFORMED, 0, 0, 0
        wire_end = at + 40 + total if total else wire_limit
    else:
        return MALFORMED, 0, 0, 0
    if verdict != USED:
        return verdict, 0, 0, 0
    if protocol != 6:
        tunnel = protocol == 17 or protocol == 47 or protocol == 4 or protocol == 41 or protocol == 137
        return (TUNNEL, upper, protocol, wire_end) if tunnel else (NOT_TCP, 0, 0, 0)
    if upper + 20 > limit or upper + 20 > wire_end:
        return MALFORMED, 0, 0, 0
    payload = upper + np.int64(octets[upper + 12] >> 4) * 4
    if payload < upper + 20 or payload > wire_end:
        return MALFORMED, 0, 0, 0
    return USED, upper, payload, wire_end


@callee
def through(
    octets: Octets, at: Int, protocol: Int, limit: Int, wire_limit: Int, outer: Int
) -> tuple[Int, Int, Int, Int, Int, Int]:
    """Walk tunnels down to the innermost packet: (USED or a reason, its IP header), as `find_tcp`, the layers around it.

    Apparent tunnels without a valid packet inside are left to scapy.
    """
    for _ in range(MAX_TUNNELS):
        verdict, ip, outer = inside(octets, at, limit, protocol, outer)
        if verdict == USED:
            verdict, at, protocol, wire_limit = find_tcp(octets, ip, limit, wire_limit)
        if verdict != TUNNEL:
            refused = verdict == MALFORMED or verdict == NOT_IP
            return (REFUSED if refused else verdict), ip, at, protocol, wire_limit, outer
    return REFUSED, 0, 0, 0, 0, 0


@kernel
def decode(
    octets: Octets,
    positions: I64,
    captured: I64,
    original: I64,
    links: I32,
    out: Decoded,
    tunnels: bool = True,
) -> Int:
    """Decode a batch of records into `out`, a row each; returns the number of rows that are not USED.

    `tunnels`: the innermost packet of a tunnel counts, not the outer one.
    """
    # one name per array: each access to a field of a tuple costs a reference count
    verdicts, flows, endpoints, forwards, seqs, acks, flags, window, ip_id, ttl, wire_octets, captured_octets, sums, bodies, outers = out
    others = 0
    for row in range(len(positions)):
        limit = positions[row] + captured[row]
        verdict, ip, outer = find_ip(octets, positions[row], limit, links[row])
        if verdict == USED:
            wire_limit = positions[row] + max(captured[row], min(original[row], MAX_PACKET_OCTETS))
            verdict, tcp, payload, wire_end = find_tcp(octets, ip, limit, wire_limit)
            if verdict == TUNNEL and tunnels:
                verdict, ip, tcp, payload, wire_end, outer = through(octets, tcp, payload, limit, wire_end, outer)
            elif verdict == TUNNEL:
                verdict = NOT_TCP
        verdicts[row], outers[row] = verdict, outer
        if verdict != USED:
            others += 1
            bodies[row] = ip  # where reassembly of fragments begins
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
        bodies[row] = payload
        sums[row] = wire_end <= limit and wrong_sum(octets, source, width, tcp, wire_end)
        wire_octets[row] = wire_end - payload
        captured_octets[row] = max(0, min(limit, wire_end) - payload)
    return others
