"""Kernels that pass IP's extension headers and tunnels; the innermost flow counts.

GRE (RFC 2784 and 2890), also in UDP (RFC 8086) and with IEEE 802.11 in it, IP in IP (RFC 2003 and 2473), MPLS in IP (RFC 4023), VXLAN
(RFC 7348), Geneve (RFC 8926), Teredo (RFC 4380), GTP-U (3GPP TS 29.281). Others are left to scapy.
"""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int, u16, u32
from stompcap.capture.links import by_ethertype
from stompcap.capture.outer import GENEVE, GRE, GTP, IPIP, TEREDO, VXLAN, within
from stompcap.capture.verdicts import FRAGMENT, MALFORMED, NOT_IP, NOT_TCP, REFUSED, USED
from stompcap.columns import Octets
from stompcap.kernel import callee, inline

# plain numbers would be compiled in, and their kernels once for each
LLC_TYPE, ETHERNET_TYPE, MPLS_TYPE = np.int64(0), np.int64(0x6558), np.int64(0x8847)


@inline
def ipv6_upper(octets: Octets, at: Int, limit: Int, protocol: Int) -> tuple[Int, Int, Int]:
    """Pass IPv6 extension headers from `at` on: (USED or a reason, upper protocol, where it begins)."""
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


@callee
def jumbo_octets(octets: Octets, at: Int, limit: Int) -> Int:
    """The length in a jumbo payload option of the hop-by-hop header at `at` (RFC 2675); 0 for none."""
    if at + 8 > limit:
        return 0
    end = min(limit, at + (np.int64(octets[at + 1]) + 1) * 8)
    at += 2
    while at + 2 <= end:
        kind, size = octets[at], np.int64(octets[at + 1])
        if kind == 0:  # one octet of padding
            at += 1
            continue
        if kind == 0xC2 and size == 4 and at + 6 <= end:
            return u32(octets, at + 2, True)
        at += 2 + size
    return 0


@callee
def inside(octets: Octets, at: Int, limit: Int, protocol: Int, outer: Int) -> tuple[Int, Int, Int]:
    """What an IP packet of that upper protocol carries from `at` on: (USED, the inner IP packet, the layers around it).

    Where it carries none: (a reason, 0, 0).
    """
    if protocol == 4 or protocol == 41:
        return USED, at, within(outer, IPIP)
    if protocol == 137:
        return by_ethertype(octets, at, limit, MPLS_TYPE, outer)
    if protocol == 47:
        return gre(octets, at, limit, outer)
    if protocol == 17 and at + 16 <= limit:
        source, target = u16(octets, at, True), u16(octets, at + 2, True)
        if (target == 4789 or target == 8472) and octets[at + 8] & 8:
            return by_ethertype(octets, at + 16, limit, ETHERNET_TYPE, within(outer, VXLAN))
        if target == 6081 and octets[at + 8] >> 6 == 0:
            kind = u16(octets, at + 10, True)
            return by_ethertype(octets, at + 16 + np.int64(octets[at + 8] & 63) * 4, limit, kind, within(outer, GENEVE))
        if source == 3544 or target == 3544:
            return teredo(octets, at + 8, limit, outer)
        if target == 4754:
            return gre(octets, at + 8, limit, outer)
        if source == 2152 or target == 2152:
            return gtp(octets, at + 8, limit, outer)
        for port in (source, target):
            if port == 4789 or port == 4790 or port == 8472 or port == 6081 or port == 1701:
                return REFUSED, 0, 0  # L2TP, VXLAN's generic extension, and unusual forms of the others
    return NOT_TCP, 0, 0


@callee
def teredo(octets: Octets, at: Int, limit: Int, outer: Int) -> tuple[Int, Int, Int]:
    """What a Teredo datagram carries (RFC 4380, 5.1.1): IPv6, perhaps behind an authentication and an origin header."""
    if at + 4 <= limit and u16(octets, at, True) == 1:
        at += 13 + np.int64(octets[at + 2]) + np.int64(octets[at + 3])
    if at + 2 <= limit and u16(octets, at, True) == 0:
        at += 8
    if at < limit and octets[at] >> 4 == 6:
        return USED, at, within(outer, TEREDO)
    return NOT_TCP, 0, 0


@callee
def gre(octets: Octets, at: Int, limit: Int, outer: Int) -> tuple[Int, Int, Int]:
    """What a GRE header carries, as `inside`."""
    if at + 4 > limit:
        return MALFORMED, 0, 0
    bits, kind = u16(octets, at, True), u16(octets, at + 2, True)
    if bits & 0x4FFF or kind == 0x88BE or kind == 0x22EB or kind == 0x880B:
        return REFUSED, 0, 0  # source routes, other versions, ERSPAN, PPP
    at += 4
    for bit in (0x8000, 0x2000, 0x1000):  # checksum, key, sequence number
        if bits & bit:
            at += 4
    if 0x8200 <= kind < 0x8380:  # as access points send it to their controllers or to whom they mirror to
        return wlan(octets, at, limit, within(outer, GRE))
    return by_ethertype(octets, at, limit, kind, within(outer, GRE))


@callee
def gtp(octets: Octets, at: Int, limit: Int, outer: Int) -> tuple[Int, Int, Int]:
    """What a GTP-U packet carries (3GPP TS 29.281, 5.1 and 5.2): IP behind its header, and behind extension headers, or else left to scapy.

    With any of the flags E, S, PN the header is 12 octets long; the last of it, and of each extension, names the next extension.
    """
    if at + 12 > limit or octets[at] >> 4 != 3 or octets[at + 1] != 255:  # version 1, and a packet of a user
        return REFUSED, 0, 0
    extended = octets[at] & 4 != 0
    at += 12 if octets[at] & 7 else 8
    while extended and octets[at - 1] != 0:
        if at >= limit or octets[at] == 0:
            return REFUSED, 0, 0
        at += np.int64(octets[at]) * 4
        if at >= limit:
            return REFUSED, 0, 0
    version = octets[at] >> 4 if at < limit else 0
    return (USED, at, within(outer, GTP)) if version == 4 or version == 6 else (REFUSED, 0, 0)


@callee
def wlan(octets: Octets, at: Int, limit: Int, outer: Int) -> tuple[Int, Int, Int]:
    """What an IEEE 802.11 data frame carries behind LLC (IEEE 802.11-2020, 9.2.4 and 9.3.2); one that is encrypted nothing."""
    if at + 24 > limit:
        return MALFORMED, 0, 0
    kind, flags = octets[at], octets[at + 1]
    if kind & 0x0F != 8 or kind & 0x40 or flags & 0x40:  # no data, none in it, or protected
        return NOT_IP, 0, 0
    head = np.int64(24)
    if flags & 3 == 3:  # from one distribution system to another: a fourth address
        head += 6
    if kind & 0x80:  # quality of service
        if at + head + 2 > limit or octets[at + head] & 0x80:
            return REFUSED, 0, 0  # several frames in one
        head += 6 if flags & 0x80 else 2
    return by_ethertype(octets, at + head, limit, LLC_TYPE, outer)
