"""The records of heart-beats: one per direction with an interval agreed on, their fields one line each (stompcap.session.layout)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from stompcap.columns import I64
from stompcap.session.layout import Field, Layout

BUCKETS = tuple(f"bucket_{number}" for number in range(24))
"""How many of the times between arrivals lie up to each of EDGES, and behind the last."""

EDGES = np.exp2((np.arange(len(BUCKETS) - 1) - 12) / 4)
"""Upper ends of buckets, in intervals: an eighth to 5.7, four an octave."""


class Heartbeat(NamedTuple):
    """The directions that are watched as columns of numbers."""

    session: I64
    side: Annotated[I64, Field(0)]
    now_ns: Annotated[I64, Field()]  # the arrival that it was judged up to
    steps: Annotated[I64, Field(0, before=0)]  # how often its clock had stepped before that
    longest_ns: Annotated[I64, Field(0)]  # the longest silence
    worst: Annotated[I64, Field(0)]  # the worst severity of one that nothing excuses
    cut_ns: Annotated[I64, Field(0)]  # how long it had been silent when the other side closed for that
    beats: Annotated[I64, Field(0, columns=("beats",))]
    gaps: Annotated[I64, Field(0, columns=("gaps",))]
    late: Annotated[I64, Field(0, columns=("late",))]
    violations: Annotated[I64, Field(0, columns=("violations",))]
    dead: Annotated[I64, Field(0, columns=("dead",))]
    excused: Annotated[I64, Field(0)]
    measured: Annotated[I64, Field(0, before=0)]  # times between arrivals, those to the end apart
    total_ns: Annotated[I64, Field(0, before=0)]  # their sum
    squares: Annotated[I64, Field(0, before=0)]  # the sum of their squares in square milliseconds: the bits of a float64


LAYOUT = Layout(Heartbeat, alike={name: Field(0, before=0) for name in BUCKETS})
