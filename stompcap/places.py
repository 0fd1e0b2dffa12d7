"""Places on the wire: rank of the capture and packet in one number that grows in order of capture."""

from __future__ import annotations

PACKET_BITS = 40  # a capture of more than 2**40 packets does not exist
END = 2**62  # behind everything


def at(rank: int, packet: int) -> int:
    """The place of packet number `packet` of the capture of that rank."""
    return rank << PACKET_BITS | packet
