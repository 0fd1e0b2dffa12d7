"""Frames of every link type and tunnel, each around the same segment."""

import struct

from scapy.contrib.erspan import ERSPAN_I, ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.contrib.mpls import MPLS
from scapy.contrib.nsh import NSH
from scapy.layers.dot11 import Dot11, Dot11FCS, Dot11QoS, PrismHeader, RadioTap
from scapy.layers.inet import GRE, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE_PPTP, LLC, SNAP, Dot1AD, Dot1AH, Dot1Q
from scapy.layers.l2tp import L2TP
from scapy.layers.ppi import PPI
from scapy.layers.ppp import HDLC, PPP, PPPoE

from tests.capture.test_segments import ETHER, tcp4, tcp6

OUTER = IP(src="1.1.1.1", dst="2.2.2.2")
WIFI = {"addr1": "02:00:00:00:00:01", "addr2": "02:00:00:00:00:02", "addr3": "02:00:00:00:00:03"}
SNAPPED = LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(code=0x800)
SNAP_HEAD = b"\xaa\xaa\x03\0\0\0\x08\0"


def data(**more):
    """A data frame of IEEE 802.11."""
    return Dot11(type=2, subtype=0, FCfield="to_DS", **WIFI, **more) / SNAPPED / tcp4()


def nflog(order="<", before=((1, b"\0\0\0\0"), (5, b"\0\0\0\2"), (10, b"a log\0"))):
    """A netfilter log record."""
    fields = b"".join(
        struct.pack(order + "HH", 4 + len(value), kind) + value + bytes(-len(value) % 4) for kind, value in (*before, (9, bytes(tcp4())))
    )
    return b"\2\0\0\0" + fields


def pktap(link, inner, record=1):
    """An Apple tap record."""
    return struct.pack("<III", 108, record, link).ljust(108, b"\0") + inner


def gtp(flags, more):
    """GTP-U around the segment, of these flags, and what follows the tunnel's number."""
    inner = more + bytes(tcp4())
    return flags + b"\xff" + struct.pack(">HI", len(inner), 5) + inner


