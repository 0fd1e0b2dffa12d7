"""Captures to sessions in this process, without Spark and without a lake: reassembly, delimiter, decoder, session machine, rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stompcap.assembly.captures import MOST_OCTETS, Packets
from stompcap.assembly.captures import read as read_into
from stompcap.capture_point_warnings import Pair
from stompcap.errors import CaptureError
from stompcap.tables.words import DIRECTIONS
from stompcap.unread import refusals

if TYPE_CHECKING:
    import pyarrow as pa

    from stompcap.cli.dialogue.lines import Dialogue
    from stompcap.options import Options

WINDOW = 1 << 24
OCTETS = ("octets", "outer_octets")
FIRST_ROWS, MOST_ROWS = 1 << 10, 1 << 15
"""Segments of flows that are taken at once: at first, and at most."""
WANTED = ("sessions", "deliveries", "heartbeats", "heartbeat_violations", "compliance_findings")
KEPT = ("streams", "raw_frames", "frames", "transports", "transport_events")
WHAT = ("stream_id", "protocol", "transport", "server_port", "origin_source", *(f"{name}_{way}" for name in OCTETS for way in DIRECTIONS))
Row = Mapping[str, Any]


@dataclass
class Trace(Packets):
    """Packets, and what is found in them besides sessions."""

    others: dict[str, Row] = field(default_factory=dict)
    """Rows of table streams, by id, of connections with octets that do not speak STOMP; complete when all sessions were taken."""

    shared: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])
    """How many packets captures of two points have in common, by their ranks, first that which gives the rows; complete likewise."""

    with_raw: bool = False
    """Whether dialogues have the octets of their rows."""

    @property
    def points(self) -> list[Pair]:
        """Captures of two points."""
        counts: Counter[int] = Counter()
        for table in self.segments:
            counts[table.column(0)[0].as_py()] += table.num_rows
        rows = [{"path": path, "tcp_segments": counts[rank]} for rank, path in enumerate(self.paths)]
        return [(rows[one], rows[other], packets) for (one, other), packets in self.shared.items()]

    def dialogues(self, options: Options) -> Iterator[Dialogue]:
        """Its sessions in order of time: flows that begin early are taken first, few at first, so that the first session comes soon."""
        import numpy as np
        import pyarrow as pa

        from stompcap.tcp.flows import in_wire_order

        if not self.segments:
            return
        segments = pa.concat_tables(self.segments)
        flows, flow = np.unique(segments.column("flow").to_numpy(), return_inverse=True)
        first = np.full(len(flows), np.iinfo(np.int64).max)
        np.minimum.at(first, flow, segments.column("ts_ns").to_numpy())
        order = np.argsort(first, kind="stable")
        behind = np.cumsum(np.bincount(flow)[order])
        begin, at_once = 0, FIRST_ROWS
        waiting: list[Dialogue] = []
        while begin < len(order):
            end = max(int(np.searchsorted(behind, (behind[begin - 1] if begin else 0) + at_once, "right")), begin + 1)
            in_part = np.zeros(len(flows), np.bool_)
            in_part[order[begin:end]] = True
            some = in_wire_order(segments.take(pa.array(np.flatnonzero(in_part[flow]))))
            waiting += sessions_of(some, self.paths, self.last_ns, options, trace=self)
            waiting.sort(key=lambda one: (one.session["opened_ns"] or 0, one.stream_id))
            begin, at_once = end, min(4 * at_once, MOST_ROWS)
            until = first[order[begin]] if begin < len(order) else np.iinfo(np.int64).max
            while waiting and (waiting[0].session["opened_ns"] or 0) <= until:
                yield waiting.pop(0)


def sessions_of(
    segments: pa.Table, paths: Sequence[str], now_ns: int, options: Options, passcodes: dict[bytes, frozenset[bytes]] | None = None,
    trace: Trace | None = None,
) -> list[Dialogue]:
    """The sessions of segments in wire order; `now_ns` is the latest capture time, `passcodes` as for the assembly.

    What else is found goes to the `trace` that they are of.
    """
    import pyarrow as pa

    from stompcap.assembly import Assembly, SessionAnalyser
    from stompcap.cli.dialogue.lines import dialogues
    from stompcap.tables import TABLES
    from stompcap.tables.unknown_times import without_zero

    ids = [str(rank) for rank in range(len(paths))]
    analyser = SessionAnalyser({name: rank for rank, name in enumerate(ids)}, options, lambda name: name in WANTED)
    found: dict[str, list[pa.Table]] = {}
    with_raw = trace is not None and trace.with_raw
    machines = Assembly(list(zip(paths, ids, strict=True)), "", options, WINDOW, now_ns=now_ns, passcodes=passcodes)
    machines.with_clocks(trace.clocks if trace is not None else ())
    for part in analyser.analysed(machines.parts(segments)):
        for name, table in part.tables.items():
            if name in KEPT or name in WANTED:
                found.setdefault(name, []).append(table.drop_columns("raw") if name == "raw_frames" and not with_raw else table)
    tables = {name: without_zero(TABLES[name], pa.concat_tables(some)) for name, some in found.items()}
    if trace is not None:
        trace.shared.update(machines.points.shared)
        refused = refusals(tables["transports"].to_pylist()) if "transports" in tables else {}
        _enter_others(trace.others, tables["streams"], refused)
    return dialogues(tables, dict(zip(ids, paths, strict=True)))


def _enter_others(others: dict[str, Row], streams: pa.Table, refused: Mapping[str, str]) -> None:
    """Enter connections with octets that do not speak STOMP, as far as is known now."""
    for row in streams.select(WHAT).to_pylist():
        inner, outer = (row[f"{name}_c2s"] + row[f"{name}_s2c"] for name in OCTETS)
        if row["protocol"] == "stomp":
            others.pop(row["stream_id"], None)
        elif outer and (inner or row["origin_source"] is None):  # else a balancer's probe
            others[row["stream_id"]] = row | {"connections": 1, "refused": refused.get(row["stream_id"])}


def read(paths: Sequence[str], options: Options, refuse: Callable[[CaptureError], None], most: int = MOST_OCTETS) -> Trace:
    """The packets of these captures; one that cannot be read, or that would be too much, is refused and left out."""
    trace = Trace()
    read_into(trace, paths, options, refuse, most)
    return trace
