"""Secrets that pcapng files have with their packets: Decryption Secrets Blocks (draft-ietf-opsawg-pcapng, 4.7).

They may be anywhere in a file. What is found is given to the caller and written nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stompcap.capture.chains import MAX_BLOCK_OCTETS, SECRETS_BLOCK, block_octets
from stompcap.capture.files import Window, open_capture
from stompcap.capture.integers import u32
from stompcap.capture.records import Walk
from stompcap.columns import I64, Octets

TLS_KEY_LOG = 0x544C534B
PACKET_BLOCKS = (2, 3, 6)
HEAD, ENHANCED_HEAD = 20, 28
"""Octets of such a block before the secrets, and of one with a packet before the packet."""


def key_logs(path: str, *, behind: bool = True) -> Iterator[bytes]:
    """The key logs of TLS in a capture, or only those before its packets; none where it is no pcapng file."""
    capture = open_capture(path)
    if capture.format != "pcapng":
        return
    yield from _before_packets(capture)
    if not behind:
        return
    big = _is_big(capture.octets, 0)
    for batch in Walk(capture):
        octets, begin = batch.octets, batch.begin
        if not len(batch):
            continue
        # of an enhanced block the place of the packet tells where it begins; of the few others the octets between are looked at
        starts = batch.position - ENHANCED_HEAD
        lengths = _numbers(octets, starts + 4, big)
        enhanced = (_numbers(octets, starts, big) == 6) & (starts >= begin)
        ends = np.where(enhanced, starts + (lengths + 3 & ~3), batch.position)
        starts = np.where(enhanced, starts, batch.position)
        gaps = np.flatnonzero(np.append(begin, ends) < np.append(starts, batch.end))
        for gap in gaps.tolist():
            first, last = int(np.append(begin, ends)[gap]), int(np.append(starts, batch.end)[gap])
            yield from _blocks(octets, first, last, big)
        capture.release(begin, batch.end)


def _before_packets(capture: Window) -> Iterator[bytes]:
    """Those before the first packet."""
    octets, at = capture.octets, 0
    while at + 12 <= len(octets):
        big = _is_big(octets, 0)
        kind, length = int(u32(octets, at, big)), int(block_octets(u32(octets, at + 4, big)))
        if kind in PACKET_BLOCKS or length < 12 or length > MAX_BLOCK_OCTETS:
            return
        if kind == SECRETS_BLOCK:
            yield from _secrets(octets, at, length, big)
        at += length


def _blocks(octets: Octets, at: int, end: int, big: bool) -> Iterator[bytes]:
    """Those among blocks that lie from `at` to `end`."""
    while at + 12 <= end:
        kind, length = int(u32(octets, at, big)), int(block_octets(u32(octets, at + 4, big)))
        if length < 12 or at + length > end:
            return
        if kind == SECRETS_BLOCK:
            yield from _secrets(octets, at, length, big)
        at += length


def _secrets(octets: Octets, at: int, length: int, big: bool) -> Iterator[bytes]:
    if length < HEAD + 4 or at + length > len(octets) or int(u32(octets, at + 8, big)) != TLS_KEY_LOG:
        return
    size = min(int(u32(octets, at + 12, big)), length - HEAD)
    yield octets[at + HEAD - 4 : at + HEAD - 4 + size].tobytes()


def _is_big(octets: Octets, at: int) -> bool:
    return octets[at + 8 : at + 12].tobytes() == b"\x1a\x2b\x3c\x4d"


def _numbers(octets: Octets, at: I64, big: bool) -> I64:
    """Numbers of four octets at these places."""
    at = np.clip(at, 0, max(len(octets) - 4, 0))
    four = octets[at[:, None] + np.arange(4)].astype(np.int64)
    order = (24, 16, 8, 0) if big else (0, 8, 16, 24)
    found: I64 = (four << np.array(order)).sum(axis=1)
    return found
