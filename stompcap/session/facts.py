"""Facts about each frame and each session, which the rules judge.

A state is that just before the frame, according to the frames captured so far. `missed_c2s` and `missed_s2c` tell whether octets may be
missing before the frame; they are final when a step takes the frame (stompcap.session.queue).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.codes import TRANSPORT_TLS, TRANSPORT_WSS
from stompcap.columns import I64, Bools

# states, just before a frame, of the subscription, transaction or receipt that it names
UNNAMED = -1  # the frame has no such header, or its command does not use it
ACTIVE = 0  # subscription active, transaction open, receipt asked for and not answered
ENDED = 1  # known, but unsubscribed, committed, aborted, answered by RECEIPT
REFUSED = 2  # receipts only: answered by ERROR
UNKNOWN = 3  # never seen on this connection

# states, just before an ACK or NACK, of the MESSAGE that it names
TARGET_NONE = -1  # not an ACK or NACK, or it lacks the headers that name a message
TARGET_PENDING = 0  # delivered and not settled, or settled in a transaction that was aborted
TARGET_SETTLED = 1  # settled by an earlier ACK or NACK that named it
TARGET_CUMULATED = 2  # settled by an earlier cumulative ACK or NACK of a later MESSAGE
TARGET_AUTO = 3  # its subscription has ack:auto
TARGET_UNKNOWN = 4  # no MESSAGE delivered on this connection has that key
TARGET_OTHER_SUBSCRIPTION = 5  # the message-id was delivered, but not to the subscription named


@dataclass(frozen=True)
class SessionFacts:
    """One entry per session, as known by the end of the step; of shape (sessions, 2) where it is per side.

    version        0, 1, 2 for 1.0, 1.1, 1.2; -1 where not known
    start          per side: the true beginning of its octets was captured (SYN), or they begin with CONNECT, STOMP or CONNECTED
    gaps           per side: gaps so far, the missing beginning apart
    close_kind     what came first of FIN and RST: index in words.CLOSE_KINDS: 0 fin, 1 rst, 2 open
    closed_by      who sent it: 0 client, 1 server, 2 both; -1 while open, or where that is not known
    asked_by       who sent the first Close of WebSocket or close_notify of TLS before that: 0 client, 1 server; -1 where nobody did
    closed_ns      the time of that FIN or RST; -1 while open
    reset_by       the side whose RST came before both sides had sent a FIN; -1 if there was none
    reset_ns       the time of that RST; -1 if there was none
    opened_ns      the stream's first captured packet
    last_ns        the stream's last captured packet
    transport      what carries it, as stompcap.codes numbers them
    end_ns         per side: the time of its FIN or of an RST, else of the stream's last captured packet
    shut           per side: `end_ns` is the time of a FIN or an RST
    fin            per side: its FIN was captured
    close_order    per side: the wire order of the last octets before its first FIN or RST; -1 if none was captured
    frames         per side: frames so far
    spoke_ns       per side: the time of its last octets; -1 if it sent none
    heard_ns       the time of the last octets of either side before the first ERROR, or of the session if there is no ERROR; -1
    """

    version: I64
    start: Bools
    gaps: I64
    close_kind: I64
    closed_by: I64
    asked_by: I64
    closed_ns: I64
    reset_by: I64
    reset_ns: I64
    opened_ns: I64
    last_ns: I64
    transport: I64
    end_ns: I64
    shut: Bools
    fin: Bools
    close_order: I64
    frames: I64
    spoke_ns: I64
    heard_ns: I64

    @property
    def ended_by(self) -> I64:
        """Who ended the connection: who asked for it by WebSocket or TLS, whoever closed TCP behind that; else who closed TCP."""
        found: I64 = np.where(self.asked_by >= 0, self.asked_by, self.closed_by)
        return found

    @property
    def encrypted(self) -> Bools:
        """Whether it came out of TLS."""
        return np.isin(self.transport, (TRANSPORT_TLS, TRANSPORT_WSS))

    def missing(self, side: int) -> Bools:
        """Per session: that side has a gap other than a missing beginning."""
        found: Bools = self.gaps[:, side] > 0
        return found


@dataclass(frozen=True)
class Facts:
    """One entry per frame of the dialogue (wire order); indices of frames and rows are -1 where there is none.

    previous             the frame before it in its own direction; -1: the first of its direction
    latest_client        the client's latest frame before it
    connects_before      how many CONNECT and STOMP frames came before it
    connected_ns         when the first CONNECTED before it was complete; -1 where there was none
    disconnected_before  a DISCONNECT came before it
    errors_before        how many ERRORs came before it
    subscribes_before    how many SUBSCRIBEs came before it
    nameless_before      how many SUBSCRIBEs without id came before it
    missed_c2s/_s2c      octets of that direction may be missing before it
    gaps_c2s/_s2c        how many gaps of that direction ended before it
    subscription_state   SUBSCRIBE, UNSUBSCRIBE, MESSAGE: ACTIVE, ENDED, UNKNOWN or UNNAMED, of the id they name;
                         ACK and NACK: ACTIVE or ENDED, of the subscription of the MESSAGE named
    too_late             MESSAGE of an ended subscription: it came after the RECEIPT of its UNSUBSCRIBE or, without a RECEIPT so far,
                         after a round trip and a time of grace
    unanswered           MESSAGE of an ended subscription: its UNSUBSCRIBE asked for a RECEIPT, and none came so far
    untimed              MESSAGE of an ended subscription: the clocks cannot be compared, so `too_late` is not known
    same_destination     SUBSCRIBE, MESSAGE: how many active subscriptions have its destination
    ack_mode             MODE_* of the subscription of a MESSAGE, or of the MESSAGE that an ACK or NACK names
    delivery             row in `deliveries`: MESSAGE its own, ACK and NACK the one they name
    target               ACK, NACK: TARGET_*
    unsettled_earlier    ACK, NACK: a delivery that came before the one named, and that it would settle if it were cumulative, is open
    is_message_id        ACK, NACK of TARGET_UNKNOWN: what it names is the message-id of a MESSAGE
    copy_of              MESSAGE: row in `deliveries` of the latest one before it with the same message-id
    copy_acked           MESSAGE: `copy_of` is of the same subscription and was settled by an ACK outside of transactions
    ack_in_use           MESSAGE: an earlier MESSAGE with the same ack header can still be settled
    transaction_state    ACTIVE, ENDED, UNKNOWN or UNNAMED
    receipt              client: row in `receipts` of what it asks for
    receipt_state        client frames with a receipt header: state of an earlier request of the same value; RECEIPT and ERROR
                         with receipt-id: state of the request named. ACTIVE, ENDED, REFUSED, UNKNOWN or UNNAMED
    answers              RECEIPT and ERROR: row in `receipts` of the request that it answers
    """

    previous: I64
    latest_client: I64
    connects_before: I64
    connected_ns: I64
    disconnected_before: Bools
    errors_before: I64
    subscribes_before: I64
    nameless_before: I64
    missed_c2s: Bools
    missed_s2c: Bools
    gaps_c2s: I64
    gaps_s2c: I64
    subscription_state: I64
    too_late: Bools
    unanswered: Bools
    untimed: Bools
    same_destination: I64
    ack_mode: I64
    delivery: I64
    target: I64
    unsettled_earlier: Bools
    is_message_id: Bools
    copy_of: I64
    copy_acked: Bools
    ack_in_use: Bools
    transaction_state: I64
    receipt: I64
    receipt_state: I64
    answers: I64
