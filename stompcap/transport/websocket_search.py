"""Where frames of WebSocket begin in octets of which nothing before is known: heads that chain, with content that fits.

A head that fits by chance is frequent, several that chain are rare, and content that begins as STOMP or SockJS is conclusive. What is
decided does not depend on how the octets come: a position is held until they suffice, at most REACH octets behind it or to a hole.
"""

from __future__ import annotations

import numpy as np

from stompcap.columns import I64, Octets
from stompcap.kernel import allocating, callee, kernel
from stompcap.stomp.grammar import LF, NO_VOTE
from stompcap.stomp.lookahead import END, KNOWN, WAIT, follows
from stompcap.transport.websocket_frames import BINARY, CLOSE, CONTINUATION, LONGEST_CONTROL, NOT_AGREED, PONG, head_length

REACH = 1 << 16
CHAIN = 6
"""Heads that are believed though the content of none is: that of messages that go on."""
CHAIN_TO_THE_END = 4
"""The same where they end with the octets that there are."""
LOOKED_INTO = 64
"""Octets of a payload that show whether it is STOMP."""
LARGEST = 1 << 28
"""No frame of more octets is believed."""
UNFIT, FITS, OPEN, PERHAPS, WEAK = range(5)
"""Of a position: no frame begins there; one does; more octets are needed; if its payload inflates; if two more heads chain."""
WEAK_CHAIN = 3
UNKNOWN = 2
"""Whether a message goes on where nothing before is known."""


@allocating
def content(octets: Octets, begin: int, end: int, size: int, mask: int) -> tuple[int, int]:
    """Whether a message's payload of `size` octets at `begin` is STOMP or SockJS, and behind which octet that is known.

    `mask` is where its mask lies, -1 where it has none.
    """
    count = min(size, LOOKED_INTO, end - begin)
    text = np.empty(LOOKED_INTO, np.uint8)
    for k in range(count):
        text[k] = octets[begin + k] ^ octets[mask + (k & 3)] if mask >= 0 else octets[begin + k]
    whole = count == size
    if count == 0:
        return (UNFIT if whole else OPEN), begin
    first = text[0]
    if first == 0x6F or first == 0x68:  # o, h
        return (WEAK if size == 1 else UNFIT), begin + 1
    if first == 0x61 or first == 0x63 or first == 0x5B:  # a[" or c[ or ["
        at = 0 if first == 0x5B else 1
        for k in range(at, 2 if first == 0x63 else at + 2):
            if k == count:
                return (UNFIT if whole else OPEN), begin
            if text[k] != (0x5B if k == at else 0x22):
                return UNFIT, begin
        return FITS, begin + 2 + (first == 0x61)
    verdict, at = follows(text, 0, count, NO_VOTE)
    if verdict == KNOWN:
        while text[at] != LF:
            at += 1
        return FITS, begin + at + 1
    if verdict == END and whole:
        return (WEAK if size <= 2 else UNFIT), begin + count
    return (OPEN if (verdict == WAIT or verdict == END) and not whole and count < LOOKED_INTO else UNFIT), begin


@kernel
def length_at(octets: Octets, i: int) -> int:
    """The length of the payload of the frame whose head is at `i`; -1 where it is not in its shortest form, or too large."""
    length = int(octets[i + 1] & 127)
    if length < 126:
        return length
    large = length == 127
    length = 0
    for k in range(2, 10 if large else 4):
        length = (length << 8) | octets[i + k]
    return length if (65536 if large else 126) <= length <= LARGEST else -1


@callee
def _no_head(octets: Octets, i: int, masked: int) -> bool:
    """Whether two octets can begin no frame of a sender that masks, or does not, or of which that is not known (-1)."""
    first, second = octets[i], octets[i + 1]
    opcode = first & 15
    if first & 0x30 or (opcode > BINARY and opcode < CLOSE) or opcode > PONG or (masked >= 0 and second >> 7 != masked):
        return True
    if opcode >= CLOSE:
        return not first & 128 or bool(first & 64) or second & 127 > LONGEST_CONTROL
    return opcode == CONTINUATION and bool(first & 64)


