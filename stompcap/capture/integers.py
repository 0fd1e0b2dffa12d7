"""Integers from octets, for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from stompcap.columns import Octets
from stompcap.kernel import inline

Int = Any  # an integer, Python's or numpy's: kernels do not distinguish them


@inline
def u16(octets: Octets, at: Int, big: bool) -> Int:
    """Two octets as an integer."""
    a, b = np.int64(octets[at]), np.int64(octets[at + 1])
    return (a << 8 | b) if big else (b << 8 | a)


@inline
def u32(octets: Octets, at: Int, big: bool) -> Int:
    """Four octets as an integer."""
    a, b, c, d = np.int64(octets[at]), np.int64(octets[at + 1]), np.int64(octets[at + 2]), np.int64(octets[at + 3])
    return (a << 24 | b << 16 | c << 8 | d) if big else (d << 24 | c << 16 | b << 8 | a)
