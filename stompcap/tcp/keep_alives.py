"""Keep-alives that look as if the sender's last octet had come again, because nobody had acknowledged it by then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from stompcap.capture.files import Source
from stompcap.capture.segment_columns import NOT_KEPT
from stompcap.columns import column
from stompcap.tcp.octets import captured_twice, gather
from stompcap.tcp.results import Reassembly, Retransmissions


def without_keep_alives(reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source]) -> Reassembly:
    """A reassembly in which a lone octet that differs from the one there was not sent again: a keep-alive has any (RFC 9293, 3.8.4)."""
    overlaps = reassembly.overlaps
    lone = (overlaps.length == 1) & (column(segments, "wire_octets")[overlaps.row] == 1)
    if not lone.any():
        return reassembly
    one, two = captured_twice(replace(reassembly, overlaps=overlaps.take(lone)))
    earlier = column(segments, "earlier")
    there = (earlier[one.row] < NOT_KEPT) & (earlier[two.row] == earlier[one.row])
    one, two = one.take(there), two.take(there)
    differs = gather(one, segments, sources) != gather(two, segments, sources)
    again = np.maximum(one.row, two.row)[differs]
    side = np.where(column(segments, "forward"), 0, 1)
    probes = set(zip(reassembly.stream_of[again].tolist(), side[again].tolist(), column(segments, "ts_ns")[again].tolist(), strict=True))
    r = reassembly.retransmissions
    kept = np.array([key not in probes for key in zip(r.stream.tolist(), r.side.tolist(), r.ts_ns.tolist(), strict=True)], np.bool_)
    ignored = np.zeros(len(overlaps), np.bool_)
    ignored[np.flatnonzero(lone)[np.flatnonzero(there)[differs]]] = True
    return replace(
        reassembly, overlaps=overlaps.take(~ignored), retransmissions=Retransmissions(r.stream[kept], r.side[kept], r.ts_ns[kept])
    )
