"""Kernels that walk a frame's link layers down to IP."""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int, u16, u32
from stompcap.capture.outer import MPLS, PBB, PPPOE, VNTAG, tagged, within
from stompcap.capture.verdicts import MALFORMED, NOT_IP, REFUSED, USED
from stompcap.columns import Octets
from stompcap.kernel import callee, inline

# how frames of a link type begin
NO_LINK, ETHERNET, COOKED, COOKED_2, RAW, NULL, TYPED = 0, 1, 2, 3, 4, 5, 6
RAW_LINK, ETHERNET_LINK = 101, 1
TYPED_LINK = 1 << 16  # plus an ethertype: frames begin with what it names; beyond all LINKTYPE_ numbers

BRIDGED = 0x6558  # the ethertype of bridged Ethernet
LONGEST_LLC = 1500
GO_ON = -1  # instead of a verdict: one more layer follows
Step = tuple[Int, Int, Int, Int]


@inline
def link_kind(link: Int) -> Int:
    """How frames of a link type (LINKTYPE_ number) begin; NO_LINK: unknown."""
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
    return TYPED if link >= TYPED_LINK else NO_LINK


@inline
def ethernet_like(octets: Octets, at: Int, limit: Int) -> bool:
    """Whether an Ethernet frame that leads to IP may lie at `at`."""
    if at + 14 > limit:
        return False
    ethertype = u16(octets, at + 12, True)
    return bool(ethertype == 0x0800 or ethertype == 0x86DD or ethertype == 0x8100 or ethertype == 0x88A8 or ethertype == 0x8847)


@inline
def header_octets(ethertype: Int) -> Int:
    """The length of a header whose last two octets say what follows: VLAN tag, Ethernet, backbone header, VN-tag; 0 for any other."""
    if ethertype == 0x8100 or ethertype == 0x88A8 or ethertype == 0x9100 or ethertype == 0x9200:
        return 4
    if ethertype == BRIDGED:
        return 14
    if ethertype == 0x88E7:
        return 18
    return 6 if ethertype == 0x8926 else 0


@callee
def behind_header(octets: Octets, at: Int, head: Int, outer: Int) -> Step:
    """Behind a header of so many octets, as given by `header_octets`."""
    if head == 4:
        outer = tagged(outer, u16(octets, at, True))
    elif head == 18:
        outer = within(outer, PBB)
    elif head == 6:
        outer = within(outer, VNTAG)
    return GO_ON, at + head, u16(octets, at + head - 2, True), outer


@callee
def behind_labels(octets: Octets, at: Int, limit: Int, outer: Int) -> Step:
    """Behind MPLS labels: IP or Ethernet, perhaps after a control word; the labels do not say which."""
    bottom = False
    while not bottom:
        if at + 4 > limit:
            return MALFORMED, 0, 0, 0
        bottom = octets[at + 2] & 1 != 0
        at += 4
    if at >= limit:
        return MALFORMED, 0, 0, 0
    outer = within(outer, MPLS)
    version = octets[at] >> 4
    if (version == 4 and octets[at] & 15 >= 5) or (version == 6 and not ethernet_like(octets, at, limit)):
        return USED, at, 0, outer
    if version == 0 and ethernet_like(octets, at + 4, limit):
        return GO_ON, at + 4, BRIDGED, outer
    return (GO_ON, at, BRIDGED, outer) if ethernet_like(octets, at, limit) else (REFUSED, 0, 0, 0)


@callee
def behind_llc(octets: Octets, at: Int, limit: Int, outer: Int) -> Step:
    """Behind LLC: IP at once, or a SNAP header with the OUI 0 of RFC 1042 or that of bridges (IEEE 802.1H)."""
    if at + 3 > limit:
        return NOT_IP, 0, 0, 0
    service = u16(octets, at, True)
    if service == 0x0606 and octets[at + 2] == 3:
        return USED, at + 3, 0, outer
    if service != 0xAAAA or at + 8 > limit or (u32(octets, at + 2, True) & 0xFFFFFF not in (0, 0xF8)):
        return NOT_IP, 0, 0, 0
    ethertype = u16(octets, at + 6, True)
    return (GO_ON, at + 8, ethertype, outer) if ethertype > LONGEST_LLC else (NOT_IP, 0, 0, 0)


