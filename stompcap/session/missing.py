"""Where the capture may have missed octets, as far as a frame is concerned.

A gap lies somewhere between the packet before it and the packet after it: what it hid may have crossed the wire at any time between.
A direction whose beginning was not captured has a gap before everything; one of which nothing was captured is a gap throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.session.columns import chosen
from stompcap.session.dialogue import CLIENT, CONNECT, CONNECTED, FRAME, GAP, I64, SERVER, STOMP, Bools, Dialogue, RawRows
from stompcap.session.horizon import first_above, last_below, rising
from stompcap.session.lookup import flat
from stompcap.session.wire import place

NEVER = np.int64(2**62)


@dataclass(frozen=True)
class Missing:
    """What is missing of each direction; arrays of shape (sessions, 2), the second index a side code.

    start  the true beginning of the direction was captured
    gaps   octets are missing somewhere in it
    since  place on the wire behind which something may be missing; NEVER where nothing is
    told   the place by which that shows: that of the row behind the first gap; -1 where the start is missing
    until  place on the wire before which something may be missing; -1 where nothing is

    Per gap: `way` (session * 2 + side, ascending), `begin` (the place of the last octet before it), `end` (that of the first octet behind
    it) and `shown` (the place by which the row behind it was there). One at the end of a direction goes on for ever.
    """

    start: Bools
    gaps: Bools
    since: I64
    told: I64
    until: I64
    way: I64
    begin: I64
    end: I64
    shown: I64

    def before(self, dialogue: Dialogue, side: int) -> Bools:
        """Per frame: octets of that side may be missing before it."""
        missed: Bools = dialogue.position > self.since[dialogue.session, side]
        return missed

    def known_before(self, dialogue: Dialogue, side: int, by: I64) -> Bools:
        """Per frame: octets of that side may be missing before it, and that shows up to the place `by`."""
        shown: Bools = self.told[dialogue.session, side] <= by
        return shown & self.before(dialogue, side)

    def after(self, dialogue: Dialogue, side: int) -> Bools:
        """Per frame: octets of that side may be missing behind it."""
        missed: Bools = dialogue.position < self.until[dialogue.session, side]
        return missed

    def next(self, dialogue: Dialogue, side: int) -> I64:
        """Per frame: the place by which the first gap of that side behind it shows; END where there is none."""
        return first_above(dialogue.session * np.int64(2) + side, dialogue.position, self.way, self.end, self.shown)

    def begun(self, dialogue: Dialogue, side: int, frames: I64) -> I64:
        """Per frame of those given: where the last gap of that side that begins before it ends; -1 where there is none."""
        ways = dialogue.session[frames] * np.int64(2) + side
        return chosen(self.end, last_below(ways, dialogue.position[frames], self.way, self.begin))

    def shown_by(self, dialogue: Dialogue, side: int) -> I64:
        """Per frame: where the last gap of that side that has ended by then ends; -1 where there is none."""
        return chosen(self.end, last_below(dialogue.session * np.int64(2) + side, dialogue.position + 1, self.way, self.end))


def _first_commands(dialogue: Dialogue) -> I64:
    """Per session and side the command of the direction's very first octets; -1 where they are no frame."""
    rows = dialogue.rows
    found = np.full((dialogue.sessions, 2), -1, np.int64)
    frame = np.flatnonzero((rows.kind == FRAME) & (rows.offset == 0))
    begins = np.zeros((dialogue.sessions, 2), np.bool_)
    begins[rows.session[frame], rows.side[frame]] = True
    first = np.flatnonzero(dialogue.offset == 0)
    found[dialogue.session[first], dialogue.side[first]] = dialogue.command[first]
    return np.where(begins, found, -1)


def _beside(raw: RawRows, rows: pa.Table, gap: I64, step: int, order: Mapping[str, int]) -> tuple[I64, Bools, Bools, I64]:
    """Per gap: the raw row beside it, `step` being -1 or 1; that is of its direction; and has octets; and their place towards the gap."""
    near = np.clip(gap + step, 0, len(raw) - 1)
    on = (raw.way[near] == raw.way[gap]) & (near != gap)
    where = place(rows.take(pa.array(raw.row[near])), "last_" if step < 0 else "first_", order)
    return near, on, on & (raw.kind[near] != GAP), where


def find(dialogue: Dialogue, rows: pa.Table, order: Mapping[str, int], closing: Bools) -> Missing:
    """What is missing of each direction; `rows` is the table the dialogue was built from, `closing` per session: nothing more comes."""
    count = dialogue.sessions
    raw = dialogue.rows
    seen = np.zeros((count, 2), np.bool_)
    for side, name in ((CLIENT, "syn_seen"), (SERVER, "synack_seen")):
        seen[:, side] = flat(dialogue.streams.column(name)).fill_null(False).to_numpy(zero_copy_only=False)
    first = _first_commands(dialogue)
    start = seen.copy()
    start[:, CLIENT] |= (first[:, CLIENT] == CONNECT) | (first[:, CLIENT] == STOMP)
    start[:, SERVER] |= first[:, SERVER] == CONNECTED

    since, until, told = np.full((count, 2), NEVER), np.full((count, 2), -1, np.int64), np.full((count, 2), END)
    since[~start] = told[~start] = -1
    gap = np.flatnonzero(raw.kind == GAP)
    way, gaps = raw.way[gap], np.zeros((count, 2), np.bool_)
    gaps.reshape(-1)[way] = True
    _, _, octets, where = _beside(raw, rows, gap, -1, order)
    begin = np.where(octets, where, -1)
    np.minimum.at(since.reshape(-1), way, begin)
    near, on, octets, where = _beside(raw, rows, gap, 1, order)
    np.maximum.at(until.reshape(-1), way, np.where(octets, where, NEVER))
    np.minimum.at(told.reshape(-1), way, np.where(octets, raw.place[near], END))
    listed = octets | ~on
    ends, shown = np.where(octets, where, NEVER)[listed], np.where(octets, raw.place[near], END)[listed]

    present, spoken = np.zeros((count, 2), np.bool_), np.zeros((count, 2), np.bool_)
    present[raw.session, raw.side] = True
    spoken[dialogue.session, dialogue.side] = True
    blind = ~present & spoken[:, ::-1]
    blind[:, SERVER] &= ~seen[:, SERVER]  # a server may well be silent
    blind &= closing[:, None]  # until then it may yet be heard
    since[blind], until[blind], gaps[blind], start[blind] = -1, NEVER, True, False
    return Missing(start, gaps, since, told, until, way[listed], rising(way, begin)[listed], rising(way[listed], ends), shown)


def open_at_end(streams: pa.Table) -> Bools:
    """Per stream: the capture ends before the stream does."""
    closed: Bools = flat(pc.not_equal(flat(streams.column("close_kind")), "open")).to_numpy(zero_copy_only=False)
    return ~closed
