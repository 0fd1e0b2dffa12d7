"""Input and output of the delimiter, as structs of arrays: runs of captured octets, rows that tile them, the state between two calls."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from stompcap.codes import (
    FRAME,
)
from stompcap.columns import I32, I64, Bools, Octets

"""Kinds of row: indices into `stompcap.tables.words.RAW_KINDS`."""

"""What ended a frame: indices into `stompcap.tables.words.DELIMITERS`."""


@dataclass(frozen=True)
class Runs:
    """The captured octets of many stream directions, as contiguous stretches, with the attributes of each direction.

    Run r has the `length[r]` octets at `position[r]` of the buffer; they are the octets of direction `direction[r]` from stream
    offset `offset[r]` on. The runs of a direction are adjacent and ascending; between two of them, before
    the first and behind the last up to `stream_octets` there are gaps. Directions are numbered from 0 in the order of their runs.
    """

    direction: I32
    position: I64
    length: I64
    offset: I64
    synced: Bools
    """Per direction: stream offset 0 is the stream's true beginning (its SYN was captured)."""
    final: Bools
    """Per direction: nothing follows; what is unfinished becomes `partial`."""
    stream_octets: I64
    """Per direction: length of the stream, gaps included; -1 if unknown. Used where final."""
    unsure: Bools | None = None
    """Per run: how many octets are missing before it is not known. None: for all it is."""

    @staticmethod
    def whole(octets: Octets) -> Runs:
        """One direction that consists of these octets."""
        return Runs(
            np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([octets.size], np.int64), np.zeros(1, np.int64),
            np.ones(1, np.bool_), np.ones(1, np.bool_), np.array([octets.size], np.int64),
        )


(PHASE, DONE, SEARCH, LOOK, LINE, SYNTAX, LENGTH, BODY, COMMAND, LINES, EXPECTED, BEGUN, FOOTING, ROLE, PLACE, SEEN, LENIENT) = range(17)
STATE_FIELDS = 17

HEAD_LIMIT = 1 << 24
"""Most octets of a row that is no frame, and of a frame's head: 16 MiB; brokers refuse heads a thousand times smaller."""
FRAME_LIMIT = 1 << 28
"""Most octets of a frame: 256 MiB, twice the default limit of RabbitMQ and ActiveMQ. No row is larger, and neither are the undecided
octets: this bounds the memory of a direction."""

FIRM, LOST, FOUND = range(3)
"""Values of FOOTING: behind a frame or at the true beginning; directly behind a gap; at a frame found by a search."""


FORMAT = b"stompcap delimiter 1\n"
"""The first octets of a saved state; changed with its fields, so that no old state is misread."""


@dataclass(frozen=True)
class State:
    """The delimiter's state in each direction: one row of numbers each; it can be saved and resumed at any octet.

    DONE is the stream offset up to which rows were given; octets from there on must be presented again.
    """

    numbers: I64

    @property
    def pending(self) -> I64:
        """Per direction: the stream offset from which octets must be presented again, together with more."""
        return self.numbers[:, DONE]

    def to_bytes(self) -> bytes:
        """The state as octets that any machine reads, as long as FORMAT is unchanged."""
        return FORMAT + np.ascontiguousarray(self.numbers, "<i8").tobytes()

    @staticmethod
    def from_bytes(data: bytes) -> State:
        """The state that `to_bytes` wrote; ValueError for anything else."""
        size = STATE_FIELDS * 8
        if not data.startswith(FORMAT) or (len(data) - len(FORMAT)) % size:
            raise ValueError("these octets are not a state of this version's delimiter: start the stream from its beginning")
        return State(np.frombuffer(data, "<i8", offset=len(FORMAT)).astype(np.int64).reshape(-1, STATE_FIELDS))


ROW_FIELDS = 10


@dataclass(frozen=True)
class Rows:
    """Rows of many directions in order; each direction's rows meet end to end."""

    direction: I64
    """Index of the direction, as in `Runs`."""
    offset: I64
    """Stream offset of the first octet."""
    position: I64
    """Where the octets are in the buffer; -1 for a gap."""
    length: I64
    kind: I64
    delimited_by: I64
    """For frames, else -1."""
    syntax: I64
    """Bits of `stompcap.stomp.syntax.Syntax` that the delimiter noticed."""
    body: I64
    """For frames, and partial ones whose head is whole: where the body begins, from the row's first octet; else -1."""
    command: I64
    """For frames and partial ones: index into `grammar.COMMANDS`, -1 for unknown commands; -1 for other kinds."""
    lines: I64
    """For frames and partial ones: whole header lines; else 0."""
    state: State = field(default_factory=lambda: State(np.zeros((0, STATE_FIELDS), np.int64)))
    """State of all directions behind these rows."""

    def __len__(self) -> int:
        return int(self.direction.size)

    @property
    def pending(self) -> I64:
        """See `State.pending`."""
        return self.state.pending

    def take(self, which: I64 | Bools) -> Rows:
        """The rows selected by an index or a mask; the state is unchanged."""
        columns = {f.name: getattr(self, f.name)[which] for f in fields(self) if f.name != "state"}
        return Rows(**columns, state=self.state)

    def frames(self) -> Rows:
        """The rows of kind frame."""
        return self.take(self.kind == FRAME)
