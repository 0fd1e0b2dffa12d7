"""What rules see of a step: its frames and raw rows, what the session machine knows of them, and the sessions so far."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT
from stompcap.columns import I64, Bools, coded, flat, integers
from stompcap.rules.ends import Ends
from stompcap.rules.frame_view import TEXTS, FrameView, filled
from stompcap.rules.record import Units
from stompcap.rules.row_view import RowView
from stompcap.session.analysis import Analysis
from stompcap.session.layout import Records
from stompcap.settings import Thresholds
from stompcap.tables import words
from stompcap.transport.checks import CHECKS, Check, of_text


class RuleContext(FrameView):
    """Sessions to be judged, as far as a step takes them.

    dialogue  the frames of the step, in wire order
    facts     what the session machine knows of each frame
    sessions  what it knows of each session, by the end of the step
    first     by kind, the session's first frame of that kind (OfSessions)
    closing   per session: nothing more comes
    clocks    which times can be compared
    tables    the tables of the analysis: rows that became final in this step, and all of `sessions` as far as they are known
    deliveries, subscriptions, transactions, receipts: what the session machine has of each
    limits    thresholds
    ends      what is known of the ends of sessions
    raw       the raw rows as numbers, `view` what rules ask of them
    frames    the frames as units
    rows      the raw rows as units (a gap's time is -1)
    """

    def __init__(self, analysis: Analysis, limits: Thresholds) -> None:
        super().__init__(analysis.dialogue)
        self.limits = limits
        self.facts, self.sessions, self.first = analysis.facts, analysis.sessions, analysis.first
        self.closing, self.tables, self.clocks = analysis.closing, analysis.tables, analysis.clocks
        self.deliveries, self.subscriptions = analysis.deliveries, analysis.subscriptions
        self.transactions, self.receipts = analysis.transactions, analysis.receipts
        self.ends = Ends(self.sessions, self.clocks)
        dialogue, raw = self.dialogue, self.dialogue.rows
        self.raw, self.view = raw, RowView(dialogue)
        trusted = dialogue.of_rows(raw.trusted)
        self.frames = Units(
            dialogue.session, dialogue.side, dialogue.offset, dialogue.at_ns, dialogue.version, trusted, dialogue.earlier
        )
        self._of_versions: dict[tuple[str, tuple[str, ...]], tuple[Bools, Bools, Bools]] = {}
        self.rows = Units(
            raw.session, raw.side, raw.offset, raw.first_ns, self.sessions.version[raw.session], raw.trusted, raw.context
        )

    @cached_property
    def by_time(self) -> I64:
        """The raw rows that have times, by direction, latest arrival and offset."""
        raw = self.raw
        rows = np.flatnonzero(raw.first_ns >= 0)
        direction, last_ns = raw.direction[rows], raw.last_ns[rows]
        in_order = (direction[1:] > direction[:-1]) | ((direction[1:] == direction[:-1]) & (last_ns[1:] >= last_ns[:-1]))
        return rows if in_order.all() else rows[np.lexsort((raw.offset[rows], last_ns, direction))]

    def of_versions(self, units: Units, versions: tuple[str, ...]) -> tuple[Bools, Bools, Bools]:
        """Of each unit whether its session has one of these versions, or none that is known; has none; and surely has no other."""
        which = ("frames" if units is self.frames else "rows", versions)
        if which in self._of_versions and (units is self.frames or units is self.rows):
            return self._of_versions[which]
        due = np.array([version in versions for version in words.VERSIONS] + [True])  # version -1 is the last: not known
        others = sum(1 << version for version, name in enumerate(words.VERSIONS) if name not in versions)
        found = due[units.version], units.version < 0, ((self.possible & others) == 0)[units.session]
        if units is self.frames or units is self.rows:
            self._of_versions[which] = found
        return found

    # frames by what came before them

    @cached_property
    def opening(self) -> Bools:
        """The first CONNECT or STOMP of each session."""
        first: Bools = self.of("CONNECT", "STOMP") & (self.facts.connects_before == 0)
        return first

    @cached_property
    def greeting(self) -> Bools:
        """The first CONNECTED of each session."""
        first: Bools = self.of("CONNECTED") & (self.facts.connected_ns < 0)
        return first

    @cached_property
    def missed(self) -> Bools:
        """Frames before which octets of their own direction may be missing."""
        return np.where(self.dialogue.side == CLIENT, self.facts.missed_c2s, self.facts.missed_s2c)

    @cached_property
    def missed_any(self) -> Bools:
        """Frames before which octets of either direction may be missing."""
        missed: Bools = self.facts.missed_c2s | self.facts.missed_s2c
        return missed

    @cached_property
    def number(self) -> I64:
        """Which frame of its direction each frame is, the first being number 1."""
        direction = self.dialogue.session * np.int64(2) + self.dialogue.side
        order = np.argsort(direction, kind="stable")
        ends = np.searchsorted(direction[order], direction[order], side="right")
        behind = np.empty(len(order), np.int64)
        behind[order] = ends - 1 - np.arange(len(order))
        return self.sessions.frames[self.dialogue.session, self.dialogue.side] - behind

    # sessions

    def of_session(self, name: str) -> pa.Array:
        """A column of the table sessions, one entry per session."""
        return flat(self.tables["sessions"].column(name))

    @cached_property
    def outcome(self) -> I64:
        """What became of CONNECT, per session: index in words.OUTCOMES."""
        return coded(self.of_session("outcome"), words.OUTCOMES)

    @cached_property
    def possible(self) -> I64:
        """Per session the versions that fit what was captured of it, as bits 1 << version: several where it was inferred from little."""
        every, known = (1 << len(words.VERSIONS)) - 1, self.sessions.version
        listed = coded(self.of_session("possible_versions"), words.POSSIBLE_VERSIONS)
        alone = np.where(known >= 0, 1 << np.maximum(known, 0).astype(np.int64), every)
        return np.where(listed >= 0, listed + 1, alone)

    @cached_property
    def ambiguous(self) -> Bools:
        """Frames of sessions of which more than one version fits: what is wrong by the version inferred may be right by another."""
        several: Bools = (self.possible & (self.possible - 1)) != 0
        return several[self.dialogue.session]

    # layers

    @cached_property
    def checks(self) -> tuple[I64, list[Check]]:
        """What the layers below the sessions that close have shown: the session of each check, and the checks."""
        streams = self.dialogue.streams
        texts = streams.column(CHECKS).to_pylist() if CHECKS in streams.column_names else ()
        found = [
            (session, check)
            for session, text in enumerate(texts)
            if text and self.closing[session]
            for check in of_text(text)
        ]
        return np.array([session for session, _ in found], np.int64), [check for _, check in found]

    # units of what is neither frame nor raw row

    def units_of(self, kind: str, sessions: I64) -> Units:
        """The first frames of that kind of these sessions, which have one."""
        first = self.first[kind]
        side = CLIENT if kind in ("connect", "disconnect") else 1 - CLIENT
        time = first.first_ns if side == CLIENT else first.last_ns
        return Units(
            sessions.astype(np.int64), np.full(len(sessions), side, np.int64), first.offset[sessions], time[sessions],
            self.sessions.version[sessions], first.trusted[sessions],
        )

    def units_among(self, records: Records, index: I64, side: int, offset: str, time: str) -> Units:
        """These rows of records, where frames of the side stand that the columns name."""
        session = records["session"][index]
        return Units(
            session.astype(np.int64), np.full(len(index), side, np.int64), records[offset][index], records[time][index],
            self.sessions.version[session],
        )

    def end_of_stream(self, session: I64, side: I64) -> Units:
        """Units at the end of a direction of sessions, at the time of the close."""
        sessions, streams = self.sessions, self.dialogue.streams
        octets = np.stack([integers(streams.column(f"octets_{name}")) for name in words.DIRECTIONS], axis=1)
        at = np.where(sessions.closed_ns >= 0, sessions.closed_ns, sessions.last_ns)[session]
        return Units(session.astype(np.int64), side, octets[session, side], at, sessions.version[session])

    def say_of(self, kind: str, template: str, sessions: I64) -> pa.Array:
        """The template filled from the first frames of that kind of these sessions."""

        def value(name: str) -> pa.Array:
            column = name.replace("-", "_")
            first = self.first[kind]
            return (first.column(column) if column in TEXTS else first.header(name)).take(pa.array(sessions))

        return filled(template, len(sessions), value)
