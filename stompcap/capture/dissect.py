"""Where IP begins in frames that the kernels refuse: a table covers simple headers, scapy everything else.

Only where the IP header begins is determined here. The kernels go on from there, so lengths, fragments and further tunnels are treated
alike everywhere.
scapy sees only a frame's first octets, which bounds the cost of a hostile frame.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from stompcap.capture import outer as o
from stompcap.capture.headers import HEADERS
from stompcap.capture.links import RAW_LINK
from stompcap.capture.verdicts import LINK_TYPE, MALFORMED, NOT_IP, NOT_TCP, USED

PPP_LINK, CISCO_HDLC_LINK = 9, 104
HEAD_OCTETS = 2048  # of a frame; headers before the innermost IP header are shorter
# Link types that scapy finds IP in: Ethernet and IP themselves for the tunnels in them, PPP (9), IEEE 802.11 (105), with a prism
# header (119), radiotap (127) or PPI (192), PPP in HDLC (50), PPPoE (51), PPP with a direction (204), Ethernet's preamble (274).
# It knows others that never carry IP: radios, buses.
SCAPY_LINKS = frozenset({0, 1, 9, 50, 51, 101, 105, 108, 113, 119, 127, 192, 204, 274})
# layers by the names of scapy's classes
LAYERS = {
    "Dot1Q": o.VLAN, "Dot1AD": o.VLAN, "Dot1AH": o.PBB, "MPLS": o.MPLS, "PPPoE": o.PPPOE, "PPP": o.PPP, "GRE": o.GRE,
    "GRE_PPTP": o.GRE, "VXLAN": o.VXLAN, "GENEVE": o.GENEVE, "GTP_U_Header": o.GTP, "ERSPAN_I": o.ERSPAN, "ERSPAN": o.ERSPAN,
    "ERSPAN_II": o.ERSPAN, "ERSPAN_III": o.ERSPAN, "L2TP": o.L2TP,
}  # fmt: skip
Located = tuple[int, int, int, int]  # USED or a reason; octets before; link type of what follows; layers between


@cache
def _scapy() -> Any:
    """All of scapy, with the layers of tunnels; imported on first use, for it takes a second."""
    import scapy.all
    import scapy.contrib.erspan
    import scapy.contrib.geneve
    import scapy.contrib.gtp
    import scapy.contrib.mpls  # binds Ethernet's MPLS types
    import scapy.contrib.nsh

    return scapy.all


def locate(frame: bytes, link: int, tunnels: bool = True) -> Located:
    """Where the kernels continue in a frame, given by its first HEAD_OCTETS or all of it; never raises.

    `tunnels`: the innermost IP packet is meant, not the outermost.
    """
    if link == PPP_LINK and frame[:2] in (b"\x0f\0", b"\x8f\0"):  # address and control octets that PPP has not (RFC 1547, 4.3.1)
        link = CISCO_HDLC_LINK
    if link in HEADERS:
        peeled = HEADERS[link](frame)
        return (USED, *peeled, 0) if peeled else (MALFORMED, 0, 0, 0)
    link = link if link < 1 << 16 else RAW_LINK
    if link not in SCAPY_LINKS:
        return LINK_TYPE, 0, 0, 0
    lib = _scapy()
    try:
        found, layers = _ip(lib, lib.conf.l2types.num2layer[link](frame), tunnels)
        at = frame.find(found) if found else -1
    except Exception:  # noqa: BLE001  scapy's layers raise whatever their octets make them raise
        return MALFORMED, 0, 0, 0
    if not found:
        return NOT_IP, 0, 0, 0
    if at < 0 or (at == 0 and link == RAW_LINK):
        return NOT_TCP, 0, 0, 0  # nothing behind the headers that the kernels read
    return USED, at, RAW_LINK, layers


def _ip(lib: Any, packet: Any, tunnels: bool) -> tuple[bytes, int]:
    """The octets of the IP packet that is meant, as they were passed to scapy, and the layers before it."""
    found, before, layers, at, last = b"", 0, 0, packet, ""
    while not isinstance(at, lib.NoPayload):
        kind = type(at).__name__
        if type(at) in (lib.IP, lib.IPv6):  # not the copy inside an ICMP error, which has a derived class
            layers = o.within(layers, o.IPIP) if found and last in ("IP", "IPv6") else layers
            found, before = at.original, layers
            if not tunnels:
                break
        elif kind in ("Dot1Q", "Dot1AD"):
            layers = o.tagged(layers, at.vlan)
        elif kind in LAYERS and not (kind == "MPLS" and last == "MPLS"):
            layers = o.within(layers, LAYERS[kind])
        last, at = kind, at.payload
    return found, before
