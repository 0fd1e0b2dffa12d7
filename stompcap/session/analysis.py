"""What the analysis of sessions takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from stompcap.session.dialogue import Dialogue
from stompcap.session.notes import Annotations
from stompcap.session.outcomes import Machine
from stompcap.session.progress import Progress
from stompcap.session.sums import Sums
from stompcap.settings import Thresholds


@dataclass(frozen=True)
class Options:
    """What the user may choose.

    ack_scope  what a cumulative ACK settles: `subscription` (the specification), `connection` (RabbitMQ), `auto` goes by product
    thresholds  what counts as a late, violating or dead gap between heart-beats
    memory  for how many frames of its session what is settled, answered, ended or unsubscribed is still known by its name: what names
            an older one (a second ACK, a late MESSAGE) counts as naming what never was. Rules wait as long for what decides them
            (stompcap.session.horizon). It bounds what an endless session needs
    open    how much a session may leave open: beyond that it is forgotten, and what depends on it is not told
            (stompcap.session.turns)
    """

    ack_scope: str = "auto"
    thresholds: Thresholds = field(default_factory=Thresholds)
    memory: int = 65_536
    open: int = 524_288


@dataclass(frozen=True)
class Analysis:
    """What sessions meant.

    tables    Arrow tables by name, of exactly the lake's schemas: sessions, subscriptions, deliveries, transactions, receipts,
              heartbeats, heartbeat_violations; rows of `sessions` follow `dialogue.streams`
    dialogue  the frames in wire order
    notes     what was noticed about each frame
    progress  what of it is new, where sessions come in pieces
    machine   the numbers behind the tables
    sums      what adds up over the pieces
    memory    as in Options
    """

    tables: dict[str, pa.Table] = field(repr=False)
    dialogue: Dialogue = field(repr=False)
    notes: Annotations = field(repr=False)
    progress: Progress = field(repr=False)
    machine: Machine = field(repr=False)
    sums: Sums = field(repr=False)
    memory: int
