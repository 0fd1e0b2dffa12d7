"""Frames of WebSocket (RFC 6455, 5.2): a kernel that walks them and unmasks their payload in place.

Its state can be saved between any two octets: what there is of a head, what is left of a payload, the mask and its phase, and the message
under way. It looks into no payload.
"""

from __future__ import annotations

from stompcap.columns import I64, Octets
from stompcap.kernel import callee, inline, kernel

LONGEST_HEAD = 14
"""Octets of a head: two, a length of up to eight more, and a mask of four."""
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
LONGEST_CONTROL = 125
"""Octets of a control frame's payload (5.5)."""

(
    HEAD_SIZE, IN_PAYLOAD, LEFT, TURN, KIND, FIRST, MESSAGE, CLOSED, MASKED, DEFLATE, FRAMES, MESSAGES, CONTROLS, PAYLOAD, BROKEN, HEAD,
) = range(16)  # fmt: skip
STATE = HEAD + LONGEST_HEAD
"""Numbers of a direction's state. HEAD_SIZE octets of the head are there, the first at HEAD. LEFT octets of the payload are to come, TURN
is the mask's octet that is next, KIND what they are, FIRST the head's first octet. MESSAGE is what the message under way is, CLOSED whether
a Close was seen, MASKED whether this side has to mask (-1: unknown), DEFLATE whether messages may be compressed. The rest counts, PAYLOAD
octets of messages; BROKEN is 1 where the last head can be none."""

NO_MESSAGE, PLAIN, PACKED, SKIPPED, UNKNOWN, CONTROL, NOTE = range(7)
"""What the octets of a span are: of a message as it is, of a compressed one, of one that cannot be read, of a control frame; NOTE has none
and says what is wrong with a frame. UNKNOWN is a message whose first frame was not seen."""
NOT_AGREED, AGREED, NOT_SEEN = range(3)
"""Values of DEFLATE: permessage-deflate (RFC 7692) was not agreed on, it was, the handshake was not seen."""

(WRONG_MASK, BEHIND_CLOSE, LONG_FORM, LARGE_CONTROL, SPLIT_CONTROL, NOTHING_TO_CONTINUE, NOT_CONTINUED, WRONG_BIT) = range(8)
"""What a NOTE says: RFC 6455, 5.1 (mask), 5.5.1, 5.2 (shortest length), 5.5 (both), 5.4 (both), 5.2 and RFC 7692, 6 (RSV1)."""

SPAN_KIND, SPAN_POSITION, SPAN_LENGTH, SPAN_FIRST, SPAN_ENDS = range(5)
SPAN = 5
"""Columns of a span: its kind, where its octets lie and how many they are, the first octet of its frame's head (of a NOTE what it says),
and what ends with it."""
ENDS_FRAME, ENDS_MESSAGE = 1, 2


@inline
def head_length(second: int) -> int:
    """Octets of a head whose second octet is this."""
    length = 2
    if second & 127 == 126:
        length += 2
    elif second & 127 == 127:
        length += 8
    return length + 4 if second & 128 else length


@callee
def unmask(octets: Octets, begin: int, end: int, mask: I64, turn: int) -> None:
    """Unmask octets in place; `turn` is the octet of the mask that is next (5.3)."""
    m0, m1, m2, m3 = mask[turn & 3], mask[(turn + 1) & 3], mask[(turn + 2) & 3], mask[(turn + 3) & 3]
    part = octets[begin:end]
    fours = part.size // 4
    for k in range(fours):
        part[4 * k] ^= m0
        part[4 * k + 1] ^= m1
        part[4 * k + 2] ^= m2
        part[4 * k + 3] ^= m3
    for k in range(4 * fours, part.size):
        part[k] ^= mask[(turn + k) & 3]


@inline
def _note(spans: I64, n: int, position: int, says: int) -> int:
    spans[n, SPAN_KIND], spans[n, SPAN_POSITION], spans[n, SPAN_LENGTH] = NOTE, position, 0
    spans[n, SPAN_FIRST], spans[n, SPAN_ENDS] = says, 0
    return n + 1


@callee
def _control(spans: I64, n: int, position: int, first: int, length: int) -> int:
    """Note what is wrong with a control frame (5.5)."""
    if length > LONGEST_CONTROL:
        n = _note(spans, n, position, LARGE_CONTROL)
    if not first & 128:
        n = _note(spans, n, position, SPLIT_CONTROL)
    if first & 64:
        n = _note(spans, n, position, WRONG_BIT)
    return n


