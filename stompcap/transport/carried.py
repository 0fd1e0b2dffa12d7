"""What one layer hands on to the next, and the last one to the delimiter: streams of octets, and where to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from stompcap.capture.files import Source
from stompcap.columns import I64, Bools, Octets, column
from stompcap.tcp.join import end_to_end
from stompcap.transport.events import Event, Events
from stompcap.transport.keys import KeyLog, no_keys
from stompcap.transport.octets import read
from stompcap.transport.stretches import Stretches


@dataclass(frozen=True)
class Carried:
    """The streams of a reassembly, as a layer gives their octets. Arrays of shape (streams, 2) have the side as second index.

    stretches  the octets that can be read
    octets     per side, how long its stream is so far, missing octets included
    synced     per side, whether offset 0 is its true beginning
    final      per stream, whether all of it is there
    segments   the rows that stretches point to: those that were reassembled, and behind them those that carry what layers have opened
    sources    the captures by rank, and the spilled payload
    opened     of each row that a layer has added, the row of the segment by which its octets can be read
    events     what layers have said beside their payload
    keys       gives the secrets of TLS connections that are at hand
    expected   per stream, whether STOMP is expected on the server's port; None where nobody asks
    """

    stretches: Stretches
    octets: I64
    synced: Bools
    final: Bools
    segments: pa.Table
    sources: Mapping[int, Source]
    opened: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    events: Events = ()
    keys: Callable[[], KeyLog] = no_keys
    expected: Bools | None = None

    def __len__(self) -> int:
        return len(self.final)

    @cached_property
    def bounds(self) -> I64:
        """Where the stretches of each side of each stream begin, and where the last end."""
        return np.searchsorted(self.stretches.direction, np.arange(2 * len(self) + 1))

    @cached_property
    def ts_ns(self) -> I64:
        """The time of each row."""
        return column(self.segments, "ts_ns")

    def of(self, streams: I64) -> I64:
        """The indices of the stretches of these streams, in their order."""
        begins, ends = self.bounds[2 * streams], self.bounds[2 * streams + 2]
        counts = ends - begins
        found: I64 = np.arange(int(counts.sum())) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        return found

    def read(self, stretches: Stretches) -> Octets:
        """The octets of some stretches, back to back."""
        return read(stretches, self.segments, self.sources)

    def adding(self, rows: I64, sizes: I64, octets: bytes | Octets) -> tuple[Carried, I64]:
        """The same with rows that carry octets which a layer has opened, so many in each, by the segments `rows`; and these rows."""
        before, payload = self.segments.drop_columns("payload"), self.segments.column("payload")
        added = before.take(pa.array(rows))
        for name, values in (("file_offset", np.full(rows.size, -1)), ("captured_octets", sizes)):
            field = added.schema.field(name)
            added = added.set_column(added.schema.get_field_index(name), field, pa.array(values).cast(field.type))
        nulls = len(payload) if payload.null_count == len(payload) else 0
        filled = _payload(nulls, sizes, octets) if nulls else pa.chunked_array([*payload.chunks, _payload(0, sizes, octets)])
        place, field = self.segments.schema.get_field_index("payload"), self.segments.schema.field("payload")
        segments = pa.concat_tables([before, added]).add_column(place, field, filled).combine_chunks()
        return replace(self, segments=segments, opened=np.append(self.opened, rows)), self.segments.num_rows + np.arange(rows.size)

    def telling(self, events: Iterable[Event]) -> Carried:
        """The same with more that a layer said."""
        return replace(self, events=(*self.events, *events))

    def giving(self, streams: I64, stretches: Stretches, octets: I64, synced: Bools) -> Carried:
        """The same with what a layer gives of these streams: their octets, how long each side is, and whether it is synced."""
        others = np.ones(len(self), np.bool_)
        others[streams] = False
        found = end_to_end([self.stretches.take(others[self.stretches.stream]), stretches]).in_order()
        lengths, beginnings = self.octets.copy(), self.synced.copy()
        lengths[streams], beginnings[streams] = octets, synced
        return replace(self, stretches=found, octets=lengths, synced=beginnings)


def _payload(nulls: int, sizes: I64, octets: bytes | Octets) -> pa.Array:
    """A column of so many nulls, and behind them rows with so many of the octets each, which are not copied."""
    ends = np.concatenate((np.zeros(nulls + 1, np.int64), np.cumsum(sizes)))
    offsets = pa.array(ends).cast(pa.int32())  # refuses what is too large
    valid = np.packbits(np.arange(ends.size - 1) >= nulls, bitorder="little") if nulls else None
    buffers = [pa.py_buffer(valid) if nulls else None, offsets.buffers()[1], pa.py_buffer(octets)]
    return pa.Array.from_buffers(pa.binary(), ends.size - 1, buffers)
