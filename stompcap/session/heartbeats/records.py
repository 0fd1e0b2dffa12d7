"""The records of heart-beats: one per direction with an interval agreed on, their fields one line each (stompcap.session.layout)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stompcap.columns import I64
from stompcap.session.layout import Field, Layout


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


LAYOUT = Layout(Heartbeat)
