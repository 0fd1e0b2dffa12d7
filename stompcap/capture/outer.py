"""The encapsulation of a packet, that is the layers and VLAN ids around its innermost IP header, as one number.

From the lowest bit: eight layers of four bits, innermost lowest; two VLAN ids of twelve bits, innermost lowest;
KEYED where those ids are part of the flow. It is cheap to compute for every packet, and 0 for most.
"""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int
from stompcap.columns import I64
from stompcap.kernel import inline

VLAN, MPLS, PPPOE, PBB, VNTAG, GRE, IPIP, VXLAN, GENEVE, TEREDO, GTP, ERSPAN, L2TP, PPP = range(1, 15)
WORDS = (
    "", "vlan", "mpls", "pppoe", "pbb", "vntag", "gre", "ipip", "vxlan", "geneve", "teredo", "gtp", "erspan", "l2tp", "ppp",
)  # fmt: skip
LAYERS, VLAN_BITS, KEYED = 0xFFFFFFFF, 0xFFFFFF, 1 << 56


@inline
def within(outer: Int, layer: Int) -> Int:
    """The number of a packet one layer further in; only the outermost eight layers are kept."""
    if outer & 0xF0000000:
        return outer
    return (outer & ~LAYERS) | (outer & LAYERS) << 4 | layer


@inline
def tagged(outer: Int, vlan: Int) -> Int:
    """The number of a packet inside a VLAN tag; only the innermost two ids are kept."""
    ids = ((outer >> 32) << 12 | (vlan & 0xFFF)) & VLAN_BITS
    return (within(outer, VLAN) & LAYERS) | ids << 32


def joined(first: int, then: int) -> int:
    """The number of a packet whose outer layers are `first` and whose inner ones are `then`."""
    outer, layers, ids = first, then & LAYERS, then >> 32 & VLAN_BITS
    for shift in range(28, -4, -4):
        if layer := layers >> shift & 15:
            outer = within(outer, layer)
    inner = ids if ids >> 12 else (outer >> 32) << 12 | ids if ids else outer >> 32
    return (outer & LAYERS) | (inner & VLAN_BITS) << 32


def keyed(flow: I64, outer: I64) -> tuple[I64, I64]:
    """Flow hashes and numbers with VLAN ids as part of the flow: two VLANs may use the same addresses."""
    ids = outer >> 32 & VLAN_BITS
    return flow ^ ids * np.int64(0x1E3779B97F4A7C15), outer | KEYED


def keyed_ids(outer: I64) -> I64:
    """The VLAN ids that are part of the flow, as one number; 0 for none."""
    return np.where(outer & KEYED, outer >> 32 & VLAN_BITS, 0)


def encapsulation(outer: int) -> str | None:
    """The layers as words, outermost first: vlan/vxlan."""
    layers = (outer >> shift & 15 for shift in range(28, -4, -4))
    return "/".join(WORDS[layer] for layer in layers if layer) or None


def vlan_ids(outer: int) -> str | None:
    """The VLAN ids, outermost first: 100.7; None where there are none but 0, which names no VLAN (IEEE 802.1Q, 9.6)."""
    ids = (outer >> 44 & 0xFFF, outer >> 32 & 0xFFF)
    return ".".join(str(one) for one in ids if one) or None
