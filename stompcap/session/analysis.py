"""What a step of the session machine takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from stompcap.columns import I64, Bools
from stompcap.session.clocks import Clocks
from stompcap.session.dialogue import Dialogue
from stompcap.session.facts import Facts, SessionFacts
from stompcap.session.firsts import OfSessions
from stompcap.session.layout import Records


@dataclass(frozen=True)
class StepInput:
    """What is new of some streams; tables of the lake's columns, `rows` (raw_frames) need not have their octets.

    streams   one row per stream, by what is known of it now; of its close, all that was captured before `upto`. The times of FIN and RST
              stand in it as `fin_ns_c2s`, `fin_ns_s2c` and `rst_ns`
    stalls    stream_id, direction, kind, begin_ns, end_ns: zero windows and retransmissions excuse silences; steps of clocks have a wire
              order (`place`)
    upto      per row of `streams`, in wire order: all rows whose last octet stands before it are here or were so in earlier steps
    closing   per row of `streams`: it is over, or is to be emitted as it stands
    """

    streams: pa.Table
    rows: pa.Table
    frames: pa.Table
    segments: pa.Table
    stalls: pa.Table
    upto: I64
    closing: Bools


@dataclass(frozen=True)
class Analysis:
    """What a step of sessions meant.

    tables    rows that are final in this step, by table, of exactly the lake's schemas: subscriptions, deliveries, transactions,
              receipts, sends, heartbeat_violations, and heartbeats of the sessions that close; `sessions` has all of the step
    dialogue  the frames in wire order
    facts     what was found out about each frame
    sessions  and about each session
    first     the first frames of each session by kind (stompcap.session.firsts.KINDS)
    closing   per session: it is over
    clocks    which times can be compared
    subscriptions, transactions, receipts, deliveries, sends  all that are open, or were so lately; `final` those emitted in this step
    """

    tables: dict[str, pa.Table] = field(repr=False)
    dialogue: Dialogue = field(repr=False)
    facts: Facts = field(repr=False)
    sessions: SessionFacts = field(repr=False)
    first: Mapping[str, OfSessions] = field(repr=False)
    closing: Bools
    clocks: Clocks
    subscriptions: Records = field(repr=False)
    transactions: Records = field(repr=False)
    receipts: Records = field(repr=False)
    deliveries: Records = field(repr=False)
    sends: Records = field(repr=False)
