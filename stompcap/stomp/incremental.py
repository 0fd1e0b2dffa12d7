"""The delimiter for one stream direction, fed with octets as they come."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from stompcap.codes import GAP
from stompcap.stomp.delimiter import delimit
from stompcap.stomp.delimiter_io import Rows, Runs, State
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the tiling, at `offset` of the stream."""

    kind: str
    """frame, eol, gap, junk or partial."""
    offset: int
    length: int
    octets: bytes | None
    """None for a gap."""
    delimited_by: str | None
    syntax: Syntax


_PLACE = struct.Struct("<?qq")  # synced, end of the octets fed, length of the state that follows


class Delimiter:
    r"""Cuts one direction of a connection into rows; the result does not depend on the chunks.

    >>> delimiter = Delimiter()
    >>> delimiter.feed(b"SEND\ndestination:/queue/a\n\nhel")
    []
    >>> delimiter = Delimiter.restore(delimiter.save())
    >>> [row.kind for row in delimiter.feed(b"lo\x00\n") + delimiter.close()]
    ['frame', 'eol']
    """

    def __init__(self, synced: bool = True) -> None:
        """Start at the stream's true beginning, or (not synced) mid-stream."""
        self._synced = synced
        self._state: State | None = None
        self._pending = bytearray()
        self._end = 0

    def save(self) -> bytes:
        """The delimiter's state, with the octets still undecided (perhaps passcodes among them), for `restore`."""
        state = b"" if self._state is None else self._state.to_bytes()
        return _PLACE.pack(self._synced, self._end, len(state)) + state + bytes(self._pending)

    @classmethod
    def restore(cls, saved: bytes) -> Delimiter:
        """A delimiter with a saved state: it gives the rows that the saved one would have given. ValueError for other octets."""
        if len(saved) < _PLACE.size:
            raise ValueError("these octets are no saved delimiter")
        synced, end, length = _PLACE.unpack_from(saved)
        delimiter = cls(synced)
        behind = _PLACE.size + length
        delimiter._state = State.from_bytes(saved[_PLACE.size : behind]) if length else None
        delimiter._pending = bytearray(saved[behind:])
        delimiter._end = end
        if delimiter._begin() + len(delimiter._pending) != end:
            raise ValueError("these octets are no saved delimiter, or not all of it")
        return delimiter

    def _begin(self) -> int:
        """Stream offset of the first undecided octet."""
        return 0 if self._state is None else int(self._state.pending[0])

    def feed(self, data: bytes) -> list[Row]:
        """Take the next octets; gives the rows that they complete."""
        self._pending += data
        self._end += len(data)
        return self._step(final=False, total=-1)

    def gap(self, length: int) -> list[Row]:
        """Skip octets that are missing; gives the rows before the gap and the gap's own.

        Raises:
            ValueError: where length is negative.
        """
        if length < 0:
            raise ValueError("the length of a gap cannot be negative")
        if length == 0:
            return []
        rows = self._step(final=True, total=self._end + length)
        self._end += length
        return rows

    def close(self) -> list[Row]:
        """The stream ends here: gives the rows of all that was pending."""
        return self._step(final=True, total=self._end)

    def _step(self, final: bool, total: int) -> list[Row]:
        octets = np.frombuffer(self._pending, np.uint8)
        offset = self._begin()
        runs = Runs(
            np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([octets.size], np.int64), np.array([offset], np.int64),
            np.array([self._synced]), np.array([final]), np.array([total], np.int64),
        )
        rows = delimit(octets, runs, self._state)
        self._state = rows.state
        found = [self._row(octets, rows, number) for number in range(len(rows))]
        del octets  # no view of the octets may exist while they are moved
        del self._pending[: max(0, int(rows.pending[0]) - offset)]
        return found

    @staticmethod
    def _row(octets: np.ndarray, rows: Rows, number: int) -> Row:
        begin, length = int(rows.position[number]), int(rows.length[number])
        by = int(rows.delimited_by[number])
        return Row(
            kind=words.RAW_KINDS[rows.kind[number]],
            offset=int(rows.offset[number]),
            length=length,
            octets=None if rows.kind[number] == GAP else octets[begin : begin + length].tobytes(),
            delimited_by=None if by < 0 else words.DELIMITERS[by],
            syntax=Syntax(int(rows.syntax[number])),
        )
