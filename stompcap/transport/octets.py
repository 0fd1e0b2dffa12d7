"""The octets of stretches, read back to back into one buffer, and what of them is contiguous."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from stompcap.capture.files import Source
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.tcp.octets import octets_at
from stompcap.transport.stretches import Stretches


def read(stretches: Stretches, segments: pa.Table, sources: Mapping[int, Source]) -> Octets:
    """The octets of stretches back to back, wherever they lie: in captures, in the spilled payload, or in what segments carry."""
    return octets_at(stretches.at, stretches.skip, stretches.length, segments, sources)


def runs(direction: I64, offset: I64, length: I64, unsure: Bools, synced: Bools, final: Bools, total: I64) -> Runs:
    """Stretches that lie back to back, as the delimiter takes them: those that meet end to start as one run.

    `synced`, `final` and `total` are of each direction.
    """
    begins = np.ones(direction.size, np.bool_)
    begins[1:] = (direction[1:] != direction[:-1]) | (offset[1:] != offset[:-1] + length[:-1])
    starts = np.flatnonzero(begins)
    position = np.cumsum(length) - length
    lengths = np.add.reduceat(length, starts) if starts.size else np.empty(0, np.int64)
    return Runs(direction[starts].astype(np.int32), position[starts], lengths, offset[starts], synced, final, total, unsure[starts])
