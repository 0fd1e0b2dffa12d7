"""The dialogue: the frames of all sessions as columns of numbers, in the order in which they crossed the wire.

A session is one stream. Its frames stand together, both directions interleaved: a client's frame where its first octet was
captured, a server's where its last was, and never before an earlier frame of its own direction, as TCP delivers in order.
State machine and rules read these columns; text is looked up by `column` and `header`, a whole column at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stompcap.session.lookup import flat, header_column

I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

CLIENT, SERVER = 0, 1  # side codes: index in words.DIRECTIONS and words.SIDES

COMMANDS = (
    "CONNECT", "STOMP", "CONNECTED", "SEND", "SUBSCRIBE", "UNSUBSCRIBE", "ACK", "NACK",
    "BEGIN", "COMMIT", "ABORT", "DISCONNECT", "MESSAGE", "RECEIPT", "ERROR",
)
(
    CONNECT, STOMP, CONNECTED, SEND, SUBSCRIBE, UNSUBSCRIBE, ACK, NACK,
    BEGIN, COMMIT, ABORT, DISCONNECT, MESSAGE, RECEIPT, ERROR,
) = range(len(COMMANDS))
OTHER = len(COMMANDS)  # a command no version knows

FRAME, EOL, GAP, JUNK, PARTIAL = range(5)  # kind codes of raw rows: index in words.RAW_KINDS

FRAME_BITS = 40  # no session has so many frames
UNTOLD = -2  # of a frame: no earlier piece of its session told what it means


@dataclass(frozen=True)
class RawRows:
    """The rows of table raw_frames as numbers, sorted by session, side and offset: all octets of every direction, end to start.

    `first_ns` and `last_ns` are -1 for gaps; `redacted`: a passcode was there; `shortened`: a frame cut before the end it declared.
    `place`: where on the wire the row and all before it in its direction were there, a client's frame by its first octet, as
    `Dialogue.position`. `row` is the index in the table that was given.
    """

    session: I32
    side: I8
    offset: I64
    length: I64
    kind: I8
    syntax: I64
    shortened: Bools
    first_ns: I64
    last_ns: I64
    redacted: Bools
    place: I64
    row: I64

    def __len__(self) -> int:
        return len(self.session)

    @property
    def way(self) -> I64:
        """Direction of each row: session * 2 + side, ascending."""
        return self.session * np.int64(2) + self.side


@dataclass(frozen=True)
class Dialogue:
    """The frames of all sessions in wire order; arrays of one entry per frame unless said otherwise.

    session      index into `streams` (and into the sessions table)
    side         CLIENT or SERVER: who sent it
    command      code: index in COMMANDS, OTHER for a command no version knows
    version      0, 1, 2 for 1.0, 1.1, 1.2; -1 where not known
    offset       stream offset in its direction
    length       octets of the frame, its NUL included
    body_octets  octets of the body
    first_ns     capture time of the first octet
    last_ns      latest arrival among the octets
    syntax       what the decoder noticed (stompcap.stomp.syntax.Syntax)
    position     place on the wire (rank of the capture and packet in one number), never falling inside a direction
    row          index of the frame in `frames`
    ordinal      how many frames of its session came before it, those no longer at hand included

    starts       one entry per session and one more: session s has the frames starts[s] to starts[s + 1]
    streams      the streams table's rows of the sessions, in the sessions' order
    frames       the frames table as it was given; read it with `column`, which brings its columns in wire order
    rows         all raw rows of the sessions, EOLs, gaps, junk and partial frames included
    """

    session: I32
    side: I8
    command: I8
    version: I8
    offset: I64
    length: I64
    body_octets: I64
    first_ns: I64
    last_ns: I64
    syntax: I64
    position: I64
    row: I64
    ordinal: I64
    starts: I64
    streams: pa.Table
    frames: pa.Table
    rows: RawRows
    _cache: dict[tuple[str, str], pa.Array] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.session)

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        return len(self.starts) - 1

    @cached_property
    def now(self) -> I64:
        """Per session the ordinal of its last frame; 0 where it has none."""
        if len(self) == 0:
            return np.zeros(self.sessions, np.int64)
        return np.where(np.diff(self.starts) > 0, self.ordinal[self.starts[1:] - 1], 0)

    @property
    def at_ns(self) -> I64:
        """The time a frame counts by: a client's first octet, a server's last."""
        return np.where(self.side == CLIENT, self.first_ns, self.last_ns)

    @property
    def settles(self) -> Bools:
        """Frames that settle deliveries: ACK and NACK of the client."""
        answers: Bools = (self.side == CLIENT) & ((self.command == ACK) | (self.command == NACK))
        return answers

    @cached_property
    def messages(self) -> I64:
        """The frames that are deliveries: MESSAGEs of the server."""
        return np.flatnonzero((self.side == SERVER) & (self.command == MESSAGE))

    def numbered(self, at: I64, ordinals: I64) -> I64:
        """The frames of these ordinals in the sessions of the frames `at`; -1 for those that are not at hand."""
        key = (self.session.astype(np.int64) << FRAME_BITS) + self.ordinal
        wanted = (self.session[at].astype(np.int64) << FRAME_BITS) + ordinals
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        return np.where(key[place] == wanted, place, -1)

    def latest(self, side: int) -> I64:
        """Per frame the latest frame of a side before it in its session, -1 where there is none."""
        if len(self) == 0:
            return np.zeros(0, np.int64)
        sent = np.where(self.side == side, np.arange(len(self)), -1)
        before = np.concatenate([[-1], np.maximum.accumulate(sent)[:-1]])
        return np.where((before >= 0) & (self.session[before] == self.session), before, -1)

    def of_messages(self, name: str) -> pa.Array:
        """A column of the frames table for `messages`."""
        return self._kept(("messages", name), lambda: self.some(name, self.messages))

    def some(self, name: str, at: I64) -> pa.Array:
        """A column of the frames table for the frames at those places only, null for place -1."""
        return in_order(self.frames.column(name), np.where(at < 0, -1, self.row[at]) if len(self.row) else at)

    def some_header(self, name: str, at: I64) -> pa.StringArray:
        """A header for the frames at those places only, null where it is absent."""
        return header_column(self._maps, name, self.row[at])

    def column(self, name: str) -> pa.Array:
        """A column of the frames table in wire order; KeyError where the table has none of that name."""
        return self._kept(("column", name), lambda: in_order(self.frames.column(name), self.row))

    def header(self, name: str) -> pa.StringArray:
        """The effective value of a header on every frame in wire order, null where it is absent."""
        return self._kept(("header", name), lambda: header_column(self._maps, name, self.row))

    @cached_property
    def _maps(self) -> pa.Array:
        return flat(self.frames.column("header"))

    def _kept(self, key: tuple[str, str], make: Callable[[], pa.Array]) -> pa.Array:
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
