"""Packets as scapy reads them, whole: the oracle that the kernels are compared with. The innermost TCP segment counts."""

import ipaddress

import numpy as np
import scapy.all as lib
import scapy.contrib.erspan
import scapy.contrib.geneve
import scapy.contrib.gtp
import scapy.contrib.mpls  # noqa: F401  binds Ethernet's MPLS types

from stompcap.capture.decode import flow_hash
from stompcap.capture.verdicts import FRAGMENT, LINK_TYPE, MALFORMED, NOT_IP, NOT_TCP, USED


def _mapped(address):
    """16 octets of an address, IPv4 mapped."""
    ip = ipaddress.ip_address(address)
    return ip.packed if ip.version == 6 else b"\0" * 10 + b"\xff\xff" + ip.packed


def dissect(frame, original, link, row, out):
    """Dissect one frame into a row of `out`: (verdict, TCP payload). Odd octets are MALFORMED, never an error."""
    layer = lib.conf.l2types.num2layer.get(link)
    if layer is None:
        return LINK_TYPE, b""
    try:
        return _fill(layer(frame), max(0, original - len(frame)), row, out)
    except Exception:  # noqa: BLE001  scapy's layers raise whatever their octets make them raise
        return MALFORMED, b""


def _fill(packet, missing, row, out):
    ip = tcp = None
    at = packet
    while at is not None and not isinstance(at, lib.NoPayload):
        if isinstance(at, lib.IP | lib.IPv6):
            ip = at
        elif isinstance(at, lib.TCP):
            tcp = at
            break
        elif isinstance(at, lib.IPv6ExtHdrFragment) and (at.offset or at.m):
            return FRAGMENT, b""
        at = at.payload
    if ip is None:
        return NOT_IP, b""
    if isinstance(ip, lib.IP) and (ip.frag or ip.flags.MF):
        return FRAGMENT, b""
    if tcp is None:
        return NOT_TCP, b""
    if tcp.dataofs < 5:
        return MALFORMED, b""
    octets = tcp.original[tcp.dataofs * 4 :]
    if isinstance(ip, lib.IP):
        wire = ip.len - (ip.ihl + tcp.dataofs) * 4 if ip.len else len(octets) + missing
    else:
        extension = len(ip.payload.original) - len(tcp.original)
        wire = ip.plen - extension - tcp.dataofs * 4 if ip.plen else len(octets) + missing
    if wire < 0:
        return MALFORMED, b""
    source = _mapped(ip.src) + tcp.sport.to_bytes(2, "big")
    target = _mapped(ip.dst) + tcp.dport.to_bytes(2, "big")
    out.forward[row] = source <= target
    out.endpoints[row] = np.frombuffer(min(source, target) + max(source, target), np.uint8)
    out.flow[row] = flow_hash(out.endpoints, row)
    out.seq[row], out.ack[row] = tcp.seq, tcp.ack
    out.flags[row], out.window[row] = int(tcp.flags) & 0xFF, tcp.window
    out.ip_id[row], out.ttl[row] = (ip.id, ip.ttl) if isinstance(ip, lib.IP) else (-1, ip.hlim)
    payload = octets[:wire]
    out.wire_octets[row], out.captured_octets[row], out.position[row] = wire, len(payload), -1
    return USED, payload
