"""Packets that a capture has more than once: from a mirror port that copies both in and out, or a capture on all interfaces at once.

A copy has the same sequence and acknowledgement numbers, flags, window, length and IP identification, and comes within milliseconds,
from any interface and with any TTL. A retransmission differs: it has an identification of its own (RFC 6864, 4.2). Where packets
have none (IPv6, or 0), it comes later: a sender notices a loss a round trip later at the earliest, and its timers are longer
than that (RFC 6298, 2.4; RFC 8985, 7.2). A pure acknowledgement without identification is never taken for a copy: three of them
request a retransmission.
"""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int
from stompcap.capture.segment_columns import FIN, RST, SYN
from stompcap.columns import I64
from stompcap.kernel import inline

COPY_NS = 3_000_000  # how much later, or with an uneven clock earlier, a copy may come

# A packet is searched for among the last two of its slot; an entry is key, time, connection, position.
SLOTS = 2048
KEY, TS_NS, STREAM, POSITION, ENTRY = 0, 1, 2, 3, 4
NOWHERE = -1  # position of a packet without octets of the stream
MIX, STIR = 0x2545F4914F6CDD1D, 0x369DEA0F31A53F85


def empty_memory() -> I64:
    """Room for the packets seen lately; the last slot takes packets that nothing can be a copy of."""
    return np.zeros((SLOTS + 1, 2 * ENTRY), np.int64)


def recent(memory: I64, now_ns: int) -> I64:
    """The remembered packets that may still be copied at this time."""
    kept = memory.copy()
    for entry in (0, ENTRY):
        kept[kept[:, entry + TS_NS] < now_ns - COPY_NS, entry : entry + ENTRY] = 0
    return kept


def filled(memory: I64) -> tuple[I64, I64]:
    """The slots that have something, and what: mostly few."""
    slots = np.flatnonzero(memory.any(axis=1))
    return slots, memory[slots]


def memory_of(slots: I64, entries: I64) -> I64:
    """The memory of which these slots are filled."""
    memory = empty_memory()
    memory[slots] = entries
    return memory


@inline
def key_of(flow: Int, side: Int, seq: Int, ack: Int, flags: Int, window: Int, octets: Int, identification: Int) -> Int:
    """A number made of the fields that copies share; 0 where these are too few to recognise one."""
    if identification <= 0 and octets == 0 and not flags & (SYN | FIN | RST):
        return np.int64(0)
    key = ((flow * STIR) ^ (seq | side << 32 | flags << 33)) * MIX
    key = ((key ^ (key >> 31)) ^ (ack | octets << 32)) * STIR
    key = ((key ^ (key >> 29)) ^ ((identification & 0xFFFF) | window << 16)) * MIX
    return (key ^ (key >> 32)) | 1


@inline
def slot_of(key: Int) -> Int:
    """Where packets with this key are remembered."""
    return (key >> 8) & (SLOTS - 1) if key else SLOTS


@inline
def find_copy(memory: I64, slot: Int, key: Int, ts: Int) -> Int:
    """Column of the entry that this is a copy of; -1 if it is none."""
    if key:
        if memory[slot, KEY] == key and abs(ts - memory[slot, TS_NS]) <= COPY_NS:
            return 0
        if memory[slot, ENTRY + KEY] == key and abs(ts - memory[slot, ENTRY + TS_NS]) <= COPY_NS:
            return ENTRY
    return -1


@inline
def remember(memory: I64, slot: Int, key: Int, ts: Int, stream: Int) -> None:
    """Remember a packet whose position is not yet known; the older one in its slot is forgotten."""
    for i in range(ENTRY):
        memory[slot, ENTRY + i] = memory[slot, i]
    memory[slot, KEY], memory[slot, TS_NS], memory[slot, STREAM], memory[slot, POSITION] = key, ts, stream, NOWHERE
