"""What a segment's flags and acknowledgement mean for its connection: opening, closing, how far the other side's octets came."""

from __future__ import annotations

from stompcap.capture.integers import Int
from stompcap.capture.segment_columns import ACK, FIN, RST, SYN
from stompcap.codes import BOTH, CLOSE_FIN, CLOSE_OPEN, CLOSE_RST, NOBODY
from stompcap.kernel import callee, inline
from stompcap.tcp.state import (
    ACK_SEEN,
    ACKED,
    CLOSE_BY,
    CLOSE_KIND,
    CLOSE_NS,
    CLOSED_BY,
    DATA_END,
    DATA_SEEN,
    FAR,
    FIN_AT,
    FIN_NS,
    FIN_SEEN,
    HANDED_ON,
    HINTED,
    INITIATOR,
    LATEST_AT,
    ORIGIN_NS,
    ORIGIN_SEQ,
    ORIGIN_SYN,
    REF,
    RST_BY,
    RST_NS,
    SEEN,
    SENT,
    SHAKEN_NS,
    SIDES,
    START,
    SYN_NS,
    SYN_SEEN,
    SYNACK_NS,
    SYNACK_SEEN,
    SYNACKS,
    SYNCED,
    SYNS,
    WIDTH,
    State,
    distance,
)


@callee
def handshake(state: State, stream: Int, side: Int, ts: Int, seq: Int, ack: Int, flags: Int) -> None:
    """Take a SYN or SYN-ACK."""
    mine, peer = SIDES + side * WIDTH, SIDES + (1 - side) * WIDTH
    if not state[stream, mine + SEEN]:
        state[stream, mine + REF] = seq + 1 + (1 << 32)
        state[stream, mine + SEEN] = 1
    if not state[stream, mine + SYNCED] or state[stream, mine + HINTED]:
        state[stream, mine + START] = state[stream, mine + REF] + distance(seq + 1, state[stream, mine + REF])
        state[stream, mine + SYNCED], state[stream, mine + HINTED] = 1, 0
    if not state[stream, ORIGIN_SYN] and not state[stream, HANDED_ON]:
        state[stream, ORIGIN_SYN] = 1
        state[stream, ORIGIN_NS], state[stream, ORIGIN_SEQ] = ts, seq
    if state[stream, INITIATOR] == NOBODY and not state[stream, HANDED_ON]:
        state[stream, INITIATOR] = 1 - side if flags & ACK else side
    state[stream, SYNACK_SEEN if flags & ACK else SYN_SEEN] = 1
    if flags & ACK and not state[stream, SHAKEN_NS]:
        state[stream, SYNACKS] += 1
        if state[stream, SYNACKS] == 1:
            state[stream, SYNACK_NS] = ts
    elif not flags & ACK and not state[stream, SYNACKS]:
        state[stream, SYNS] += 1
        if state[stream, SYNS] == 1:
            state[stream, SYN_NS] = ts
    if flags & ACK and not state[stream, peer + SEEN]:
        state[stream, peer + SEEN] = state[stream, peer + SYNCED] = state[stream, peer + HINTED] = 1
        state[stream, peer + START] = state[stream, peer + REF] = ack + (1 << 32)


@inline
def shake(state: State, stream: Int, side: Int, ts: Int, flags: Int) -> None:
    """Take the acknowledgement of the SYN-ACK: the first one by the side that opened the connection."""
    if state[stream, SYNACKS] and not state[stream, SHAKEN_NS] and side == state[stream, INITIATOR] and flags & ACK and not flags & SYN:
        state[stream, SHAKEN_NS] = ts


@inline
def refute_fin(state: State, stream: Int, side: Int) -> None:
    """Forget a side's FIN where the other side acknowledges octets captured behind it: it did not accept that FIN."""
    at, fin = SIDES + side * WIDTH, state[stream, SIDES + side * WIDTH + FIN_AT]
    if not (fin < state[stream, at + DATA_END] and fin + 1 < state[stream, at + ACKED] <= state[stream, at + DATA_END] + 1):
        return
    state[stream, at + FIN_SEEN] = 0
    other = SIDES + (1 - side) * WIDTH
    if state[stream, CLOSE_KIND] != CLOSE_FIN or state[stream, CLOSED_BY] == 1 - side:
        return
    if state[stream, other + FIN_SEEN]:
        state[stream, CLOSED_BY], state[stream, CLOSE_NS] = 1 - side, state[stream, other + FIN_NS]
    elif state[stream, RST_BY]:
        by = state[stream, RST_BY] - 1
        state[stream, CLOSE_KIND], state[stream, CLOSED_BY] = CLOSE_RST, by
        state[stream, CLOSE_NS] = state[stream, SIDES + by * WIDTH + RST_NS]
    else:
        state[stream, CLOSE_KIND], state[stream, CLOSED_BY] = CLOSE_OPEN, NOBODY


