"""Frames of WebSocket found where nothing before is known: by heads that chain and content that fits, or that inflates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stompcap.columns import Octets
from stompcap.transport.deflate import AT_ONCE, Inflater, inflates
from stompcap.transport.websocket_frames import BINARY, LONGEST_CONTROL, NOT_AGREED, NOT_SEEN, TEXT, head_length
from stompcap.transport.websocket_search import (
    FITS,
    LOOKED_INTO,
    OPEN,
    PERHAPS,
    WEAK,
    WEAK_CHAIN,
    chained,
    content,
    frame_at,
    length_at,
    search,
)


def first_frame(octets: Octets, begin: int, end: int, ended: bool, near: int, masked: int, deflate: int) -> tuple[int, int, int]:
    """The first position at which a frame begins, or may: (FITS, position, behind which octet it is known); (OPEN, position, _).

    (UNFIT, end, _) where there is none. At the position `near` a packet begins.
    """
    out = np.zeros(4, np.int64)
    while True:
        verdict = search(octets, begin, end, ended, near, masked, deflate, out)
        at, known, payload, behind = out.tolist()
        if verdict == FITS and not _believed(octets, at, known):
            begin = at + 1
            continue
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


def _heads(octets: Octets, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The heads that chain from a position on, as far as they are there: first octet, position, length of head and payload."""
    while at + 2 <= end:
        head = head_length(int(octets[at + 1]))
        if at + head > octets.size:
            return
        length = int(length_at(octets, at))
        yield int(octets[at]), at, head, length
        at += head + length


def _believed(octets: Octets, at: int, known: int) -> bool:
    """Whether heads of which some have no content that shows anything are those of a message that goes on: its frames are large.

    Octets of zero would be heads of empty frames else; of frames with a mask they are none.
    """
    if octets[at + 1] & 128:
        return True
    for first, _, _, length in _heads(octets, at, known):
        least = 1 if first & 128 or first & 15 else LONGEST_CONTROL + 1
        if first & 15 <= BINARY and length < least:
            return False
    return True


def begins_midstream(octets: Octets) -> bool:
    """Whether these octets, before which others were sent, are frames that carry STOMP or SockJS."""
    begin = 0
    while True:
        verdict, at, _ = first_frame(octets, begin, octets.size, True, 0, -1, NOT_SEEN)
        if verdict != FITS:
            return False
        heads = chained(octets, at, octets.size)
        if (heads >= WEAK_CHAIN and _carries(octets, at)) or (heads > 0 and at == 0 and _says_stomp(octets)):
            return True
        begin = at + 1


def _carries(octets: Octets, at: int) -> bool:
    """Whether most of the messages that begin in frames which chain are STOMP or SockJS, or inflate."""
    fit = other = 0
    for first, begin, head, length in _heads(octets, at, octets.size):
        payload = begin + head
        if first & 15 not in (TEXT, BINARY) or (first & 64 and (not first & 128 or payload + length > octets.size)):
            continue
        if first & 64:
            fits = inflates(_payload(octets, begin, payload, payload + length))
        else:
            mask = payload - 4 if octets[begin + 1] & 128 else -1
            fits = content(octets, payload, octets.size, length, mask)[0] in (FITS, WEAK, OPEN)
        fit, other = fit + fits, other + (not fits)
    return fit > other


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