# name: link type, frame, what lay around
FRAMES = {
    "PPP": (9, PPP() / tcp4(), "ppp"),
    "PPP with address and control": (9, HDLC() / PPP() / tcp4(), "ppp"),
    "PPP in HDLC": (50, HDLC() / PPP() / tcp4(), "ppp"),
    "PPP with a direction": (204, b"\0" + bytes(HDLC() / PPP() / tcp4()), "ppp"),
    "PPPoE as a link": (51, PPPoE(sessionid=1) / PPP() / tcp4(), "pppoe/ppp"),
    "Cisco HDLC": (104, b"\x0f\0\x08\0" + bytes(tcp4()), None),
    "Cisco HDLC with a direction": (205, b"\1\x0f\0\x08\0" + bytes(tcp4()), None),
    "frame relay": (107, b"\x18\x41\3\xcc" + bytes(tcp4()), None),
    "frame relay, SNAP": (107, b"\x18\x41\3\0\x80\0\0\0\x08\0" + bytes(tcp4()), None),
    "frame relay, Cisco's": (107, b"\x18\x41\x08\0" + bytes(tcp4()), None),
    "IEEE 802.11": (105, data(), None),
    "IEEE 802.11 QoS": (105, Dot11(type=2, subtype=8, FCfield="from_DS", **WIFI) / Dot11QoS() / SNAPPED / tcp4(), None),
    "radiotap": (127, RadioTap() / data(), None),
    "radiotap and a frame check sequence": (127, RadioTap(present="Flags", Flags="FCS") / Dot11FCS(bytes(data()) + b"abcd"), None),
    "prism": (119, PrismHeader() / data(), None),
    "AVS": (163, struct.pack(">II", 0x80211001, 64).ljust(64, b"\0") + bytes(data()), None),
    "PPI": (192, PPI(dlt=1) / ETHER / tcp4(), None),
    "PPI with IEEE 802.11": (192, PPI(dlt=105) / data(), None),
    "NFLOG, little endian": (239, nflog(), None),
    "NFLOG, big endian": (239, nflog(">"), None),
    "NFLOG, the packet alone": (239, nflog(before=()), None),
    "PKTAP with Ethernet": (258, pktap(1, bytes(ETHER / tcp4())), None),
    "PKTAP with a loopback": (149, pktap(0, b"\2\0\0\0" + bytes(tcp4())), None),
    "PKTAP with IP": (258, pktap(12, bytes(tcp4())), None),
    "PKTAP with IEEE 802.11": (258, pktap(127, bytes(RadioTap() / data())), None),
    "pflog": (117, b"\x3d" + bytes(63) + bytes(tcp4()), None),
    "enc": (109, bytes(12) + bytes(tcp4()), None),
    "IP over Fibre Channel": (122, bytes(16) + SNAP_HEAD + bytes(tcp4()), None),
    "ATM": (100, SNAP_HEAD + bytes(tcp4()), None),
    "SunATM": (123, bytes(4) + SNAP_HEAD + bytes(tcp4()), None),
    "FDDI": (10, bytes(13) + SNAP_HEAD + bytes(tcp4()), None),
    "token ring": (6, bytes(14) + SNAP_HEAD + bytes(tcp4()), None),
    "token ring with routes": (6, bytes(8) + b"\x80" + bytes(5) + b"\6" + bytes(5) + SNAP_HEAD + bytes(tcp4()), None),
    "IP over FireWire": (138, bytes(16) + b"\x08\0" + bytes(tcp4()), None),
    "netANALYZER": (240, bytes(4) + bytes(ETHER / tcp4()), None),
    "MPLS as a link": (219, MPLS(label=3, s=1) / tcp4(), "mpls"),
    "LLC without SNAP": (1, bytes(12) + b"\0\x60\6\6\3" + bytes(tcp4()), None),
    "Linux cooked with LLC": (113, bytes(14) + b"\0\4" + SNAP_HEAD + bytes(tcp4()), None),
    "Linux cooked 2, a tag": (276, b"\x81\0" + bytes(18) + b"\0\7\x08\0" + bytes(tcp4()), "vlan"),
    "loop, little endian": (108, b"\2\0\0\0" + bytes(tcp4()), None),
    "PBB": (1, bytes(12) + b"\x88\xe7\0\0\0\1" + bytes(ETHER / tcp4()), "pbb"),
    "PBB in a tag": (1, ETHER / Dot1AD(vlan=9) / Dot1AH(isid=7) / ETHER / Dot1Q(vlan=5) / tcp4(), "vlan/pbb/vlan"),
    "VN-tag": (1, bytes(12) + b"\x89\x26\0\1\0\2\x08\0" + bytes(tcp4()), "vntag"),
    "VN-tag and a tag": (1, bytes(12) + b"\x89\x26\0\1\0\2\x81\0\0\5\x08\0" + bytes(tcp4()), "vntag/vlan"),
    "pseudowire": (1, ETHER / MPLS(label=5, s=1) / ETHER / tcp4(), "mpls"),
    "pseudowire, a control word": (1, ETHER / MPLS(label=5, s=1) / (bytes(4) + bytes(ETHER / Dot1Q(vlan=5) / tcp4())), "mpls/vlan"),
    "pseudowire, an address like IPv6": (1, ETHER / MPLS(label=5, s=1) / (b"\x60" + bytes(ETHER / tcp4())[1:]), "mpls"),
    "ERSPAN I": (1, ETHER / OUTER / GRE(proto=0x88BE) / ERSPAN_I() / ETHER / tcp4(), "gre/erspan"),
    "ERSPAN II": (1, ETHER / OUTER / GRE(proto=0x88BE, seqnum_present=1) / ERSPAN_II() / ETHER / tcp4(), "gre/erspan"),
    "ERSPAN III": (1, ETHER / OUTER / GRE(proto=0x22EB, seqnum_present=1) / ERSPAN_III() / ETHER / tcp4(), "gre/erspan"),
    "ERSPAN III, more of it": (
        1,
        ETHER / OUTER / GRE(proto=0x22EB, seqnum_present=1) / ERSPAN_III(o=1) / ERSPAN_PlatformSpecific() / ETHER / Dot1Q(vlan=3) / tcp4(),
        "gre/erspan/vlan",
    ),
    "GTP-U": (1, ETHER / OUTER / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5) / tcp4(), "gtp"),
    "GTP-U from another port": (1, ETHER / OUTER / UDP(sport=40000, dport=2152) / GTP_U_Header(teid=5) / tcp4(), "gtp"),
    "GTP-U with a session container": (
        1,
        ETHER / OUTER / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5, E=1, next_ex=0x85) / GTPPDUSessionContainer() / tcp4(),
        "gtp",
    ),
    "GTP-U with extension headers": (
        1, ETHER / OUTER / UDP(sport=2152, dport=2152) / (gtp(b"\x34", b"\0\0\0\x85" + b"\1\0\0\x40" + b"\2" + bytes(6) + b"\0")), "gtp",
    ),
    "GTP-U with a sequence number": (1, ETHER / OUTER / UDP(sport=2152, dport=2152) / gtp(b"\x32", b"\0\7\0\x85"), "gtp"),
    "GRE in UDP": (1, ETHER / OUTER / UDP(sport=50000, dport=4754) / GRE() / tcp4(), "gre"),
    "GRE in UDP with a key": (1, ETHER / OUTER / UDP(sport=50000, dport=4754) / GRE(key_present=1, key=7) / tcp4(), "gre"),
    "GRE in UDP with Ethernet": (1, ETHER / OUTER / UDP(sport=50000, dport=4754) / GRE(proto=0x6558) / ETHER / tcp4(), "gre"),
    "IEEE 802.11 in GRE": (1, ETHER / OUTER / GRE(proto=0x8200) / data(), "gre"),
    "IEEE 802.11 QoS in GRE": (
        1, ETHER / OUTER / GRE(proto=0x8210) / Dot11(type=2, subtype=8, FCfield="from_DS", **WIFI) / Dot11QoS() / SNAPPED / tcp4(), "gre",
    ),
    "IEEE 802.11 with four addresses in GRE": (
        1,
        ETHER / OUTER / GRE(proto=0x8200) / Dot11(type=2, FCfield="from_DS+to_DS", addr4=WIFI["addr1"], **WIFI) / SNAPPED / tcp4(),
        "gre",
    ),
    "Cisco HDLC where PPP is said": (9, b"\x0f\0\x08\0" + bytes(tcp4()), None),
    "L2TP": (1, ETHER / OUTER / UDP(sport=1701, dport=1701) / L2TP(hdr=0, version=2) / HDLC() / PPP() / tcp4(), "l2tp/ppp"),
    "PPTP": (1, ETHER / OUTER / GRE_PPTP(call_id=4, seqnum_present=1, sequence_number=2) / HDLC() / PPP() / tcp4(), "gre/ppp"),
    "a network service header": (1, ETHER / NSH(mdtype=2, length=2, nextproto=1) / tcp4(), None),
    "Teredo": (1, ETHER / OUTER / UDP(sport=9, dport=3544) / tcp6(), "teredo"),
    "Teredo, all headers": (
        1, ETHER / OUTER / UDP(sport=3544, dport=9) / (b"\0\1\0\0" + bytes(9) + bytes(8) + bytes(tcp6())), "teredo",
    ),
    "6in4": (1, ETHER / OUTER / tcp6(), "ipip"),
    "4in6": (1, ETHER / IPv6(src="::2", dst="::3") / tcp4(), "ipip"),
    "GRE in GTP-U in a tag": (
        1, ETHER / Dot1Q(vlan=5) / OUTER / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5) / OUTER / GRE() / tcp4(), "vlan/gtp/gre",
    ),
    "GTP-U in GRE": (1, ETHER / OUTER / GRE() / OUTER / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5) / tcp4(), "gre/gtp"),
    "GTP-U in PPP in NFLOG's kin": (
        258, pktap(9, bytes(PPP() / OUTER / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5) / tcp4())), "ppp/gtp",
    ),
}  # fmt: skip
