"""Kernels that walk a frame's link layers down to IP."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stompcap.capture.integers import Int, u16, u32
from stompcap.capture.verdicts import MALFORMED, NOT_IP, REFUSED, USED
from stompcap.kernel import inline, kernel

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


@kernel
def by_ethertype(octets: NDArray[np.uint8], at: Int, limit: Int, ethertype: Int) -> tuple[Int, Int]:
    """Walk what an ethertype says lies at `at`, down to IP: (USED, where IP begins) or (why not, 0).

    VLAN tags (IEEE 802.1Q), MPLS labels (RFC 3032), PPPoE sessions (RFC 2516), bridged Ethernet (RFC 1701).
    """
    while True:
        if ethertype == 0x0800 or ethertype == 0x86DD:
            return USED, at
        if ethertype == 0x8100 or ethertype == 0x88A8 or ethertype == 0x9100 or ethertype == 0x9200:
            if at + 4 > limit:
                return MALFORMED, 0
            ethertype = u16(octets, at + 2, True)
            at += 4
        elif ethertype == 0x6558:
            if at + 14 > limit:
                return MALFORMED, 0
            ethertype = u16(octets, at + 12, True)
            at += 14
        elif ethertype == 0x8847 or ethertype == 0x8848:
            bottom = False
            while not bottom:
                if at + 4 > limit:
                    return MALFORMED, 0
                bottom = octets[at + 2] & 1 != 0
                at += 4
            if at >= limit:
                return MALFORMED, 0
            version = octets[at] >> 4  # labels do not say what they carry
            return (USED, at) if version == 4 or version == 6 else (REFUSED, 0)
        elif ethertype == 0x8864:
            if at + 8 > limit:
                return MALFORMED, 0
            protocol = u16(octets, at + 6, True)
            return (USED, at + 8) if protocol == 0x0021 or protocol == 0x0057 else (REFUSED, 0)
        elif ethertype == 0x88E7 or ethertype <= 1500:
            return REFUSED, 0  # PBB, IEEE 802.3 with LLC, maybe SNAP
        else:
            return NOT_IP, 0


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
    if ethertype == 0x0800 or ethertype == 0x86DD:
        return USED, at
    return by_ethertype(octets, at, limit, ethertype)
