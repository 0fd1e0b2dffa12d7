"""One reassembly, window by window, to rows of bronze and frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

import numpy as np
import pyarrow as pa

from stompcap import codes, stomp
from stompcap.assembly.listing import Listing
from stompcap.assembly.parts import HEAVY, LEARNED, SESSION_TABLES, Part, Sessions, only_stomp
from stompcap.assembly.rows import Directions, Lineage, as_empty, as_table, constant, frames, raw_frames, redacted_octets
from stompcap.assembly.streams import stall_rows, stream_rows
from stompcap.assembly.task import Task
from stompcap.assembly.transports import event_rows, signs_of_life, transport_rows
from stompcap.assembly.windows import Window
from stompcap.codes import EOL, FRAME, GAP, NOBODY
from stompcap.columns import I64, Bools, Octets, worded
from stompcap.stomp import grammar
from stompcap.tables import TABLES, words
from stompcap.tcp.results import NO_REPEATS, NO_STALLS, NO_STEPS, ClockSteps, Reassembly, Retransmissions, ZeroWindows
from stompcap.transport import client_side, detect, layers
from stompcap.transport.checks import CHECKS, text_of
from stompcap.transport.stretches import Stretches

NOTHING: Mapping[int, I64] = MappingProxyType({})


class Open(Protocol):
    """The streams of a reassembly that later captures may go on with; it takes what is shown of their octets."""

    streams: Bools

    def ids(self) -> pa.Array:
        """Their ids."""

    def take(self, stretches: Stretches, octets: Octets) -> None:
        """Take the octets of some stretches, back to back, as tables show them."""


class StreamRows:
    """The rows of the streams of one reassembly, window by window; learns clients, protocols and versions.

    `detected` is from `detect.detect`, `conflicts` are per side of each stream. `lasting` are stalls that have not ended: sessions get
    them as they stand, the table does not. `listing` is that of the segments, if some were left from earlier; `given` is how many octets
    the layers of streams have given of each side, where these are not all here.
    """

    def __init__(
        self,
        task: Task,
        reassembly: Reassembly,
        detected: detect.Detected,
        conflicts: I64,
        going_on: Open | None = None,
        lasting: ZeroWindows = NO_STALLS,
        listing: Listing | None = None,
        given: Mapping[int, I64] = NOTHING,
    ) -> None:
        self.task = task
        self.reassembly = reassembly
        self.carried = detected.carried
        self.conflicts = conflicts
        self.lasting = lasting
        self.going_on = going_on if going_on is not None and going_on.streams.any() else None
        self.spoken = client_side.client_by_octets(detected.roles)
        self.protocol = detect.protocols(detected)
        self.transport = detect.transports(detected)
        self.by_layers = np.full(len(reassembly.streams), NOBODY, np.int8)  # the client, as layers show it
        self.by_layers[list(detected.stacks)] = [layers.client_of(stack) for stack in detected.stacks.values()]
        self.client = client_side.clients(reassembly, self.spoken, self.by_layers, task.options)
        self.passcodes: dict[int, frozenset[bytes]] = {}  # of streams that go on in another window
        self.version, self.version_source, self.possible = (np.full(len(reassembly.streams), -1, np.int8) for _ in range(3))
        self.layered = np.zeros(len(self.carried), np.bool_)
        self.layered[list(detected.stacks)] = True
        self.summaries = {stream: layers.summaries_of(stack) for stream, stack in detected.stacks.items()}
        segments = self.carried.segments
        ts_ns, packet, captured = (segments.column(name).to_numpy() for name in ("ts_ns", "packet", "capture"))
        self.lineage = Lineage(ts_ns, packet, captured, task.capture_ids, reassembly.acked_ns)
        self.given = self._given(given)
        self.signs = signs_of_life(self.carried.events, ts_ns)
        self.listing = listing or Listing.of(np.arange(segments.num_rows), self.carried.stretches)

    def _given(self, before: Mapping[int, I64]) -> I64:
        """Of each side of streams that are read through layers, how many octets these gave; -1 of the others."""
        came = self.carried.stretches
        here = np.bincount(came.direction, came.length, 2 * len(self.carried)).astype(np.int64).reshape(-1, 2)
        found: I64 = np.where((self.transport != codes.TRANSPORT_TCP)[:, None] & self.layered[:, None], here, -1)
        for stream, octets in before.items():
            found[stream] = octets
        return found

    def learned(self, stream: int) -> dict[str, int]:
        """What was learned of a stream."""
        return {name: int(getattr(self, name)[stream]) for name in LEARNED}

    def know(self, stream: int, learned: dict[str, int]) -> None:
        """Take over what was learned of a stream before."""
        for name, value in learned.items():
            getattr(self, name)[stream] = value

    def parts(self, window: Window) -> Iterator[Part]:
        """The rows of a window, then the sessions made of them."""
        part = self._part(window)
        yield part
        yield Part({}, self._sessions(window, part), part.going_on)

    def others(self, streams: I64) -> Part:
        """The rows of streams whose octets are not kept."""
        tables = {"streams": self.streams(streams)} | self._transports(streams)
        return Part(tables, going_on=self._ids())

    def events(self, which: Bools) -> Iterator[Part]:
        """What layers of these streams said, if they said something."""
        found = event_rows(
            self.reassembly.streams.stream_id, which, self.carried.events, self.client, self.lineage, self.task.batch_id
        )  # fmt: skip
        if found.num_rows:
            yield Part({"transport_events": found}, going_on=self._ids())

    def without_octets(self, streams: I64) -> Iterator[Part]:
        """The signs of life of streams that go on, none of whose octets were in a window."""
        streams = streams[np.isin(streams, self.signs.stream)]
        if not streams.size:
            return
        stalls = self._stalls(streams, NO_STALLS, NO_REPEATS, self.signs, NO_STEPS)
        yield Part({"stalls": stalls}, going_on=self._ids())
        empty = {name: as_empty(name).drop_columns([one for one in HEAVY if one in TABLES[name].arrow.names]) for name in SESSION_TABLES}
        checked = self._with_checks(self.streams(streams), streams)
        sessions = Sessions(checked, **(empty | {"stalls": stalls}), upto=np.zeros(len(streams), np.int64))
        yield Part({}, only_stomp(sessions), going_on=self._ids())

    def _part(self, window: Window) -> Part:
        a, streams = self.task, window.streams
        if window.first.any():
            self._learn(window.of(window.first))
        side = (np.tile(np.array([0, 1], np.int8), streams.size) ^ np.repeat(self.client[streams], 2)).astype(np.int8)
        of = np.repeat(streams, 2)
        directions = Directions(self.reassembly.streams.stream_id.take(pa.array(of)), side)
        view = redacted_octets(window.octets, window.rows, a.options, self._passcodes(window))
        if self.going_on is not None:
            self.going_on.take(window.stretches, view.octets)
        raw = raw_frames(view, window.rows, window.arrivals, directions, self.lineage, a.batch_id)
        versions = stomp.Versions(self.version, self.version_source, self.possible).take(of)
        tables = {"raw_frames": raw, "frames": frames(view, window.rows, raw, versions, a.options)}
        if window.fresh.any():
            found = self.reassembly
            tables["stalls"] = self._stalls(streams[window.fresh], found.zero_windows, found.retransmissions, self.signs, found.clock_steps)
        if (last := window.last).any():
            tables["streams"] = self.streams(streams[last])
            tables |= self._transports(streams[last])
        tables["segments"] = self._segments(window)
        return Part(tables, going_on=self._ids())

    def _ids(self) -> pa.Array | None:
        """The ids of streams that later captures may go on with."""
        return None if self.going_on is None else self.going_on.ids()

    def _passcodes(self, window: Window) -> stomp.Passcodes:
        """What the connections of a window have given as secrets so far, and under -1 all others; none where they are to be kept."""
        if self.task.options.keep_credentials:
            return {}
        known = {number: self.passcodes[stream] for number, stream in enumerate(window.streams.tolist()) if stream in self.passcodes}
        before = self.task.passcodes
        ends = [self._ends(stream) for stream in window.streams.tolist()] if before is not None else []
        for number, one in enumerate(ends):
            if before and one in before:
                known[number] = known.get(number, frozenset()) | before[one]
        found = stomp.passcodes_of(window.octets, window.rows, known, self.task.names)
        self.task.secrets = self.task.secrets.union(*found.values())
        if before is not None:
            before.update((ends[number], passcodes) for number, passcodes in found.items())
        going_on = ~window.last
        self.passcodes |= {int(window.streams[number]): passcodes for number, passcodes in found.items() if going_on[number]}
        return {**found, -1: self.task.secrets}

    def _ends(self, stream: int) -> bytes:
        """The endpoints of a stream, as SEGMENTS has them."""
        s = self.reassembly.streams
        low, high = (int(port[stream]).to_bytes(2, "big") for port in (s.low_port, s.high_port))
        return bytes(s.low[stream]) + low + bytes(s.high[stream]) + high

    def _sessions(self, window: Window, part: Part) -> Sessions:
        """The STOMP sessions of a window's rows, or pieces of them."""
        tables = {name: _light(part.tables[name]) for name in ("raw_frames", "frames", "segments")}
        streams = part.tables["streams"] if window.last.all() else self.streams(window.streams)
        stalls = part.tables.get("stalls", as_empty("stalls"))
        if len(self.lasting.stream):
            stalls = pa.concat_tables([stalls, self._stalls(window.streams, self.lasting, NO_REPEATS, NO_REPEATS, NO_STEPS)])
        checked = self._with_checks(streams, window.streams)
        return only_stomp(Sessions(checked, **tables, stalls=stalls, upto=None if (window.first & window.last).all() else window.upto))

    def _with_checks(self, streams: pa.Table, which: I64) -> pa.Table:
        """Rows of table streams with what rules take of the layers below."""
        checks = {
            stream: text_of((check for one in self.summaries.get(stream, ()) for check in one.checks), int(self.client[stream]))
            for stream in set(which.tolist()) & self.summaries.keys()
        }
        return streams.append_column(CHECKS, pa.array([checks.get(stream) for stream in which.tolist()], pa.string()))

    def _stalls(
        self, streams: I64, closed: ZeroWindows, again: Retransmissions, signs: Retransmissions, steps: ClockSteps
    ) -> pa.Table:
        """Rows of table stalls of these streams."""
        among = np.zeros(len(self.reassembly.streams), bool)
        among[streams] = True
        steps = self._in_wire_order(steps)
        return stall_rows(self.reassembly.streams.stream_id, closed, again, signs, steps, among, self.client, self.task.batch_id)

    def _in_wire_order(self, steps: ClockSteps) -> ClockSteps:
        """Steps of clocks by the numbers in wire order of the first octets behind them, not by the numbers of packets."""
        came, bounds, order = self.carried.stretches, self.carried.bounds[::2], self.reassembly.ordered[steps.stream] + 1
        for step, stream in enumerate(steps.stream.tolist()):
            part = slice(int(bounds[stream]), int(bounds[stream + 1]))
            behind = self.listing.number[came.row[part]] + 1 >= steps.place[step]
            order[step] = came.order[part].min(where=behind, initial=order[step])
        return replace(steps, place=order)

    def streams(self, which: I64) -> pa.Table:
        """Rows of table streams."""
        a = self.task
        final = np.ones(len(self.reassembly.streams), np.bool_) if self.going_on is None else ~self.going_on.streams
        # inside TLS or WebSocket that nothing was read through, no octets are known
        octets = np.where(((self.transport == codes.TRANSPORT_TCP) | self.layered)[:, None], self.carried.octets, 0)
        return stream_rows(
            self.reassembly, which, self.client, self.protocol, self.transport, octets, self.conflicts, final, self.summaries, self.given,
            a.options.source, a.batch_id,
        )  # fmt: skip

    def _transports(self, which: I64) -> dict[str, pa.Table]:
        """Rows of table transports, if these streams have layers."""
        found = transport_rows(self.reassembly.streams.stream_id, which, self.summaries, self.client, self.task.batch_id)
        return {"transports": found} if found.num_rows else {}

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
        self.client[streams] = client_side.clients(self.reassembly, self.spoken, self.by_layers, self.task.options)[streams]
        framed = np.zeros(2 * streams.size, bool)
        framed[rows.direction[is_frame]] = True
        odd = np.zeros(2 * streams.size, bool)
        odd[rows.direction[~np.isin(rows.kind, (FRAME, EOL, GAP))]] = True
        some = np.zeros(2 * streams.size, bool)
        some[rows.direction[rows.kind == EOL]] = True
        speaks = framed.reshape(-1, 2).any(axis=1) | (some & ~odd).reshape(-1, 2).any(axis=1) & ~odd.reshape(-1, 2).any(axis=1)
        self.protocol[streams[speaks]] = codes.PROTOCOL_STOMP
        side = (np.tile(np.array([0, 1], np.int8), streams.size) ^ np.repeat(self.client[streams], 2)).astype(np.int8)
        self.version[streams], self.version_source[streams], self.possible[streams] = stomp.negotiate(
            window.octets, rows, np.repeat(np.arange(streams.size), 2), side, streams.size
        )

    def _segments(self, window: Window) -> pa.Table:
        """Rows of table segments: by which packet octets can be read. One by which several stretches can is one row, at its first."""
        index = self.carried.of(window.streams)
        came, stretches = self.listing.order[self.carried.stretches.row[index]], np.diff(self.carried.bounds[::2])[window.streams]
        e = self.carried.stretches.take(index[(came >= np.repeat(window.since, stretches)) & (came < np.repeat(window.upto, stretches))])
        rows, first, inverse = np.unique(self.listing.packet[e.row], return_index=True, return_inverse=True)
        octets = np.bincount(inverse, weights=e.length, minlength=rows.size).astype(np.int64)
        order = np.argsort(first, kind="stable")
        first, rows, octets = first[order], rows[order], octets[order]
        stream, side = e.stream[first], e.side[first]
        columns: dict[str, pa.Array] = {
            "stream_id": self.reassembly.streams.stream_id.take(pa.array(stream)),
            "direction": worded(side ^ self.client[stream], words.DIRECTIONS),
            "ts_ns": pa.array(self.lineage.ts_ns[rows]),
            "stream_offset": pa.array(e.offset[first]),
            "new_octets": pa.array(octets),
            "capture_id": self.lineage.capture_ids.take(pa.array(self.lineage.capture[rows])),
            "packet": pa.array(self.lineage.packet[rows]),
            "wire_order": pa.array(self.listing.order[rows]),
            "batch_id": constant(self.task.batch_id, rows.size),
        }
        return as_table("segments", columns)


def _light(table: pa.Table) -> pa.Table:
    """A table without its octets."""
    return table.drop_columns([name for name in HEAVY if name in table.column_names])


