"""What one layer hands on to the next, and the last one to the delimiter: streams of octets, and where to read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from stompcap.capture.files import Source
from stompcap.columns import I64, Bools, Octets
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
    """

    stretches: Stretches
    octets: I64
    synced: Bools
    final: Bools
    segments: pa.Table
    sources: Mapping[int, Source]
    opened: I64 = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.final)

    @cached_property
    def bounds(self) -> I64:
        """Where the stretches of each side of each stream begin, and where the last end."""
        return np.searchsorted(self.stretches.direction, np.arange(2 * len(self) + 1))

    def of(self, streams: I64) -> I64:
        """The indices of the stretches of these streams, in their order."""
        begins, ends = self.bounds[2 * streams], self.bounds[2 * streams + 2]
        counts = ends - begins
        found: I64 = np.arange(int(counts.sum())) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        return found

    def read(self, stretches: Stretches) -> Octets:
        """The octets of some stretches, back to back."""
        return read(stretches, self.segments, self.sources)
