"""Places on the wire: rank of the capture and packet in one number that grows in order of capture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PACKET_BITS = 40  # a capture of more than 2**40 packets does not exist
END = 2**62  # behind everything


def at(rank: int, packet: int) -> int:
    """The place of packet number `packet` of the capture of that rank."""
    return rank << PACKET_BITS | packet


def moved(places: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places where captures have other ranks now, by those they had; what is before or behind all captures stays."""
    inside = (places >= 0) & (places < END)
    found: NDArray[np.int64] = places.copy()
    found[inside] += (ranks[places[inside] >> PACKET_BITS] - (places[inside] >> PACKET_BITS)) << PACKET_BITS
    return found