@callee
def _goes_on(first: int, goes_on: int) -> int:
    """Whether the message goes on behind a frame of this first octet: 1 or 0; -1 where no such frame may come now (RFC 6455, 5.4).

    `goes_on` is the same of what is before it, UNKNOWN where that is not known.
    """
    opcode = first & 15
    if opcode >= CLOSE:
        return goes_on
    if goes_on != UNKNOWN and (opcode == CONTINUATION) != (goes_on == 1):
        return -1
    return 0 if first & 128 else 1


@kernel
def frame_at(octets: Octets, begin: int, end: int, ended: bool, near: bool, masked: int, deflate: int) -> tuple[int, int, int, int]:
    """Whether a frame begins at `begin`, behind which octet that is known, and of PERHAPS where its payload begins and ends.

    `ended`: what follows `end` is a hole, or nothing. `near`: a packet begins there, and most begin with a frame: less is enough.
    `masked` is whether the sender masks (-1: unknown). A short length ends by chance where a frame begins, and all heads behind that one
    chain: what follows proves a first frame only if its length takes two octets or more, else its own content must.
    """
    reach = min(end, begin + REACH)
    ended = ended or end > reach
    i, heads, weak, seen, goes_on = begin, 0, False, begin, UNKNOWN
    while heads < CHAIN and not (weak and heads == WEAK_CHAIN) and i + 2 <= reach:
        if _no_head(octets, i, masked):
            return UNFIT, i, 0, 0
        first, masked, head = octets[i], 1 if octets[i + 1] & 128 else 0, head_length(octets[i + 1])
        if i + head > reach:
            break
        length = length_at(octets, i)
        goes_on = _goes_on(first, goes_on)
        if length < 0 or goes_on < 0 or (first & 64 and deflate == NOT_AGREED):
            return UNFIT, i, 0, 0
        heads += 1
        seen = payload = i + head
        i = payload + length
        alone = heads == 1 and not (length > LONGEST_CONTROL or (near and first & 15 >= CLOSE))
        if first & 15 == CONTINUATION or first & 15 >= CLOSE:
            if alone:
                return UNFIT, i, 0, 0
            continue
        if first & 64:
            if first & 128 and i <= reach:
                return PERHAPS, i, payload, i
            fits, known = OPEN if first & 128 else UNFIT, 0
        else:
            fits, known = content(octets, payload, reach, length, payload - 4 if masked else -1)
        if fits == OPEN and not ended:
            return OPEN, begin, 0, 0
        if fits == FITS or (fits == WEAK and near):
            return FITS, known, 0, 0
        if alone and fits == UNFIT:
            return UNFIT, i, 0, 0
        weak = weak or fits == WEAK
    if heads >= CHAIN or (weak and heads >= WEAK_CHAIN):
        return FITS, seen, 0, 0
    if not ended:
        return OPEN, begin, 0, 0
    return (FITS if heads >= CHAIN_TO_THE_END or (weak and heads > 1) else UNFIT), min(reach + 1, end), 0, 0


@kernel
def search(octets: Octets, begin: int, end: int, ended: bool, near: int, masked: int, deflate: int, out: I64) -> int:
    """The first position from `begin` on that is not UNFIT, and what it is; `out` has the rest that `frame_at` says."""
    for at in range(begin, end):
        if octets[at] & 0x30:
            continue
        verdict, known, payload, behind = frame_at(octets, at, end, ended, at == near, masked, deflate)
        if verdict != UNFIT:
            out[0], out[1], out[2], out[3] = at, known, payload, behind
            return verdict
    out[0] = end
    return UNFIT


@kernel
def chained(octets: Octets, begin: int, end: int) -> int:
    """How many heads chain from `begin` on, as far as they are there; -1 where one of them can be none."""
    i, heads, goes_on = begin, 0, UNKNOWN
    while i + 2 <= end:
        if _no_head(octets, i, 1 if octets[begin + 1] & 128 else 0):
            return -1
        head = head_length(octets[i + 1])
        if i + head > end:
            break
        length, goes_on = length_at(octets, i), _goes_on(octets[i], goes_on)
        if length < 0 or goes_on < 0:
            return -1
        heads += 1
        i += head + length
    return heads
