"""Frames of WebSocket found where nothing before is known: by heads that chain and content that fits, or that inflates."""

from __future__ import annotations

import numpy as np

from stompcap.columns import Octets
from stompcap.transport.deflate import AT_ONCE, Inflater, inflates
from stompcap.transport.websocket_frames import BINARY, NOT_AGREED, NOT_SEEN, TEXT, head_length
from stompcap.transport.websocket_search import FITS, LOOKED_INTO, OPEN, PERHAPS, WEAK_CHAIN, chained, content, frame_at, length_at, search


def first_frame(octets: Octets, begin: int, end: int, ended: bool, near: int, masked: int, deflate: int) -> tuple[int, int, int]:
    """The first position at which a frame begins, or may: (FITS, position, behind which octet it is known); (OPEN, position, _).

    (UNFIT, end, _) where there is none. At the position `near` a packet begins.
    """
    out = np.zeros(4, np.int64)
    while True:
        verdict = search(octets, begin, end, ended, near, masked, deflate, out)
        at, known, payload, behind = out.tolist()
        if verdict != PERHAPS:
            return verdict, at, known
        if inflates(_payload(octets, at, payload, behind)):
            if at == near:
                return FITS, at, known
            if behind + 2 > end and not ended:
                return OPEN, at, known
            next_head = octets[behind : behind + 2]
            if next_head.size < 2 or (chained(octets, behind, behind + 2) >= 0 and (next_head[1] ^ octets[at + 1]) < 128):
                return FITS, at, min(behind + 2, end)
        begin = at + 1


def begins_midstream(octets: Octets) -> bool:
    """Whether these octets, before which others were sent, are frames that carry STOMP or SockJS."""
    begin = 0
    while True:
        verdict, at, _ = first_frame(octets, begin, octets.size, True, 0, -1, NOT_SEEN)
        if verdict != FITS:
            return False
        heads = chained(octets, at, octets.size)
        if heads >= WEAK_CHAIN or (heads > 0 and at == 0 and _says_stomp(octets)):
            return True
        begin = at + 1


def _says_stomp(octets: Octets) -> bool:
    """Whether the first frame's content is a command's line, or SockJS; of a compressed one as far as it is certain."""
    if octets[0] & 15 not in (TEXT, BINARY):
        return False
    head = head_length(int(octets[1]))
    if octets[0] & 64 and chained(octets, 0, head) == 1:
        payload = _payload(octets, 0, head, min(head + int(length_at(octets, 0)), octets.size))
        unknown = Inflater(True, AT_ONCE)
        unknown.forget()
        octets, head = np.frombuffer(bytearray(unknown.beginning(payload) or b""), np.uint8), 0
        return bool(content(octets, 0, octets.size, octets.size, -1)[0] == FITS)
    verdict, *_ = frame_at(octets, 0, min(octets.size, head + min(int(octets[1]) & 127, LOOKED_INTO)), True, False, -1, NOT_AGREED)
    return bool(verdict == FITS)


def _payload(octets: Octets, at: int, begin: int, end: int) -> bytes:
    """The payload of a frame, unmasked."""
    found = octets[begin:end]
    if not octets[at + 1] & 128:
        return found.tobytes()
    mask = octets[begin - 4 : begin]
    unmasked: Octets = found ^ np.resize(mask, found.size)
    return unmasked.tobytes()
