"""Segments that an earlier run read: where the capture is still there, they are read from it once more."""

from __future__ import annotations

import numpy as np

from stompcap.capture.files import Mapped, open_capture
from stompcap.capture.uris import is_uri
from stompcap.columns import I64, U8, Bools
from stompcap.errors import CaptureError

HEADER_LENGTHS = (32, 20, *range(24, 32, 4), *range(36, 64, 4))
"""Octets that a TCP header may have (RFC 9293, 3.1), the usual ones first."""


def still_there(path: str, file_offset: I64, captured: I64, headers: U8) -> Bools:
    """Of each segment, whether the file has it where it was.

    Args:
        path: a capture; one that is compressed, remote, gone or unreadable has none of the segments.
        file_offset, captured: file offset of the payload, -1 where it has none, and its octets.
        headers: what the TCP header begins with, as `header_begins` gives it.
    """
    found = np.zeros(len(file_offset), np.bool_)
    if is_uri(path):
        return found
    try:
        capture = open_capture(path)
    except CaptureError:
        return found
    if not isinstance(capture, Mapped) or capture.compression is not None:
        return found
    width = np.arange(headers.shape[1])
    for length in HEADER_LENGTHS:
        rows = np.flatnonzero(~found & (file_offset >= length) & (file_offset + captured <= capture.size))
        if not rows.size:
            break
        found[rows] = (capture.octets[(file_offset[rows] - length)[:, None] + width] == headers[rows]).all(axis=1)
    capture.release(0, capture.size)
    return found


def header_begins(endpoints: U8, forward: Bools, seq: I64, ack: I64) -> U8:
    """The first 12 octets of TCP headers: ports, sequence and acknowledgement numbers (RFC 9293, 3.1); columns of SEGMENTS."""
    low, high = endpoints[:, 16:18], endpoints[:, 34:36]
    forth = np.asarray(forward, np.bool_)[:, None]
    numbers = np.stack([seq, ack], axis=1).astype(">u4").view(np.uint8).reshape(-1, 8)
    return np.concatenate([np.where(forth, low, high), np.where(forth, high, low), numbers], axis=1)
