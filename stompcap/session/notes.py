"""What the session machine noticed about each frame: the facts that rules about sessions judge.

Facts, not verdicts. A state is always that of the moment just before the frame, by the frames captured so far; whether the capture
could have missed something is said apart (`missed_c2s`, `missed_s2c`, `missing_later_c2s`, `missing_later_s2c`), so a rule that
would fail a frame looks there first and answers not_evaluable.
"""

from __future__ import annotations

from dataclasses import dataclass

from stompcap.session.dialogue import I8, I32, I64, Bools

# states of what a frame names (a subscription, a transaction, a receipt), just before the frame
UNNAMED = -1  # the frame has no such header, or its command has nothing to do with it
ACTIVE = 0  # subscription active, transaction open, receipt asked for and not answered
ENDED = 1  # known, but unsubscribed, committed, aborted, answered by RECEIPT
REFUSED = 2  # receipts only: answered by ERROR
UNKNOWN = 3  # never seen on this connection

# what an ACK or NACK names, just before it
TARGET_NONE = -1  # not an ACK or NACK, or it lacks the headers that name a message
TARGET_PENDING = 0  # a MESSAGE delivered and not settled (or whose transaction was aborted)
TARGET_SETTLED = 1  # a MESSAGE that an earlier ACK or NACK named
TARGET_CUMULATED = 2  # a MESSAGE that an earlier cumulative ACK or NACK settled along
TARGET_AUTO = 3  # a MESSAGE of a subscription with ack:auto
TARGET_UNKNOWN = 4  # no MESSAGE delivered on this connection has that key
TARGET_OTHER_SUBSCRIPTION = 5  # the message-id was delivered, but not to the subscription named

# ack modes
MODE_UNKNOWN, MODE_AUTO, MODE_CLIENT, MODE_INDIVIDUAL, MODE_OTHER = -1, 0, 1, 2, 3


@dataclass(frozen=True)
class SessionNotes:
    """One entry per session; frame indices point into the dialogue, -1 where there is no such frame.

    connect           first CONNECT or STOMP of the client
    connected         first CONNECTED of the server
    disconnect        first DISCONNECT of the client
    error             first ERROR of the server
    version           0, 1, 2 for 1.0, 1.1, 1.2; -1 where not known
    start_c2s         the true beginning of the client's octets was captured (SYN), or they begin with CONNECT or STOMP
    start_s2c         the true beginning of the server's octets was captured (SYN-ACK), or they begin with CONNECTED
    gaps_c2s/_s2c     octets are missing somewhere in that direction
    close_kind        index in words.CLOSE_KINDS: 0 fin, 1 rst, 2 open
    closed_by         whose FIN or RST came first: 0 client, 1 server, 2 both; -1 while open, or where that is not known
    closed_ns         the first FIN or RST captured; -1 while open
    end_c2s/_s2c      when nothing more could come from that side: its FIN, an RST, else the stream's last captured packet
    shut_c2s/_s2c     that moment is a FIN or an RST
    opened_ns         the stream's first captured packet
    last_ns           the stream's last captured packet
    encrypted         the stream came out of TLS
    """

    connect: I64
    connected: I64
    disconnect: I64
    error: I64
    version: I8
    start_c2s: Bools
    start_s2c: Bools
    gaps_c2s: Bools
    gaps_s2c: Bools
    close_kind: I8
    closed_by: I8
    closed_ns: I64
    end_c2s: I64
    end_s2c: I64
    shut_c2s: Bools
    shut_s2c: Bools
    opened_ns: I64
    last_ns: I64
    encrypted: Bools


@dataclass(frozen=True)
class Annotations:
    """One entry per frame of the dialogue (wire order); indices of frames and rows are -1 where there is none.

    previous             index of the frame before it in its own direction; -1: the first of its direction
    connects_before      CONNECT and STOMP frames of the client before it
    connected_before     a CONNECTED was captured before it
    disconnect_before    index of the client's first DISCONNECT before it
    error_before         index of the server's latest ERROR before it
    missed_c2s/_s2c      octets of that direction may be missing before it: the start was not captured, or a gap may lie before
    missing_later_c2s/_s2c  octets of that direction may be missing after it: a gap may lie behind it, or the capture
                         ends while the stream is open
    gap_later_s2c        place on the wire by which the server's next gap behind it shows; END where there is none
    subscription_row     row in table subscriptions: SUBSCRIBE its own, UNSUBSCRIBE the one it names, MESSAGE the one it is
                         delivered to, ACK and NACK that of the MESSAGE named
    subscription_state   SUBSCRIBE, UNSUBSCRIBE, MESSAGE: ACTIVE, ENDED, UNKNOWN or UNNAMED, of the id they name;
                         ACK and NACK: ACTIVE or ENDED, of the subscription of the MESSAGE named
    unsubscribed_by      index of the UNSUBSCRIBE that ended the subscription named; -1 while it is active
    active_subscriptions subscriptions active in the session
    same_destination     SUBSCRIBE, MESSAGE: subscriptions active on the same destination
    ack_mode             MODE_* of that subscription
    delivery_row         row in table deliveries: MESSAGE its own, ACK and NACK the one they name
    target               ACK, NACK: TARGET_*
    unsettled_earlier     ACK, NACK: a delivery that came before the one named to the same subscription can still be settled
    acknowledged_by      MESSAGE: index of the ACK or NACK that settles it, a cumulative one of a later message included
    settled              MESSAGE: settled for good, no transaction being open or aborted
    replaced             MESSAGE: its transaction was aborted and it was delivered anew: it can be settled no more
    message_id_before    MESSAGE: index of the latest earlier MESSAGE with the same message-id
    ack_id_before        MESSAGE: index of an earlier MESSAGE with the same ack header that is still unsettled
    transaction_row      row in table transactions that the frame begins, ends or belongs to
    transaction_state    ACTIVE, ENDED, UNKNOWN or UNNAMED
    transaction_ended    frames of a transaction: index of its COMMIT or ABORT
    transaction_outcome  frames of a transaction: index in words.TRANSACTION_OUTCOMES, -1 for other frames
    transaction_alive    frames of a transaction: it may still be ended
    transaction_frames   frames of a transaction: how many SEND, ACK and NACK it holds
    receipt_row          row in table receipts that the frame asks for (client) or answers (server)
    receipt_state        client frames with a receipt header: state of an earlier request of the same value; RECEIPT and ERROR
                         with receipt-id: state of the request named. ACTIVE, ENDED, REFUSED, UNKNOWN or UNNAMED
    answered_by          client frames with a receipt header: index of the RECEIPT or ERROR that answers it
    answers              RECEIPT and ERROR: index of the frame that it answers
    sessions             facts of one entry per session
    """

    previous: I64
    connects_before: I32
    connected_before: Bools
    disconnect_before: I64
    error_before: I64
    missed_c2s: Bools
    missed_s2c: Bools
    missing_later_c2s: Bools
    missing_later_s2c: Bools
    gap_later_s2c: I64
    subscription_row: I64
    subscription_state: I8
    unsubscribed_by: I64
    active_subscriptions: I32
    same_destination: I32
    ack_mode: I8
    delivery_row: I64
    target: I8
    unsettled_earlier: Bools
    acknowledged_by: I64
    settled: Bools
    replaced: Bools
    message_id_before: I64
    ack_id_before: I64
    transaction_row: I64
    transaction_state: I8
    transaction_ended: I64
    transaction_outcome: I64
    transaction_alive: Bools
    transaction_frames: I64
    receipt_row: I64
    receipt_state: I8
    answered_by: I64
    answers: I64
    sessions: SessionNotes