@callee
def step(octets: Octets, at: Int, limit: Int, ethertype: Int, outer: Int) -> Step:
    """Walk one layer: (GO_ON, where the next begins, its ethertype, the layers around it), or USED or a reason instead of GO_ON."""
    head = header_octets(ethertype)
    if head:
        return behind_header(octets, at, head, outer) if at + head <= limit else (MALFORMED, 0, 0, 0)
    if ethertype == 0x8847 or ethertype == 0x8848:
        return behind_labels(octets, at, limit, outer)
    if ethertype == 0x8864:
        if at + 8 > limit:
            return MALFORMED, 0, 0, 0
        protocol = u16(octets, at + 6, True)
        return (USED, at + 8, 0, within(outer, PPPOE)) if protocol == 0x0021 or protocol == 0x0057 else (REFUSED, 0, 0, 0)
    if ethertype <= LONGEST_LLC:
        return behind_llc(octets, at, limit, outer)
    return (REFUSED if ethertype == 0x894F else NOT_IP), 0, 0, 0  # 0x894F: network service header (RFC 8300)


@callee
def by_ethertype(octets: Octets, at: Int, limit: Int, ethertype: Int, outer: Int) -> tuple[Int, Int, Int]:
    """Walk from what an ethertype names at `at` down to IP: (USED, where IP begins, the layers around it) or (a reason, 0, 0).

    VLAN tags (IEEE 802.1Q), MPLS labels (RFC 3032) with IP or an Ethernet pseudowire (RFC 4448) behind them, PPPoE sessions
    (RFC 2516), bridged Ethernet (RFC 1701), provider backbone bridges (IEEE 802.1ah), VN-tags (IEEE 802.1BR's forerunner), LLC
    with SNAP (RFC 1042). A number up to 1500 is a length, and LLC follows.
    """
    verdict = GO_ON
    while verdict == GO_ON:
        if ethertype == 0x0800 or ethertype == 0x86DD:
            return USED, at, outer
        verdict, at, ethertype, outer = step(octets, at, limit, ethertype, outer)
    return (USED, at, outer) if verdict == USED else (verdict, 0, 0)


@inline
def find_ip(octets: Octets, at: Int, limit: Int, link: Int) -> tuple[Int, Int, Int]:
    """Walk the link header of the frame in [at, limit): (USED, where IP begins, the layers before it) or (a reason, 0, 0)."""
    kind = link_kind(link)
    if kind == RAW:
        return (USED, at, 0) if at < limit else (MALFORMED, 0, 0)
    if kind == NULL:
        if at + 4 > limit:
            return MALFORMED, 0, 0
        family = min(u32(octets, at, False), u32(octets, at, True))  # in the capturing host's byte order, or network order
        ip = family == 2 or family == 10 or family == 24 or family == 28 or family == 30
        return (USED, at + 4, 0) if ip else (NOT_IP, 0, 0)
    if kind == TYPED:
        return by_ethertype(octets, at, limit, link & 0xFFFF, np.int64(0))
    if kind == ETHERNET:
        head, where = 14, 12
    elif kind == COOKED:
        head, where = 16, 14
    elif kind == COOKED_2:
        head, where = 20, 0
    else:
        return REFUSED, 0, 0
    if at + head > limit:
        return MALFORMED, 0, 0
    ethertype = u16(octets, at + where, True)
    at += head
    if ethertype == 0x0800 or ethertype == 0x86DD:
        return USED, at, 0
    return by_ethertype(octets, at, limit, ethertype, np.int64(0))