@callee
def _data(s: I64, spans: I64, n: int, position: int, opcode: int, first: int) -> int:
    """Enter a frame of a message (5.4): RSV1 of the first says whether that is compressed (RFC 7692, 6)."""
    if opcode == CONTINUATION:
        if first & 64:
            n = _note(spans, n, position, WRONG_BIT)
        if s[MESSAGE] == NO_MESSAGE:
            n = _note(spans, n, position, NOTHING_TO_CONTINUE)
            s[MESSAGE] = PLAIN
        elif s[MESSAGE] == UNKNOWN:
            s[MESSAGE] = PLAIN if s[DEFLATE] == NOT_AGREED else SKIPPED
    else:
        if s[MESSAGE] != NO_MESSAGE and s[MESSAGE] != UNKNOWN:
            n = _note(spans, n, position, NOT_CONTINUED)
        if not first & 64:
            s[MESSAGE] = PLAIN
        elif s[DEFLATE] == NOT_AGREED:
            n = _note(spans, n, position, WRONG_BIT)
            s[MESSAGE] = SKIPPED
        else:
            s[MESSAGE] = PACKED
    s[KIND] = s[MESSAGE]
    return n


@callee
def _enter(s: I64, spans: I64, n: int, position: int) -> int:
    """Enter the frame whose head is whole; gives the number of spans. BROKEN where a head cannot be so (5.2)."""
    first, second = s[HEAD], s[HEAD + 1]
    opcode, length, at = first & 15, second & 127, 2
    if length >= 126:
        octets = 2 if length == 126 else 8
        length = 0
        for k in range(octets):
            length = (length << 8) | s[HEAD + 2 + k]
        at += octets
    if first & 0x30 or (opcode > BINARY and opcode < CLOSE) or opcode > PONG or length < 0:
        s[BROKEN] = 1
        return n
    if at > 2 and length < (126 if at == 4 else 65536):
        n = _note(spans, n, position, LONG_FORM)
    masked = second >> 7
    for k in range(4):
        s[HEAD + k] = s[HEAD + at + k] if masked else 0
    if s[MASKED] >= 0 and masked != s[MASKED]:
        n = _note(spans, n, position, WRONG_MASK)
    s[IN_PAYLOAD], s[LEFT], s[TURN], s[FIRST] = 1 + masked, length, 0, first
    s[FRAMES] += 1
    if opcode >= CLOSE:
        s[KIND] = CONTROL
        s[CONTROLS] += 1
        return _control(spans, n, position, first, length)
    if s[CLOSED]:
        n = _note(spans, n, position, BEHIND_CLOSE)
    return _data(s, spans, n, position, opcode, first)


@kernel
def walk(octets: Octets, begin: int, end: int, s: I64, spans: I64) -> tuple[int, int]:
    """Walk the frames of octets that follow those before, and unmask them in place; gives how many spans there are, and up to where.

    It ends early where the spans have no more room, and behind a head that can be none, which is BROKEN.
    """
    i, n = begin, 0
    while i < end and n + 4 < spans.shape[0]:
        if s[IN_PAYLOAD] == 0:
            whole = False
            while i < end and not whole:
                s[HEAD + s[HEAD_SIZE]] = octets[i]
                s[HEAD_SIZE] += 1
                i += 1
                whole = s[HEAD_SIZE] >= 2 and s[HEAD_SIZE] == head_length(s[HEAD + 1])
            if not whole:
                break
            n = _enter(s, spans, n, i - 1)
            s[HEAD_SIZE] = 0
            if s[BROKEN]:
                break
        size = min(s[LEFT], end - i)
        if s[IN_PAYLOAD] == 2 and size:
            unmask(octets, i, i + size, s[HEAD : HEAD + 4], s[TURN])
        s[LEFT] -= size
        s[TURN] = (s[TURN] + size) & 3
        ends, first, kind = 0, s[FIRST], s[KIND]
        if s[LEFT] == 0:
            s[IN_PAYLOAD] = 0
            ends = ENDS_FRAME
            if kind != CONTROL and first & 128:
                ends |= ENDS_MESSAGE
                s[MESSAGE] = NO_MESSAGE
                s[MESSAGES] += 1
            if first & 15 == CLOSE:
                s[CLOSED] = 1
        if kind != CONTROL:
            s[PAYLOAD] += size
        if size or (kind != PLAIN and ends):
            spans[n, SPAN_KIND], spans[n, SPAN_POSITION], spans[n, SPAN_LENGTH] = kind, i, size
            spans[n, SPAN_FIRST], spans[n, SPAN_ENDS] = first, ends
            n += 1
        i += size
    return n, i


@kernel
def pass_over(s: I64, octets: int) -> int:
    """Go on behind octets of the payload under way that are missing; gives what ends with them."""
    s[LEFT] -= octets
    s[TURN] = (s[TURN] + octets) & 3
    if s[KIND] != CONTROL:
        s[PAYLOAD] += octets
    if s[LEFT]:
        return 0
    s[IN_PAYLOAD] = 0
    if s[KIND] == CONTROL:
        if s[FIRST] & 15 == CLOSE:
            s[CLOSED] = 1
        return ENDS_FRAME
    if not s[FIRST] & 128:
        return ENDS_FRAME
    s[MESSAGE] = NO_MESSAGE
    s[MESSAGES] += 1
    return ENDS_FRAME | ENDS_MESSAGE
