"""What is known of a connection between two steps of its flow, and what of its octets and stalls is needed again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from stompcap.assembly.due import Resumed
from stompcap.assembly.listing import Listing
from stompcap.assembly.resume.connects import NO_CONNECTS, Connects
from stompcap.columns import I64
from stompcap.tcp.results import NO_REPEATS, NO_STALLS, NO_STEPS, ClockSteps, Reassembly, Retransmissions, ZeroWindows
from stompcap.transport.carried import Carried
from stompcap.transport.state import Stack
from stompcap.transport.stretches import Stretches

Stalls = tuple[ZeroWindows, Retransmissions, ClockSteps]
NOT_STALLED = NO_STALLS, NO_REPEATS, NO_STEPS
APART = 1 << 40  # between the numbers of the packets of two flows


@dataclass(frozen=True)
class Underway:
    """A connection that goes on: stream 0 of its `stretches`, which are of rows of `segments`, and of its stalls that have no rows yet.

    `learned` and `resumed` are None where its protocol was not detected yet, the latter also where it is not kept. `passcodes` are
    those that it gave, in memory alone; `connects` is where they stand. `missing` are octets of each side that an earlier run did not keep
    and that cannot be read again. `number` and `order` of each segment: that of its packet in the flow, and the number in wire order of the
    first octets that it brought; `acked_ns`: when it was acknowledged (stompcap.tcp.acknowledged). `layers` are those between TCP and
    STOMP; the stretches are what the innermost of them gives.
    """

    learned: dict[str, int] | None
    resumed: Resumed | None
    conflicts: I64
    stretches: Stretches
    segments: pa.Table
    number: I64
    order: I64
    acked_ns: I64
    stalls: Stalls
    passcodes: frozenset[bytes]
    connects: Connects = NO_CONNECTS
    missing: I64 = field(default_factory=lambda: np.zeros(2, np.int64))
    layers: Stack = ()
    waited: bool = True
    """Whether a block has come since its first octets were final."""

    given: I64 = field(default_factory=lambda: np.full(2, -1))
    """How many octets of each side its layers have given; -1 where TCP carries STOMP itself, or the layers begin again."""


def still_needed(stream: int, carried: Carried, listing: Listing, position: Resumed | None) -> tuple[Stretches, I64]:
    """The stretches of a stream that are needed again, and the rows of their segments."""
    found = carried.stretches.take(slice(int(carried.bounds[2 * stream]), int(carried.bounds[2 * stream + 2])))
    if position is not None:
        undecided = found.offset + found.length > position.state.pending[found.side]
        found = found.take(undecided | (listing.order[found.row] >= position.since))
    return replace(found, stream=np.zeros(len(found), np.int32)).with_own_rows()


def stalls_of(stream: int, reassembly: Reassembly) -> Stalls:
    """The stalls of a stream that no window has had yet."""
    z, r = reassembly.zero_windows, reassembly.retransmissions
    mine, again = z.stream == stream, r.stream == stream
    closed = ZeroWindows(z.stream[mine] - np.int32(stream), z.side[mine], z.begin_ns[mine], z.end_ns[mine])
    steps = reassembly.clock_steps
    own = steps.stream == stream
    number, wire_order = steps.stream[own] - np.int32(stream), steps.place[own] % APART
    steps = ClockSteps(number, steps.side[own], steps.ts_ns[own], wire_order, steps.min_ns[own], steps.max_ns[own])
    return closed, Retransmissions(r.stream[again] - np.int32(stream), r.side[again], r.ts_ns[again]), steps
