"""Segments of whole flows to rows of bronze and frames: reassembly, delimiter and decoder, one after the other, without Spark.

Memory is bounded by a window of octets and by what describes segments and headers; octets of a window are gathered once and become
the `raw` column without another copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap import capture, stomp, tcp
from stompcap.assembly import choice
from stompcap.assembly.rows import Directions, Lineage, as_empty, as_table, coded, constant, frames, raw_frames, shown
from stompcap.assembly.streams import stall_rows, stream_rows
from stompcap.assembly.windows import WINDOW, Window, windows
from stompcap.capture.columns import SPILLED
from stompcap.capture.files import Mapped, Source
from stompcap.options import Options
from stompcap.places import END
from stompcap.places import at as place
from stompcap.stomp import grammar
from stompcap.stomp.rows import EOL, FRAME, GAP
from stompcap.tables import words
from stompcap.tcp.results import Reassembly

Ints = NDArray[np.int64]
HEAVY = ("raw",)  # what sessions and rules never look at


@dataclass(frozen=True)
class Sessions:
    """Rows of STOMP streams without their octets: what the session machine takes.

    The streams are whole where `upto` is None. A large one comes in pieces, `streams` with each: `upto` is the place on the wire that
    all that comes later has before it (stompcap.places.END in the last piece).
    """

    streams: pa.Table
    raw_frames: pa.Table
    frames: pa.Table
    segments: pa.Table
    stalls: pa.Table
    upto: int | None = None


@dataclass(frozen=True)
class Part:
    """Some rows, by table; and the sessions that are told by them, if any."""

    tables: Mapping[str, pa.Table]
    sessions: Sessions | None = None


class Assembly:
    """The way of one batch of captures: `captures` are path and id by rank, `window` the octets held at a time.

    `spilled` gives the payload that segments carried, where it was laid aside.
    """

    def __init__(
        self,
        captures: Sequence[tuple[str, str]],
        batch_id: str,
        options: Options,
        window: int = WINDOW,
        spilled: Callable[[], Source] | None = None,
    ) -> None:
        self.window = window
        self.batch_id = batch_id
        self.options = options
        self.capture_ids = pa.array([name for _, name in captures], pa.string())
        self.sources = _Sources([path for path, _ in captures], spilled)

    def parts(self, flows: pa.Table) -> Iterator[Part]:
        """The rows of whole flows, given as SEGMENTS sorted by flow, endpoints, capture and packet."""
        flows = flows.combine_chunks()
        reassembly = tcp.reassemble_columns(flows, self.options.source, self.options.overlap)
        kept, said = choice.look(reassembly, flows, self.sources, self.options)
        conflicts = tcp.count_conflicts(reassembly, flows, self.sources)
        state = _Batch(self, flows, reassembly, said, conflicts, kept)
        for window in windows(reassembly, kept, flows, self.sources, self.window):
            part = state.part(window)
            yield part
            yield Part({}, state.sessions(window, part))
        others = np.flatnonzero(~kept)
        if others.size:
            yield Part({"streams": state.streams(others)})


class _Sources(Mapping[int, Source]):
    """The captures' octets by rank, each file opened when first asked for, not too many at a time; and what was laid aside."""

    MOST_OPEN = 256

    def __init__(self, paths: Sequence[str], spilled: Callable[[], Source] | None) -> None:
        self.paths = paths
        self.spilled = spilled
        self.open: dict[int, capture.Window] = {}

    def __getitem__(self, rank: int) -> Source:
        if rank == SPILLED and self.spilled:
            return self.spilled()
        if rank not in self.open:
            if len(self.open) == self.MOST_OPEN:
                self.open.pop(next(iter(self.open)))
            self.open[rank] = capture.open_capture(self.paths[rank])
        window = self.open[rank]
        return window if isinstance(window, Mapped) else window.raw

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.paths)))

    def __len__(self) -> int:
        return len(self.paths)


