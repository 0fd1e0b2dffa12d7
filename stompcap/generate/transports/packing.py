"""What a WebSocket message has instead of STOMP's octets as they are: permessage-deflate (RFC 7692), SockJS framing."""

from __future__ import annotations

import json
import zlib
from random import Random

TAIL = b"\0\0\xff\xff"
"""What a sender leaves out behind each message (RFC 7692, 7.2.1)."""
NODE_THRESHOLD = 1_024
"""Octets of the smallest message that Node's ws compresses where a context is not kept."""


class Deflate:
    """One direction of permessage-deflate. Where the context is not kept, small messages are left as they are: RSV1 differs."""

    def __init__(self, kept: bool) -> None:
        self._kept = kept
        self._stream = _compressor()

    def pack(self, octets: bytes) -> bytes | None:
        """A compressed message, or None where it is sent as it is."""
        if not self._kept:
            if len(octets) < NODE_THRESHOLD:
                return None
            self._stream = _compressor()
        packed = self._stream.compress(octets) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        return packed.removesuffix(TAIL)


def _compressor() -> zlib._Compress:
    return zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)


def sockjs(from_client: bool, octets: bytes, dice: Random) -> bytes:
    """STOMP's octets as a SockJS message: an array of strings, of one or now and then of two. Raises ValueError where they are no text."""
    text = octets.decode()
    cut = dice.randrange(1, len(text)) if len(text) > 1 and dice.random() < 0.05 else len(text)
    array = json.dumps([part for part in (text[:cut], text[cut:]) if part], ensure_ascii=False, separators=(",", ":"))
    return (array if from_client else f"a{array}").encode()
