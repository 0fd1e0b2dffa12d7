"""Plain TCP: its octets are those that it carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from stompcap.capture.files import Source
from stompcap.tcp.results import Reassembly
from stompcap.transport.carried import Carried
from stompcap.transport.keys import KeyLog, no_keys
from stompcap.transport.stretches import Stretches


def carried(reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source], keys: Callable[[], KeyLog] = no_keys) -> Carried:
    """The streams of a reassembly of these segments, as they are; `keys` open what layers above find in them."""
    sides = reassembly.streams.sides
    return Carried(Stretches.of_extents(reassembly.extents), sides.octets, sides.synced, reassembly.over, segments, sources, keys=keys)
