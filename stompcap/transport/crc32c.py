"""CRC32C (RFC 3720, appendix B.4, Castagnoli's polynomial): the checksum of PROXY's headers of version 2."""

from __future__ import annotations

REVERSED = 0x82F63B78
"""The polynomial, its lowest power first."""


def _entry(octet: int) -> int:
    for _ in range(8):
        octet = octet >> 1 ^ (REVERSED if octet & 1 else 0)
    return octet


TABLE = tuple(map(_entry, range(256)))


def crc32c(octets: bytes) -> int:
    """The checksum of some octets."""
    found = 0xFFFFFFFF
    for octet in octets:
        found = found >> 8 ^ TABLE[(found ^ octet) & 0xFF]
    return found ^ 0xFFFFFFFF
