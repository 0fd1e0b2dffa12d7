"""One connection of some captures, with all that the machines give for it: columns of reassembly and detection, and its rows by table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from stompcap import tcp
from stompcap.assembly import Assembly, SessionAnalyser, addresses
from stompcap.cli.trace.section import Row
from stompcap.cli.tracing import WINDOW, Trace
from stompcap.codes import HIGH, LOW
from stompcap.errors import UsageError
from stompcap.options import Options
from stompcap.tables import TABLES
from stompcap.tables.unknown_times import without_zero
from stompcap.tables.words import DIRECTIONS
from stompcap.tcp.capture_points import CapturePoints
from stompcap.tcp.flows import in_wire_order
from stompcap.tcp.keep_alives import without_keep_alives
from stompcap.tcp.results import Reassembly, Streams
from stompcap.transport import plain
from stompcap.transport.detect import Detected, detect
from stompcap.units import endpoint
from stompcap.visible import visible

DIGITS = re.compile(r"[0-9a-f]{1,20}")
NAMED = 5
"""How many candidates an error names."""


@dataclass(frozen=True)
class Connection:
    """A connection: stream number `stream` of a reassembly of `segments`; rows of tables are its own alone."""

    stream: int
    segments: pa.Table
    reassembly: Reassembly
    detected: Detected
    client: int
    tables: Mapping[str, Sequence[Row]]
    captures: Sequence[str]

    def way(self, side: int) -> str:
        """The direction of what a side sent."""
        return DIRECTIONS[side ^ self.client]

    def end(self, side: int) -> str:
        """The endpoint of a side."""
        return _end(self.reassembly.streams, self.stream, side)

    def capture(self, rank: int | str | None) -> str | None:
        """The path of a capture, where there are several."""
        return self.captures[int(rank)] if len(self.captures) > 1 and rank is not None else None

    @property
    def row(self) -> Row:
        """Its row of table streams."""
        return self.tables["streams"][0]

    @property
    def session(self) -> Row | None:
        """Its row of table sessions, if it has one."""
        return next(iter(self.tables.get("sessions", ())), None)


def connection(trace: Trace, name: str, options: Options) -> Connection:
    """The connection of a trace with this stream id, first digits of one, or endpoint.

    Raises UsageError where there is none, or several.
    """
    if not trace.segments:
        raise UsageError(f"--trace {visible(name, 60)}: there are no connections")
    segments = in_wire_order(pa.concat_tables(trace.segments))
    ids = [str(rank) for rank in range(len(trace.paths))]
    machines = Assembly(list(zip(trace.paths, ids, strict=True)), "", options, WINDOW, now_ns=trace.last_ns).with_clocks(trace.clocks)
    found, crossed = _tables(machines, segments, ids, options), tcp.as_they_crossed(CapturePoints().marked(segments), machines.clocks)
    reassembly = tcp.reassemble_columns(crossed, options.source, options.overlap, machines.block, options.idle_ns)
    detected = detect(reassembly, plain.carried(reassembly, crossed, machines.sources, machines.keys), options)
    stream = _find(reassembly.streams, name)
    name = reassembly.streams.stream_id[stream]
    own = {table: rows.filter(pc.equal(rows.column("stream_id"), name)) for table, rows in found.items()}
    tables = {table: without_zero(TABLES[table], rows).to_pylist() for table, rows in own.items()}
    (row,) = tables["streams"]
    client = LOW if endpoint(row["client_ip"], row["client_port"]) == _end(reassembly.streams, stream, LOW) else HIGH
    reassembly = without_keep_alives(reassembly, crossed, machines.sources)
    return Connection(stream, crossed, reassembly, detected, client, tables, trace.paths)


def _tables(machines: Assembly, segments: pa.Table, ids: Sequence[str], options: Options) -> dict[str, pa.Table]:
    """All tables of all connections: secrets that one of them gave are masked in the others too."""
    analyser = SessionAnalyser({name: rank for rank, name in enumerate(ids)}, options, lambda _: True)
    found: dict[str, list[pa.Table]] = defaultdict(list)
    for part in analyser.analysed(machines.parts(segments)):
        for name, table in part.tables.items():
            if name != "stream_state":
                found[name].append(table.drop_columns("raw") if name == "raw_frames" else table)
    return {name: pa.concat_tables(some) for name, some in found.items()}


def _find(streams: Streams, name: str) -> int:
    """The number of the stream with this id, first digits of one, or endpoint."""
    wanted, ids = name.strip().lower(), streams.stream_id.to_pylist()
    by_id = DIGITS.fullmatch(wanted) is not None
    found = [
        number for number, name in enumerate(ids)
        if (name.startswith(wanted) if by_id else wanted in (_end(streams, number, LOW), _end(streams, number, HIGH)))
    ]  # fmt: skip
    if len(found) == 1:
        return found[0]
    quoted, some = visible(name, 60), found or range(len(ids))
    candidates = [f"{ids[number]} ({_end(streams, number, LOW)}, {_end(streams, number, HIGH)})" for number in some]
    named = ", ".join(candidates[:NAMED]) + (f" and {len(candidates) - NAMED} more" if len(candidates) > NAMED else "")
    if found:
        raise UsageError(f"--trace {quoted}: {len(found)} connections are named so, give a stream id: {named}")
    raise UsageError(f"--trace {quoted}: no stream id begins so, and no endpoint is called so; there are {named}")


def _end(streams: Streams, stream: int, side: int) -> str:
    address, port = (streams.low, streams.low_port) if side == LOW else (streams.high, streams.high_port)
    return endpoint(addresses.text(address[stream].tobytes()), int(port[stream]))
