"""The dialogue: the frames of all sessions as columns of numbers, in the order in which they crossed the wire.

A session is one stream. Its frames are adjacent, both directions interleaved by the wire order of their last octets
(stompcap.tcp.interleave). A frame never precedes an earlier one of its own direction, as TCP delivers in order. State machines and rules
read these columns; text is looked up by `column` and `header`, a whole column at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, FRAME, SERVER
from stompcap.columns import I64, Bools, by_key, flat
from stompcap.session.header_values import header_entries, lengths_at, values_at
from stompcap.stomp import grammar
from stompcap.stomp.grammar import (
    ABORT,
    ACK,
    BEGIN,
    COMMIT,
    CONNECT,
    CONNECTED,
    DISCONNECT,
    ERROR,
    MESSAGE,
    NACK,
    RECEIPT,
    SEND,
    STOMP,
    SUBSCRIBE,
    UNSUBSCRIBE,
)

COMMANDS = grammar.NAMES
OTHER = len(COMMANDS)  # a command that no version knows

__all__ = [
    "ABORT", "ACK", "BEGIN", "COMMANDS", "COMMIT", "CONNECT", "CONNECTED", "DISCONNECT", "ERROR", "MESSAGE", "NACK", "OTHER", "RECEIPT",
    "SEND", "STOMP", "SUBSCRIBE", "UNSUBSCRIBE", "Dialogue", "RawRows", "in_order",
]


@dataclass(frozen=True)
class RawRows:
    """Rows of table raw_frames as numbers, sorted by session, side and offset: all octets of every direction, end to start."""

    session: I64
    side: I64
    offset: I64
    length: I64
    kind: I64
    syntax: I64
    shortened: Bools  # a frame that was cut before the end it declared
    first_ns: I64  # -1 for gaps, as last_ns
    last_ns: I64
    leaky: Bools  # a secret was there, and is masked; not where that is no more than a line torn by a gap, which may have been one
    first_wire_order: I64  # where its first octet stands; of a gap, where that behind it does, END where there is none
    wire_order: I64  # where its last octet stands; of a gap as before
    rising_order: I64  # where its last octet stands, never falling in a direction; of a gap, where the row before it does
    has_order: Bools  # the table has its wire order; one that an older version wrote has it not
    joined: Bools  # the row before ends in the packet in which it begins
    row: I64  # index in the table that was given
    context: Bools  # it is not to be judged: it was so in an earlier step, or waits for a later one, and is there as a neighbour
    peer_unseen: Bools  # the other side was not captured behind it for long (stompcap.session.queue)
    trusted: Bools  # it surely is what it seems (stompcap.session.trust)

    def __len__(self) -> int:
        return len(self.session)

    @property
    def direction(self) -> I64:
        """Direction of each row: session * 2 + side, ascending."""
        return self.session * 2 + self.side

    @cached_property
    def follows(self) -> Bools:
        """Rows that have the row before them in their own direction."""
        same = np.zeros(len(self), np.bool_)
        same[1:] = self.direction[1:] == self.direction[:-1]
        return same


@dataclass(frozen=True)
class Dialogue:
    """The frames of all sessions in wire order; arrays of one entry per frame unless another is named.

    session      index into `streams`
    side         CLIENT or SERVER: who sent it
    command      code: index in COMMANDS, OTHER for a command no version knows
    version      0, 1, 2 for 1.0, 1.1, 1.2; -1 where not known
    offset       stream offset in its direction
    length       octets of the frame, its NUL included
    body_octets  octets of the body
    first_ns     capture time of the first octet
    last_ns      latest arrival among the octets
    acked_ns     when TCP of the other side acknowledged them first, -1 where that is not known
    syntax       what the decoder noticed (stompcap.stomp.syntax.Syntax)
    wire_order   where its last octet stands, never falling in a direction
    row          index of the frame in `frames`
    ordinal      how many frames of its session came before it
    earlier      an earlier step had it, and it is here as the last of its direction before the new ones

    starts       one entry per session and one more: session s has the frames starts[s] to starts[s + 1]
    streams      the streams table's rows of the sessions, in the sessions' order
    frames       the frames table; read it with `column`, which brings its columns in wire order
    rows         the raw rows of the sessions, EOLs, gaps, junk and partial frames included
    """

    session: I64
    side: I64
    command: I64
    version: I64
    offset: I64
    length: I64
    body_octets: I64
    first_ns: I64
    last_ns: I64
    acked_ns: I64
    syntax: I64
    wire_order: I64
    row: I64
    ordinal: I64
    earlier: Bools
    starts: I64
    streams: pa.Table
    frames: pa.Table
    rows: RawRows
    _cache: dict[tuple[str, str], pa.Array] = field(default_factory=dict, repr=False)
    _entries: dict[str, I64] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.session)

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        return len(self.starts) - 1

    @cached_property
    def ids(self) -> pa.Array:
        """Per session its stream_id."""
        return flat(self.streams.column("stream_id"))

    @property
    def at_ns(self) -> I64:
        """The time a frame counts by: a client's first octet, a server's last."""
        return np.where(self.side == CLIENT, self.first_ns, self.last_ns)

    def of_rows(self, values: Bools) -> Bools:
        """A truth value per raw row as one per frame; false for frames of earlier steps."""
        found = np.zeros(len(self), np.bool_)
        found[self.new_by_key] = values[(self.rows.kind == FRAME) & ~self.rows.context]
        return found

    @cached_property
    def new_by_key(self) -> I64:
        """The new frames by session, side and offset, as raw rows stand."""
        new = np.flatnonzero(~self.earlier)
        placed = np.full(int(self.row.max(initial=-1)) + 1, -1)
        placed[self.row[new]] = new
        order: I64 = placed[placed >= 0]
        sort = by_key(self.session[order] * 2 + self.side[order], self.offset[order])
        return order if sort is None else order[sort]

    @cached_property
    def _new_by_command(self) -> tuple[I64, I64]:
        """The new frames by side and command, ascending, and where each of these begins."""
        new = np.flatnonzero(~self.earlier)
        key = (self.side[new] * (OTHER + 1) + self.command[new]).astype(np.int16)
        order = np.argsort(key, kind="stable")
        return new[order], np.searchsorted(key[order], np.arange(2 * (OTHER + 1) + 1))

    def new(self, side: int, *commands: int) -> I64:
        """The new frames of a side that have one of these commands, ascending."""
        frames, begins = self._new_by_command
        numbers = [side * (OTHER + 1) + command for command in commands]
        found = [frames[begins[number] : begins[number + 1]] for number in numbers]
        return found[0] if len(found) == 1 else np.sort(np.concatenate(found))

    @cached_property
    def messages(self) -> I64:
        """The deliveries: new MESSAGEs of the server."""
        return self.new(SERVER, MESSAGE)

    @cached_property
    def acks(self) -> I64:
        """The new ACKs and NACKs of the client."""
        return self.new(CLIENT, ACK, NACK)

    def some(self, name: str, at: I64) -> pa.Array:
        """A column of the frames table for the frames of these indices only, null for index -1."""
        return in_order(self.frames.column(name), np.where(at < 0, -1, self.row[at]) if len(self.row) else at)

    def header_entries(self, name: str) -> I64:
        """Where the effective value of a header lies (`header_values.header_entries`), for every frame in wire order."""
        if name not in self._entries:
            self._entries[name] = header_entries(self._maps, name, self.row)
        return self._entries[name]

    def header_lengths(self, name: str) -> I64:
        """How many octets the effective value of a header has on every frame in wire order, -1 where it is absent."""
        return lengths_at(self._maps, self.header_entries(name))

    def some_header(self, name: str, at: I64) -> pa.StringArray:
        """A header for the frames of these indices only, null where it is absent."""
        return values_at(self._maps, self.header_entries(name)[at])

    def column(self, name: str) -> pa.Array:
        """A column of the frames table in wire order; KeyError where the table has none of that name."""
        return self._once(("column", name), lambda: in_order(self.frames.column(name), self.row))

    def header(self, name: str) -> pa.StringArray:
        """The effective value of a header on every frame in wire order, null where it is absent."""
        return self._once(("header", name), lambda: values_at(self._maps, self.header_entries(name)))

    @cached_property
    def _maps(self) -> pa.Array:
        return flat(self.frames.column("header"))

    def _once(self, key: tuple[str, str], make: Callable[[], pa.Array]) -> pa.Array:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


def in_order(values: pa.Array | pa.ChunkedArray, row: I64) -> pa.Array:
    """`values` rearranged to follow `row`, as one contiguous array; null for row -1."""
    values = flat(values)
    if values.null_count == len(values):
        return pa.nulls(len(row), values.type)
    absent = row < 0
    return values.take(pa.array(row, mask=absent) if absent.any() else pa.array(row))