@inline
def take_ack(state: State, stream: Int, peer: Int, ack: Int) -> None:
    """Take an acknowledgement of the octets of side `peer`."""
    at = SIDES + peer * WIDTH
    if state[stream, at + ACK_SEEN]:
        d = distance(ack, state[stream, at + ACKED])
        if 0 < d <= FAR and (not state[stream, at + SEEN] or distance(ack, state[stream, at + REF]) <= FAR):
            state[stream, at + ACKED] += d
            if state[stream, at + FIN_SEEN]:
                refute_fin(state, stream, peer)
    elif state[stream, at + SEEN]:
        d = distance(ack, state[stream, at + REF])
        if -FAR <= d <= FAR:
            state[stream, at + ACK_SEEN], state[stream, at + ACKED] = 1, state[stream, at + REF] + d
    else:
        state[stream, at + ACK_SEEN], state[stream, at + ACKED] = 1, ack + (1 << 32)


@callee
def take_close(state: State, stream: Int, side: Int, ts: Int, ack: Int, flags: Int, end: Int) -> None:
    """Take a FIN or a RST behind position `end`. Whichever came first is the close, and its side the closer.

    That position is what the side has sent, and a RST's acknowledgement what it has heard: what is not captured of that is missing.
    """
    mine, peer = SIDES + side * WIDTH, SIDES + (1 - side) * WIDTH
    if flags & RST:
        if not state[stream, mine + RST_NS]:
            state[stream, mine + RST_NS] = ts
            state[stream, mine + SENT] = max(state[stream, mine + SENT], end)  # of the first alone: forged ones come in rows
            if flags & ACK and state[stream, peer + SEEN] and abs(distance(ack, state[stream, peer + REF])) <= CLOSE_BY:
                take_ack(state, stream, 1 - side, ack)
        if not state[stream, RST_BY]:
            state[stream, RST_BY] = 1 + side
        if state[stream, CLOSE_KIND] == CLOSE_OPEN:
            state[stream, CLOSE_KIND], state[stream, CLOSED_BY], state[stream, CLOSE_NS] = CLOSE_RST, side, ts
    elif flags & FIN and not state[stream, mine + FIN_SEEN]:
        if state[stream, mine + DATA_SEEN] and end < state[stream, mine + DATA_END]:
            return
        state[stream, mine + FIN_SEEN] = 1
        state[stream, mine + FIN_AT], state[stream, mine + FIN_NS] = end, ts
        if state[stream, CLOSE_KIND] == CLOSE_OPEN:
            state[stream, CLOSE_KIND], state[stream, CLOSED_BY], state[stream, CLOSE_NS] = CLOSE_FIN, side, ts
        elif state[stream, CLOSE_KIND] == CLOSE_FIN and state[stream, CLOSED_BY] == 1 - side:
            unaware = not flags & ACK or distance(ack, state[stream, peer + FIN_AT]) <= 0
            state[stream, CLOSED_BY] = BOTH if unaware else 1 - side


@inline
def heard_at(state: State, stream: Int, peer: Int, ack: Int) -> Int:
    """The position of an acknowledgement of the octets of side `peer` that was taken; 0 for one that the side cannot have reached."""
    at = SIDES + peer * WIDTH
    d = distance(ack, state[stream, at + ACKED])
    found = state[stream, at + ACKED] + d
    if d > 0 or d < -FAR or (state[stream, at + SEEN] and found > state[stream, at + REF] + CLOSE_BY):
        return 0
    return max(found, 0)


@inline
def keep_alive(state: State, stream: Int, side: Int, position: Int, octets: Int, flags: Int) -> bool:
    """Whether it is one octet just below the next one (RFC 9293, 3.8.4).

    One not yet acknowledged is a retransmission instead, if the segment that brought it had no others: they would come again, too.
    """
    at = SIDES + side * WIDTH
    if octets != 1 or flags & (SYN | FIN | RST) or not state[stream, at + SEEN] or position + 1 != state[stream, at + REF]:
        return False
    if not state[stream, at + ACK_SEEN] or state[stream, at + ACKED] >= position + 1 or not state[stream, at + DATA_SEEN]:
        return True
    return bool(state[stream, at + DATA_END] == position + 1 and state[stream, at + LATEST_AT] < position)
