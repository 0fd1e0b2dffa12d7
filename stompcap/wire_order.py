"""Positions in wire order: the rank of a capture and the number of a packet in it as one number, which grows in order of capture."""

from __future__ import annotations

from stompcap.columns import I64

PACKET_BITS = 40  # a capture of more than 2**40 packets does not exist
END = 2**62  # behind everything


def at(rank: int, packet: int) -> int:
    """The position of packet number `packet` of the capture of that rank."""
    return rank << PACKET_BITS | packet


def moved(positions: I64, ranks: I64) -> I64:
    """Positions where captures have other ranks now, by those they had; what is before or behind all captures stays."""
    inside = (positions >= 0) & (positions < END)
    found: I64 = positions.copy()
    found[inside] += (ranks[positions[inside] >> PACKET_BITS] - (positions[inside] >> PACKET_BITS)) << PACKET_BITS
    return found
