"""Small flows that are reassembled together follow each other by time, and the rows of each stay in wire order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.capture import SEGMENTS
from stompcap.columns import column
from stompcap.tcp.flows import flow_edges, in_wire_order


def test_flows_follow_each_other_by_the_times_of_their_first_packets() -> None:
    chance, rows = np.random.default_rng(1), 2_000
    flow = chance.integers(-30, 30, rows)
    filled = {field.name: pa.array([b"" if pa.types.is_binary(field.type) else 0] * rows).cast(field.type) for field in SEGMENTS}
    filled |= {
        "flow": pa.array(flow), "packet": pa.array(chance.permutation(rows)), "ts_ns": pa.array(chance.integers(0, 10**12, rows)),
        "endpoints": pa.array([str(one).encode() for one in flow.tolist()], SEGMENTS.field("endpoints").type),
    }  # fmt: skip
    segments = pa.table({name: filled[name].cast(SEGMENTS.field(name).type) for name in SEGMENTS.names})
    made = in_wire_order(segments)
    edges = flow_edges(made)
    assert len(edges) - 1 == len(np.unique(flow))
    assert (np.diff(column(made, "ts_ns")[edges[:-1]]) >= 0).all()
    packets = np.split(column(made, "packet"), edges[1:-1])
    assert all((np.diff(of_flow) > 0).all() for of_flow in packets)
    assert in_wire_order(segments.slice(0, 0)).num_rows == 0