class _Batch:
    """One reassembly on its way through the windows; learns clients, protocols and versions as they pass."""

    def __init__(
        self,
        assembly: Assembly,
        flows: pa.Table,
        reassembly: Reassembly,
        said: NDArray[np.int8],
        conflicts: Ints,
        kept: NDArray[np.bool_],
    ) -> None:
        self.assembly = assembly
        self.reassembly = reassembly
        self.conflicts = conflicts
        self.spoken = choice.spoken_by(said)
        self.protocol = choice.protocols(kept, said)
        self.client = choice.clients(reassembly, self.spoken, assembly.options)
        self.versions = stomp.Versions(*(np.full(len(reassembly.streams), -1, np.int8) for _ in range(3)))
        ts_ns, packet, captured = (flows.column(name).to_numpy() for name in ("ts_ns", "packet", "capture"))
        self.lineage = Lineage(ts_ns, packet, captured, assembly.capture_ids)
        side = reassembly.extents.stream.astype(np.int64)
        self.bounds = np.searchsorted(side, np.arange(len(reassembly.streams) + 1))

    def part(self, window: Window) -> Part:
        """The rows of a window."""
        a, streams = self.assembly, window.streams
        if window.first:
            self._learn(window)
        side = (np.tile(np.array([0, 1], np.int8), streams.size) ^ np.repeat(self.client[streams], 2)).astype(np.int8)
        of = np.repeat(streams, 2)
        directions = Directions(self.reassembly.streams.stream_id.take(pa.array(of)), side)
        view = shown(window.octets, window.rows, a.options)
        raw = raw_frames(view, window.rows, window.placed, directions, self.lineage, a.batch_id)
        tables = {"raw_frames": raw, "frames": frames(view, window.rows, raw, self.versions.take(of), a.options)}
        if window.first:
            among = np.zeros(len(self.reassembly.streams), bool)
            among[streams] = True
            tables["streams"] = self.streams(streams)
            tables["stalls"] = stall_rows(self.reassembly, among, self.client, a.batch_id)
        tables["segments"] = self._segments(window)
        return Part(tables)

    def sessions(self, window: Window, part: Part) -> Sessions:
        """The STOMP sessions that a window's rows tell, or pieces of them."""
        whole = window.first and window.last
        tables = {name: _light(part.tables[name]) for name in ("raw_frames", "frames", "segments")}
        streams = part.tables["streams"] if window.first else self.streams(window.streams)
        stalls = part.tables.get("stalls", as_empty("stalls"))
        return only_stomp(Sessions(streams, **tables, stalls=stalls, upto=None if whole else self._place(window.behind)))

    def _place(self, segment: int) -> int:
        """The place on the wire of a segment row, of -1 the end."""
        return END if segment < 0 else place(int(self.lineage.capture[segment]), int(self.lineage.packet[segment]))

    def streams(self, which: Ints) -> pa.Table:
        """Rows of table streams."""
        a = self.assembly
        return stream_rows(self.reassembly, which, self.client, self.protocol, self.conflicts, a.options.source, a.batch_id)

    def _learn(self, window: Window) -> None:
        """Client, protocol and version of the window's streams, from their frames."""
        streams, rows = window.streams, window.rows
        is_frame = (rows.kind == FRAME) & (rows.command >= 0)
        by_server = np.zeros(rows.kind.size, bool)
        by_server[is_frame] = grammar.FROM_SERVER[rows.command[is_frame]]
        score = np.zeros(2 * streams.size, np.int64)  # client commands less server commands, per direction
        np.add.at(score, rows.direction[is_frame], np.where(by_server[is_frame], -1, 1))
        lead = score[0::2] - score[1::2]
        unclear = self.spoken[streams] < 0
        self.spoken[streams[unclear & (lead > 0)]] = 0
        self.spoken[streams[unclear & (lead < 0)]] = 1
        self.client = choice.clients(self.reassembly, self.spoken, self.assembly.options)
        framed = np.zeros(2 * streams.size, bool)
        framed[rows.direction[is_frame]] = True
        odd = np.zeros(2 * streams.size, bool)
        odd[rows.direction[~np.isin(rows.kind, (FRAME, EOL, GAP))]] = True
        some = np.zeros(2 * streams.size, bool)
        some[rows.direction[rows.kind == EOL]] = True
        speaks = framed.reshape(-1, 2).any(axis=1) | (some & ~odd).reshape(-1, 2).any(axis=1) & ~odd.reshape(-1, 2).any(axis=1)
        self.protocol[streams[speaks]] = choice.STOMP
        side = (np.tile(np.array([0, 1], np.int8), streams.size) ^ np.repeat(self.client[streams], 2)).astype(np.int8)
        found = stomp.negotiate(window.octets, rows, np.repeat(np.arange(streams.size), 2), side, streams.size)
        for known, learnt in zip(self.versions, found, strict=True):
            known[streams] = learnt

    def _segments(self, window: Window) -> pa.Table:
        """Rows of table segments: a segment whose new octets lie in several stretches is one row, at its first."""
        streams = window.streams
        begins, counts = self.bounds[streams], np.diff(self.bounds)[streams]
        index = np.arange(int(counts.sum())) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        came = self.reassembly.extents.row[index]
        e = self.reassembly.extents.take(index[(came > window.since) & ((came < window.behind) | (window.behind < 0))])
        rows, first, inverse = np.unique(e.row, return_index=True, return_inverse=True)
        octets = np.bincount(inverse, weights=e.length, minlength=rows.size).astype(np.int64)
        order = np.argsort(first, kind="stable")
        first, rows, octets = first[order], rows[order], octets[order]
        stream, side = e.stream[first], e.side[first]
        columns: dict[str, pa.Array] = {
            "stream_id": self.reassembly.streams.stream_id.take(pa.array(stream)),
            "direction": coded(words.DIRECTIONS, side ^ self.client[stream]),
            "ts_ns": pa.array(self.lineage.ts_ns[rows]),
            "stream_offset": pa.array(e.offset[first]),
            "new_octets": pa.array(octets),
            "capture_id": self.lineage.capture_ids.take(pa.array(self.lineage.capture[rows])),
            "packet": pa.array(self.lineage.packet[rows]),
            "batch_id": constant(self.assembly.batch_id, rows.size),
        }
        return as_table("segments", columns)


def _light(table: pa.Table) -> pa.Table:
    """A table without its octets."""
    return table.drop_columns([name for name in HEAVY if name in table.column_names])


def only_stomp(sessions: Sessions) -> Sessions:
    """The rows of the streams that speak STOMP."""
    speaks = pa.compute.equal(sessions.streams.column("protocol"), "stomp")
    if pa.compute.all(speaks).as_py():
        return sessions
    streams = sessions.streams.filter(speaks)
    names = streams.column("stream_id").combine_chunks()
    rest = {
        name: (table := getattr(sessions, name)).filter(pa.compute.is_in(table.column("stream_id"), names))
        for name in ("raw_frames", "frames", "segments", "stalls")
    }
    return replace(sessions, streams=streams, **rest)
